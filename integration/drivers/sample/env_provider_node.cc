#include <optional>

#include "absl/strings/str_cat.h"
#include "integration/drivers/sample/env_provider.h"

namespace csi_proxy::sample_driver {

absl::StatusOr<std::vector<Secret>> NodeEnvProvider::Get(const EnvRequest& request,
                                                         const CallOptions& call) {
  std::vector<Secret> values;
  // Asked for once, however many variables take it.
  std::optional<Secret> serial;
  for (size_t i = 0; i < request.queries.size(); ++i) {
    const std::string& key = request.queries[i].key;
    if (key == "nodeId") {
      values.emplace_back(node_id_);
    } else if (key == "biosSerialNumber") {
      if (!serial.has_value()) {
        const auto response = system_.GetBIOSSerialNumber({}, call);
        if (!response.ok()) return response.status();
        serial.emplace(response->serial_number());
      }
      values.push_back(*serial);
    } else {
      return absl::NotFoundError(absl::StrCat("queries[", i, "].key: ", key,
                                              " is neither `nodeId` nor `biosSerialNumber`"));
    }
  }
  return values;
}

}  // namespace csi_proxy::sample_driver
