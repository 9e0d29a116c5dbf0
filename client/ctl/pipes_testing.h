// For tests: a service with answers that the test sets.
#pragma once

#include <google/protobuf/util/json_util.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/rpcs.h"

namespace csi_proxy::ctl {

struct FakeAnswer {
  absl::Status status = absl::OkStatus();
  std::string json = "{}";
};

class FakePipes final : public Pipes {
 public:
  bool Exists(const std::string& group, const std::string& version) override {
    return !gone.contains(absl::StrCat(group, " ", version));
  }

  PipeReport Examine(const std::string& group, const std::string& version) override {
    PipeReport report;
    if (silent.contains(absl::StrCat(group, " ", version))) {
      report.status = absl::UnavailableError("silence");
    }
    return report;
  }

  absl::Status Send(const Method& method, const pb::Message& request,
                    pb::Message* response) override {
    const std::string rpc = absl::StrCat(method.group, ".", method.descriptor->name());
    sent.push_back(absl::StrCat(method.version, " ", rpc, " ", request.ShortDebugString()));
    const FakeAnswer& answer = answers[rpc];
    if (!answer.status.ok()) return answer.status;
    const auto parsed = pb::util::JsonStringToMessage(answer.json, response);
    return parsed.ok() ? absl::OkStatus() : absl::InternalError(parsed.ToString());
  }

  // Names of pipes: `volume v1`.
  std::set<std::string> gone, silent;
  // Keyed by `volume.MountVolume`. Other methods answer with an empty message.
  std::map<std::string, FakeAnswer> answers;
  // In the form `v1 volume.MountVolume volume_id: "x"`.
  std::vector<std::string> sent;
};

}  // namespace csi_proxy::ctl
