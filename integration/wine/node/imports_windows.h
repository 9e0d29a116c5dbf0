// The imports of what manages this node, put to the simulated one.
#pragma once

namespace csi_proxy::node_double {

// Replaces, in the import tables of the program and of csi_proxy.dll where it has that (not of its
// other DLLs, nor of this one), every function that has a replacement in hooks_windows.h.
void ReplaceImports();

}  // namespace csi_proxy::node_double
