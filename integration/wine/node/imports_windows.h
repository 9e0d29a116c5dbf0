// The imports of this process's program, put to the simulated node.
#pragma once

namespace csi_proxy::node_double {

// Replaces, in the import tables of the program (not of its DLLs, nor of this one), every function
// that has a replacement in hooks_windows.h.
void ReplaceImports();

}  // namespace csi_proxy::node_double
