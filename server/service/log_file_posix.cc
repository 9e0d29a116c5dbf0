#include "server/service/log_file.h"

namespace csi_proxy::observability {

absl::StatusOr<std::string> LogFileName(const std::string& name) { return name; }

}  // namespace csi_proxy::observability
