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
  // True if the node reports the mapping as connected. It may still be broken: see Reach().
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

// What a server says of a path.
struct SmbAccess {
  enum class Kind {
    kReached,
    // The server refuses the user there. It may let him in elsewhere in the share; or the node has
    // lost the mapping's credentials (github.com/moby/moby/issues/37863), and nothing is readable.
    kDenied,
    // The share is there, and no such folder in it.
    kNoFolder,
    // The path is a DFS link, or below one.
    kDfsLink,
    // The credentials no longer hold, the share has gone, or the server does not answer.
    kNotReached,
  };
  Kind kind = Kind::kNotReached;
  // OK if it is reached.
  absl::Status error;
};

// Thread-safe. `share` is UncPath::Share(). INTERNAL with Windows' error when the node refuses.
class SmbHost {
 public:
  virtual ~SmbHost() = default;

  // The mapping of a share, or nothing. One without a drive letter, as csi-proxy makes them, goes
  // before those of an administrator.
  virtual absl::StatusOr<std::optional<SmbMapping>> GetMapping(const CallContext& context,
                                                               const std::string& share) = 0;

  // All mappings, in the order of their shares, and of one share those without a drive letter
  // first.
  virtual absl::StatusOr<std::vector<SmbMapping>> ListMappings(const CallContext& context) = 0;

  // Looks whether a mapping leads to `path` now, whatever state Windows shows. It may take as long
  // as the server takes. A path that is not reached is told to the log. Fails only when the call
  // has ended.
  virtual absl::StatusOr<SmbAccess> Reach(const CallContext& context, const UncPath& path) = 0;

  // Maps a share. FAILED_PRECONDITION when the server refuses the credentials or cannot encrypt
  // while `require_privacy` is set, or, with Win32's code kSessionCredentialConflict, when the node
  // knows the server by other credentials, whose mappings the log names; NOT_FOUND when host or
  // share do not exist; ALREADY_EXISTS when the share is mapped. Windows does not make the mapping
  // again at its next start. Without a user the mapping is anonymous.
  virtual absl::Status CreateMapping(const CallContext& context, const std::string& share,
                                     const SmbCredentials& credentials, bool require_privacy) = 0;

  // Removes a mapping that GetMapping found. NOT_FOUND when it is gone.
  virtual absl::Status RemoveMapping(const CallContext& context, const SmbMapping& mapping) = 0;
};

}  // namespace csi_proxy::host
