// The imports of what manages this node, put to the simulated one.
#pragma once

namespace csi_proxy::node_double {

// Replaces, in the program's import table (not in those of its DLLs, but for the one below), every
// function that has a replacement in hooks_windows.h.
void ReplaceImports();

// The same in csi_proxy.dll, once the program has loaded it: that may be after it activated WMI for
// the first time, as drivers do that have github.com/microsoft/wmi in them, which does so at their
// start.
void ReplaceImportsOfLibrary();

}  // namespace csi_proxy::node_double
