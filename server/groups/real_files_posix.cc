#include "server/groups/real_files.h"

namespace csi_proxy::groups {

std::unique_ptr<RealFiles> NewRealFiles() { return nullptr; }

bool HaveRealFiles() { return false; }

}  // namespace csi_proxy::groups
