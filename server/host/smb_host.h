// What a node must be able to do with SMB shares.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/call_context.h"
#include "server/base/secret.h"
#include "server/base/windows_path.h"

namespace csi_proxy::host {

// The state of a global mapping.
struct SmbMapping {
  // `\\host\share`, lower case.
  std::string remote_path;
  // Whether the share can be read through it now: the credentials still hold, the server answers.
  bool is_healthy = false;
};

struct SmbCredentials {
  std::string username;
  Secret password;
};

// Thread-safe. `share` is UncPath::Share(). INTERNAL with Windows' error when the node refuses.
class SmbHost {
 public:
  virtual ~SmbHost() = default;

  // The mapping of a share, or nothing.
  virtual absl::StatusOr<std::optional<SmbMapping>> GetMapping(const CallContext& context,
                                                               const std::string& share) = 0;

  // Maps a share. FAILED_PRECONDITION when the server refuses the credentials or cannot encrypt
  // while `require_privacy` is set; NOT_FOUND when host or share do not exist; ALREADY_EXISTS when
  // the share is mapped.
  virtual absl::Status CreateMapping(const CallContext& context, const std::string& share,
                                     const SmbCredentials& credentials, bool require_privacy) = 0;

  // NOT_FOUND when it is not mapped.
  virtual absl::Status RemoveMapping(const CallContext& context, const std::string& share) = 0;
};

}  // namespace csi_proxy::host
