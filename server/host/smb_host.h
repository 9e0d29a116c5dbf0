// The operations of a node on SMB shares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/base/secret.h"
#include "server/base/windows_path.h"

namespace csi_proxy::host {

// A global mapping.
struct SmbMapping {
  // `\\host\share` as CanonicalUnc() has it. Among all mappings there may be some of a folder in a
  // share, which csi-proxy does not make (github.com/kubernetes-csi/csi-driver-smb/issues/1035).
  std::string remote_path;
  // True if the node reports the mapping as connected. It may still be broken: see IsHealthy.
  bool is_connected = false;
  // The host's own name for it.
  std::string object;
  // Windows' word for its state: `OK`, `Disconnected`.
  std::string status;
  // The drive letter with which somebody made it, as `G:`; empty for none, as with all of ours.
  std::string local_path;
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

  // All mappings, in the order of their shares.
  virtual absl::StatusOr<std::vector<SmbMapping>> ListMappings(const CallContext& context) = 0;

  // True if the share can be reached through a mapping now, whatever its state: the credentials
  // still hold and the server answers. It may take as long as the server takes.
  virtual absl::StatusOr<bool> IsHealthy(const CallContext& context, const SmbMapping& mapping) = 0;

  // Maps a share. FAILED_PRECONDITION when the server refuses the credentials or cannot encrypt
  // while `require_privacy` is set, or, with Win32's code kSessionCredentialConflict, when the node
  // knows the server by other credentials, whose mappings the log names; NOT_FOUND when host or
  // share do not exist; ALREADY_EXISTS when the share is mapped.
  virtual absl::Status CreateMapping(const CallContext& context, const std::string& share,
                                     const SmbCredentials& credentials, bool require_privacy) = 0;

  // Removes a mapping that GetMapping found. NOT_FOUND when it is gone.
  virtual absl::Status RemoveMapping(const CallContext& context, const SmbMapping& mapping) = 0;
};

}  // namespace csi_proxy::host
