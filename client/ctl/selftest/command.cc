// The command `selftest`.
#include <cstdlib>
#include <ostream>

#include "client/cpp/remote_channel.h"
#include "client/ctl/request.h"
#include "client/ctl/selftest/selftest.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

// The group under which Catalog marks the password as a secret.
constexpr char kGroup[] = "selftest";
constexpr char kPasswordVariable[] = "CSI_PROXY_SMB_PASSWORD";

absl::StatusOr<selftest::Options> ReadOptions(const Catalog& catalog, const CommandLine& line,
                                              Input& in) {
  selftest::Options options;
  const auto read_secret = [&in](const std::string& path) { return in.ReadSecret(path); };
  ABSL_RETURN_IF_ERROR(SetFields(catalog, kGroup, line.fields, read_secret, &options));
  ABSL_RETURN_IF_ERROR(selftest::Complete(&options));
  if (options.smb_share().empty() || !options.smb_password().empty()) return options;
  if (const char* const password = std::getenv(kPasswordVariable)) {
    options.set_smb_password(password);
    return options;
  }
  ABSL_ASSIGN_OR_RETURN(std::string password, in.ReadSecret("-"));
  options.set_smb_password(password);
  return options;
}

bool AnyPipe(const Catalog& catalog, Pipes& pipes) {
  for (const std::string& group : catalog.Groups()) {
    for (const std::string& version : catalog.Versions(group)) {
      if (pipes.Exists(group, version)) return true;
    }
  }
  return false;
}

}  // namespace

int Selftest(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  if (line.words.size() > 1) {
    // The word is not quoted, because it may be a secret.
    return WrongUsage("only flags may follow selftest; give a value as --flag=value", streams.err);
  }
  const absl::StatusOr<selftest::Options> options = ReadOptions(catalog, line, streams.in);
  if (!options.ok()) return WrongUsage(options.status().message(), streams.err);
  const std::unique_ptr<Pipes> pipes = NewRemotePipes(line.client, line.call);
  if (!AnyPipe(catalog, *pipes)) {
    return Complain(client::NotReached("there are no pipes: is csi-proxy running?"), streams.err);
  }
  Rpcs rpcs(catalog, *pipes);
  const selftest::Report report =
      selftest::Run(selftest::Steps(), *options, rpcs, [&](const std::string& step) {
        if (line.verbose) streams.err << "step " << step << "\n" << std::flush;
      });
  if (WantsTable(line, streams)) {
    streams.out << selftest::ToText(report);
  } else {
    const absl::StatusOr<std::string> text = ToDocument(line.output, report);
    if (!text.ok()) return Complain(text.status(), streams.err);
    streams.out << *text;
  }
  return selftest::Passed(report) ? kOk : kCallFailed;
}

std::vector<std::string> SelftestFlags() { return FieldFlags(*selftest::Options::descriptor()); }

}  // namespace csi_proxy::ctl
