// Examines which pipes of the service answer, asks each group a question, and sends calls.
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"
#include "client/ctl/commands.h"
#include "client/ctl/output.h"
#include "client/ctl/rpcs.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

// Short, because doctor examines many pipes while a person waits.
constexpr absl::Duration kConnectTimeout = absl::Milliseconds(500);
constexpr absl::Duration kTimeout = absl::Seconds(2);

// gRPC's health protocol: an empty request asks about the whole server, and an answer has one
// field.
constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr int kStatusField = 1;
constexpr uint64_t kServing = 1;

bool IsServing(const pb::Empty& answer) {
  const pb::UnknownFieldSet& fields = answer.GetReflection()->GetUnknownFields(answer);
  for (int i = 0; i < fields.field_count(); ++i) {
    const pb::UnknownField& field = fields.field(i);
    if (field.number() != kStatusField || field.type() != pb::UnknownField::TYPE_VARINT) continue;
    return field.varint() == kServing;
  }
  return false;
}

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToDoubleMilliseconds(absl::Trunc(duration, absl::Microseconds(1))),
                      " ms");
}

// For each group, a cheap call that only reads, and a field: group, method, name, value. The group
// smb has no such call.
constexpr const char* kQuestions[][5] = {
    {"disk", "disk", "ListDiskLocations"},
    {"filesystem", "filesystem", "PathExists", "path", R"(C:\var\lib\kubelet)"},
    {"iscsi", "iscsi", "ListTargetPortals"},
    {"smb", "storage", "ListSmbMappings"},
    {"storage", "storage", "ListDisks"},
    {"system", "system", "GetService", "name", "MSiSCSI"},
    {"volume", "volume", "ListVolumesOnDisk", "disk_number", "0"}};

class RemotePipes final : public Pipes {
 public:
  RemotePipes(const ClientOptions& options, const CallOptions& call)
      : options_(options), call_(call) {}

  bool Exists(const std::string& group, const std::string& version) override {
    return client::PipeExists(client::PipePath(options_, group, version));
  }

  PipeReport Examine(const std::string& group, const std::string& version) override {
    return ctl::Examine(options_, call_, group, version);
  }

  absl::Status Send(const Method& method, const pb::Message& request,
                    pb::Message* response) override {
    std::shared_ptr<client::RemoteChannel>& channel = channels_[{method.group, method.version}];
    if (channel == nullptr) {
      ABSL_ASSIGN_OR_RETURN(auto opened,
                            client::RemoteChannel::Open(options_, method.group, method.version));
      channel = std::move(opened);
    }
    return channel->Call(method.path().c_str(), client::MakeCallContext(call_, {}), request,
                         response);
  }

 private:
  const ClientOptions options_;
  const CallOptions call_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<client::RemoteChannel>> channels_;
};

}  // namespace

PipeReport Examine(const ClientOptions& options, const CallOptions& call, const std::string& group,
                   const std::string& version) {
  PipeReport report = {.group = group, .version = version};
  const SteadyTime start = SteadyTime::Now();
  const auto channel = client::RemoteChannel::Open(options, group, version);
  report.status = channel.status();
  if (!report.status.ok()) return report;
  const CallContext context = client::MakeCallContext(call, {});
  report.status = (*channel)->Connect(context).status();
  if (!report.status.ok()) return report;
  const SteadyTime connected = SteadyTime::Now();
  pb::Empty answer;
  report.status = (*channel)->Call(kHealthCheck, context, pb::Empty(), &answer);
  if (report.status.ok() && !IsServing(answer)) {
    report.status = absl::UnavailableError("it reports that it is not serving");
  }
  if (!report.status.ok()) return report;
  report.connecting = connected - start;
  report.answering = SteadyTime::Now() - connected;
  return report;
}

int Doctor(const Catalog& catalog, const ClientOptions& options, const CallOptions& call,
           std::ostream& out) {
  ClientOptions brief = options;
  brief.connect_timeout = std::min(options.connect_timeout, kConnectTimeout);
  CallOptions brief_call = call;
  brief_call.timeout = std::min(call.timeout, kTimeout);
  out << "doctor asks each pipe if it serves, and each group one question of the node; "
         "`csi-proxyctl diagnose` looks for faults\npipes "
      << client::PipePath(options, "<group>", "<version>") << "\n";
  std::vector<std::vector<std::string>> rows = {
      {"GROUP", "VERSION", "STATE", "CONNECTED IN", "ANSWERED IN"}};
  std::string complaints;
  std::set<std::string> groups;
  int answering = 0, pipes = 0;
  for (const std::string& group : catalog.Groups()) {
    for (const std::string& version : catalog.Versions(group)) {
      const PipeReport report = Examine(brief, brief_call, group, version);
      ++pipes;
      if (report.status.ok()) {
        ++answering;
        groups.insert(group);
        rows.push_back({group, version, "answers", Milliseconds(report.connecting),
                        Milliseconds(report.answering)});
      } else {
        rows.push_back({group, version, "no answer", "-", "-"});
        absl::StrAppend(&complaints, group, " ", version, ": ",
                        Printable(std::string(report.status.message())), "\n");
      }
    }
  }
  out << Align(rows);
  rows = {{"GROUP", "QUESTION", "STATE", "ANSWERED IN"}};
  const std::unique_ptr<Pipes> calls = NewRemotePipes(brief, brief_call);
  Rpcs rpcs(catalog, *calls);
  for (const auto& [of, group, method, field, value] : kQuestions) {
    if (!groups.contains(of) || !groups.contains(group)) continue;
    const Fields fields = field == nullptr ? Fields() : Fields{{field, value}};
    const SteadyTime start = SteadyTime::Now();
    const absl::Status status = rpcs.Call(group, method, fields).status();
    const std::string call = absl::StrCat(group, " ", KebabCase(method));
    rows.push_back({of, call, absl::StatusCodeToString(status.code()),
                    Milliseconds(SteadyTime::Now() - start)});
    if (status.ok()) continue;
    absl::StrAppend(&complaints, call, ": ", Printable(std::string(status.message())), "\n");
  }
  out << "\n"
      << (rows.size() > 1 ? Align(rows) : "") << complaints << answering << " of " << pipes
      << " pipes answer\n";
  return answering > 0 ? kOk : kCallFailed;
}

std::unique_ptr<Pipes> NewRemotePipes(const ClientOptions& options, const CallOptions& call) {
  return std::make_unique<RemotePipes>(options, call);
}

}  // namespace csi_proxy::ctl
