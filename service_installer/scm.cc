#include "service_installer/scm.h"

namespace csi_proxy::installer {

const char* Name(ServiceState state) {
  switch (state) {
    case ServiceState::kStopped:
      return "stopped";
    case ServiceState::kStartPending:
      return "starting";
    case ServiceState::kStopPending:
      return "stopping";
    case ServiceState::kRunning:
      return "running";
    case ServiceState::kOther:
      break;
  }
  return "in another state";
}

}  // namespace csi_proxy::installer
