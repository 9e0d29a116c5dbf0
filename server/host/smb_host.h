// The operations of a node on SMB shares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"
#include "server/base/secret.h"
#include "server/host/host_deps.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {

// A global mapping.
struct SmbMapping {
  // `\\host\share`, from CanonicalUnc(). Other programs may also map a folder in a share
  // (github.com/kubernetes-csi/csi-driver-smb/issues/1035); csi-proxy does not.
  std::string remote_path;
  // True if Windows reports the mapping as OK. The mapping may still be broken: see Reach().
  bool is_connected = false;
  // The mapping's WMI object path.
  std::string object;
  // The mapping's state in Windows' words, such as `OK` or `Disconnected`; `Status 9` for the
  // number 9, which has no known word.
  std::string status;
  // The mapping's drive letter, as `G:`, or empty. csi-proxy's own mappings have no letter.
  std::string local_path;
};

struct SmbCredentials {
  std::string username;
  Secret password;
};

// The server's answer for a path.
struct SmbAccess {
  enum class Kind {
    kReached,
    // The server refuses the user at the path. Other paths of the share may be readable, unless the
    // node has lost the mapping's credentials (github.com/moby/moby/issues/37863).
    kDenied,
    // The share exists, but the folder does not.
    kNoFolder,
    // The path is probably a DFS link or below one; a lost route to the server gives this too.
    kDfsLink,
    // Any other failure: for example the credentials are invalid, the share no longer exists, or
    // the server does not answer.
    kNotReached,
  };
  Kind kind = Kind::kNotReached;
  // Why the path was not reached; OK for kReached.
  absl::Status error;
};

// Thread-safe. A refusal by Windows keeps the Win32 code, and has the status code and advice of
// names/refusals.h. REQUIRES: `share` is a UncPath::Share().
class SmbHost {
 public:
  explicit SmbHost(const HostDeps& deps)
      : wmi_(*deps.wmi),
        os_(*deps.os),
        changes_(*deps.changes),
        setups_(*deps.setups),
        warn_(deps.warn) {}

  // Returns the node's own names and addresses.
  absl::StatusOr<machine::NetworkNames> GetNetworkNames();

  // Waits until no RemoveMapping() of the share is under way, not even one that its caller has
  // left. Until then the mapping may still disappear.
  absl::Status AwaitRemoval(const CallContext& context, const std::string& share);

  // Waits for the end of a CreateMapping() that a caller of the same tenant has left. Until then
  // the mapping may still appear.
  absl::Status AwaitCreation(const CallContext& context, const std::string& share);

  // Returns the mapping of a share, or nullopt. Prefers a mapping without a drive letter, because a
  // mapping with a drive letter is an administrator's.
  absl::StatusOr<std::optional<SmbMapping>> GetMapping(const CallContext& context,
                                                       const std::string& share);

  // Lists all mappings, sorted by share. A share's mapping without a drive letter comes before its
  // mappings with one.
  absl::StatusOr<std::vector<SmbMapping>> ListMappings(const CallContext& context);

  // Checks whether a mapping reaches `path` now. Ignores the state that Windows reports. Blocks
  // until the server answers. Logs an unreached path; returns an error only if the call has ended.
  absl::StatusOr<SmbAccess> Reach(const CallContext& context, const UncPath& path);

  // Maps a share, anonymously if the user name is empty. Windows does not restore the mapping after
  // a restart. FAILED_PRECONDITION if the server refuses the credentials, or if it cannot encrypt
  // and `require_privacy` is set. FAILED_PRECONDITION with Win32's code kSessionCredentialConflict
  // if the node uses the server with other credentials; logs the mappings of that server. NOT_FOUND
  // if host or share do not exist, ALREADY_EXISTS if the share is mapped.
  absl::Status CreateMapping(const CallContext& context, const std::string& share,
                             const SmbCredentials& credentials, bool require_privacy);

  // Removes a mapping that this class has returned. NOT_FOUND if the mapping no longer exists.
  absl::Status RemoveMapping(const CallContext& context, const SmbMapping& mapping);

 private:
  // Logs the mappings that keep the node's session with a share's server. Does not return them,
  // because they may be other tenants'.
  void WarnOfHolders(const CallContext& context, const std::string& share);

  cim::Session& wmi_;
  machine::Os& os_;
  DetachedRuns& changes_;
  DetachedRuns& setups_;
  const LineFunction warn_;
};

}  // namespace csi_proxy::host
