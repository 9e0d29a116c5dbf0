// Values from protected files, each of which says who may have them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "integration/drivers/sample/env_provider.h"

namespace csi_proxy::sample_driver {

class FileEnvProvider final : public EnvProvider {
 public:
  // Takes values from the files in `directory`, which are env_file.proto's in JSON. Empty: there
  // are none.
  explicit FileEnvProvider(std::string directory) : directory_(std::move(directory)) {}

  // Reads the file anew each time, so that what is taken from it is gone at once.
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  const std::string directory_;
};

}  // namespace csi_proxy::sample_driver
