// Examines which pipes of the service answer.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/ctl/catalog.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::ctl {

struct PipeReport {
  std::string group, version;
  // OK if the service behind the pipe says that it serves, otherwise the reason.
  absl::Status status = absl::OkStatus();
  // How long connecting took, and then the answer. Zero unless `status` is OK.
  absl::Duration connecting = absl::ZeroDuration(), answering = absl::ZeroDuration();
};

// Asks one pipe for its health.
PipeReport Examine(const ClientOptions& options, const CallOptions& call, const std::string& group,
                   const std::string& version);

// Examines the pipes of all released versions, one after another, and prints the results. Returns
// kOk if any answers, otherwise kCallFailed.
int Doctor(const Catalog& catalog, const ClientOptions& options, const CallOptions& call,
           std::ostream& out);

}  // namespace csi_proxy::ctl
