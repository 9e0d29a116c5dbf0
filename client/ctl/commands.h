// What csi-proxyctl does, apart from reading its command line.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/client_options.h"
#include "client/ctl/catalog.h"
#include "client/ctl/request.h"

namespace csi_proxy::ctl {

enum ExitCode {
  kOk = 0,
  kCallFailed = 1,
  kUsage = 2,
  kUnreachable = 3,
  kDeadline = 4,
};

struct CommonOptions {
  std::string api;     // version; empty: the preferred one
  std::string json;    // the request; `-` reads standard input
  std::string output;  // `json` or `table`
  bool verbose = false;
  ClientOptions client;
};

// `list`, `describe [group [method]]`, `doctor`, `completion bash|zsh` and, for all else, a call.
// Answers go to `out`, complaints to `err`.
int List(const Catalog& catalog, std::ostream& out);
int Describe(const Catalog& catalog, const CommonOptions& options,
             const std::vector<std::string>& names, std::ostream& out, std::ostream& err);
int Doctor(const Catalog& catalog, const CommonOptions& options, std::ostream& out);
int Complete(const Catalog& catalog, const std::vector<std::string>& names, std::ostream& out,
             std::ostream& err);
int Call(const Catalog& catalog, const CommonOptions& options, const std::string& group,
         const std::string& method, const std::vector<FieldArgument>& fields, std::ostream& out,
         std::ostream& err);

// Prints `error: CODE: text` and a hint; returns the exit code that goes with the status.
int Complain(const absl::Status& status, std::ostream& err);

}  // namespace csi_proxy::ctl
