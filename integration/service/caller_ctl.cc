// Each call is a run of csi-proxyctl: the request on its standard input, the answer on its standard
// output, an error on the other.
#include <google/protobuf/util/json_util.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ctl/commands.h"
#include "integration/service/script_run.h"
#include "integration/support/child_process.h"

namespace csi_proxy::integration {
namespace {

std::string Read(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// `error: NOT_FOUND: there is no disk 7`
absl::Status ErrorOf(const std::string& output, int exit_code) {
  absl::string_view text = output;
  if (absl::ConsumePrefix(&text, "error: ")) {
    for (int i = 1; i <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++i) {
      const auto code = static_cast<absl::StatusCode>(i);
      absl::string_view rest = text;
      if (!absl::ConsumePrefix(&rest, absl::StrCat(absl::StatusCodeToString(code), ": "))) continue;
      const int wanted = absl::StatusCode::kUnavailable == code        ? ctl::kUnreachable
                         : absl::StatusCode::kDeadlineExceeded == code ? ctl::kDeadline
                                                                       : ctl::kCallFailed;
      if (exit_code != wanted) break;
      return absl::Status(code, absl::StripTrailingAsciiWhitespace(rest));
    }
  }
  return absl::UnknownError(absl::StrCat("exit code ", exit_code, ", and: ", output));
}

}  // namespace

absl::StatusOr<CallFunction> OpenCaller(const Binding& binding, const ClientOptions& options) {
  const std::string directory = NewTestDirectory();
  return [&binding, directory, socket_dir = options.socket_dir](
             const std::string& method, const pb::Message& request, pb::Message* response,
             const CallOptions&) -> absl::Status {
    std::string json;
    if (!pb::util::MessageToJsonString(request, &json).ok()) {
      return absl::UnknownError("a request without a JSON form");
    }
    const std::string in = directory + "/in", out = directory + "/out", err = directory + "/err";
    std::ofstream(in) << json;
    const std::string command = absl::StrCat(
        CSI_PROXYCTL_BINARY, " ", binding.group, " ", method, " --api=", binding.version,
        " --socket-dir='", socket_dir, "' --json=- -o json <", in, " >", out, " 2>", err);
    const int status = std::system(command.c_str());
    const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (exit_code != ctl::kOk) return ErrorOf(Read(err), exit_code);
    const auto parsed = pb::util::JsonStringToMessage(Read(out), response);
    return parsed.ok() ? absl::OkStatus() : absl::UnknownError(parsed.ToString());
  };
}

}  // namespace csi_proxy::integration
