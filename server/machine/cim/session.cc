#include "server/machine/cim/session.h"

namespace csi_proxy::cim {

absl::string_view NamespaceName(Namespace space) {
  switch (space) {
    case Namespace::kCimV2:
      return R"(ROOT\CIMV2)";
    case Namespace::kSmb:
      return R"(ROOT\Microsoft\Windows\SMB)";
    case Namespace::kStorage:
      return R"(ROOT\Microsoft\Windows\Storage)";
  }
  return "";
}

}  // namespace csi_proxy::cim
