// Defines NewRemotePipes(), and the command doctor, which examines the pipes and makes a cheap call
// of each group.
#include <google/protobuf/empty.pb.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"
#include "client/ctl/commands.h"
#include "client/ctl/output.h"
#include "client/ctl/rpcs.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

// These times are short, because doctor examines many pipes while a person waits.
constexpr absl::Duration kConnectTimeout = absl::Milliseconds(500);
constexpr absl::Duration kTimeout = absl::Seconds(2);

// gRPC's health protocol: an empty request asks about the whole server, and an answer begins with
// its first field, the status.
constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kServing[] = "\x08\x01";

std::string TimeText(absl::Duration duration) {
  return absl::StrCat(Milliseconds(duration), " ms");
}

// For each group, a cheap call that only reads, and a field: group, rpc, name, value. The group smb
// has no such call, so a call of storage stands for it.
constexpr const char* kQuestions[][4] = {
    {"disk", "disk.ListDiskLocations"},
    {"filesystem", "filesystem.PathExists", "path", R"(C:\var\lib\kubelet)"},
    {"iscsi", "iscsi.ListTargetPortals"},
    {"smb", "storage.ListSmbMappings"},
    {"storage", "storage.ListDisks"},
    {"system", "system.GetService", "name", "MSiSCSI"},
    {"volume", "volume.ListVolumesOnDisk", "disk_number", "0"}};

class RemotePipes final : public Pipes {
 public:
  RemotePipes(const ClientOptions& options, const CallOptions& call, std::ostream* opened)
      : options_(options), call_(call), opened_(opened) {}

  bool Exists(const std::string& group, const std::string& version) override {
    return client::PipeExists(client::PipePath(options_, group, version));
  }

  PipeReport Examine(const std::string& group, const std::string& version) override {
    PipeReport report;
    pb::Empty answer;
    report.status = [&]() -> absl::Status {
      const SteadyTime start = SteadyTime::Now();
      ABSL_ASSIGN_OR_RETURN(const auto channel,
                            client::RemoteChannel::Open(options_, group, version));
      const CallContext context = client::MakeCallContext(call_, {});
      ABSL_RETURN_IF_ERROR(channel->Connect(context).status());
      const SteadyTime connected = SteadyTime::Now();
      ABSL_RETURN_IF_ERROR(channel->Call(kHealthCheck, context, pb::Empty(), &answer));
      if (!absl::StartsWith(answer.SerializeAsString(), kServing)) {
        return absl::UnavailableError("it reports that it is not serving");
      }
      report.connecting = connected - start;
      report.answering = SteadyTime::Now() - connected;
      return absl::OkStatus();
    }();
    return report;
  }

  absl::Status Send(const Method& method, const pb::Message& request,
                    pb::Message* response) override {
    std::shared_ptr<client::RemoteChannel>& channel = channels_[{method.group, method.version}];
    if (channel == nullptr) {
      ABSL_ASSIGN_OR_RETURN(
          channel, client::RemoteChannel::OpenPath(
                       options_, method.group == kSimulatedGroup
                                     ? client::PipePath(options_, kAdminPipe)
                                     : client::PipePath(options_, method.group, method.version)));
      if (opened_ != nullptr) {
        *opened_ << "calling " << method.path() << " on " << channel->path() << "\n";
      }
    }
    return channel->Call(method.path().c_str(), client::MakeCallContext(call_, {}), request,
                         response);
  }

 private:
  const ClientOptions options_;
  const CallOptions call_;
  std::ostream* const opened_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<client::RemoteChannel>> channels_;
};

}  // namespace

absl::StatusOr<int> Doctor(const Catalog& catalog, const CommandLine& line,
                           const Streams& streams) {
  ClientOptions options = line.client;
  options.connect_timeout = std::min(options.connect_timeout, kConnectTimeout);
  CallOptions call = line.call;
  call.timeout = std::min(call.timeout, kTimeout);
  std::ostream& out = streams.out;
  out << "doctor asks each pipe if it serves, and each group one question of the node; "
         "`csi-proxyctl diagnose` looks for faults\npipes "
      << client::PipePath(options, "<group>", "<version>") << "\n";
  std::vector<Row> rows = {{"GROUP", "VERSION", "STATE", "CONNECTED IN", "ANSWERED IN"}};
  std::string complaints;
  const auto complain = [&](const std::string& of, const absl::Status& status) {
    absl::StrAppend(&complaints, of, ": ", Printable(status.message()), "\n");
  };
  const std::unique_ptr<Pipes> remote = NewRemotePipes(options, call);
  std::set<std::string> groups;
  int answering = 0;
  const auto pipes = catalog.Pipes();
  for (const auto& [group, version] : pipes) {
    const PipeReport report = remote->Examine(group, version);
    if (report.status.ok()) {
      ++answering;
      groups.insert(group);
      rows.push_back(
          {group, version, "answers", TimeText(report.connecting), TimeText(report.answering)});
    } else {
      rows.push_back({group, version, "no answer", "-", "-"});
      complain(absl::StrCat(group, " ", version), report.status);
    }
  }
  out << Align(rows);
  rows = {{"GROUP", "QUESTION", "STATE", "ANSWERED IN"}};
  Rpcs rpcs(catalog, *remote);
  for (const auto& [of, rpc, field, value] : kQuestions) {
    const std::pair<std::string, std::string> name = absl::StrSplit(rpc, '.');
    if (!groups.contains(of) || !groups.contains(name.first)) continue;
    const SteadyTime start = SteadyTime::Now();
    const absl::Status status =
        rpcs.Call(rpc, field == nullptr ? Fields() : Fields{{field, value}}).status();
    const std::string question = absl::StrCat(name.first, " ", KebabCase(name.second));
    rows.push_back({of, question, absl::StatusCodeToString(status.code()),
                    TimeText(SteadyTime::Now() - start)});
    if (!status.ok()) complain(question, status);
  }
  out << "\n"
      << (rows.size() > 1 ? Align(rows) : "") << complaints << answering << " of " << pipes.size()
      << " pipes answer\n";
  return answering > 0 ? kOk : kCallFailed;
}

std::unique_ptr<Pipes> NewRemotePipes(const ClientOptions& options, const CallOptions& call,
                                      std::ostream* opened) {
  return std::make_unique<RemotePipes>(options, call, opened);
}

}  // namespace csi_proxy::ctl
