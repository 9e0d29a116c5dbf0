// The steps of calls on shares, for the groups smb and storage. The caller holds the share's lock.
#pragma once

#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "server/groups/deps.h"
#include "server/groups/smb/known_shares.h"
#include "server/host/smb_host.h"

namespace csi_proxy::smb {

// Parses the path of a share that a request names. INVALID_ARGUMENT for a host of another spelling
// than Windows wants, with that spelling.
absl::StatusOr<UncPath> ParseRemotePath(absl::string_view text);

// INVALID_ARGUMENT, naming the field, for what no user or password can be. Both may be empty, for a
// share that takes anonymous clients.
absl::Status CheckCredentials(const std::string& username, const std::string& password);

enum class Found {
  // The share is mapped, and the caller may use it.
  kUsable,
  // It is not mapped.
  kNone,
  // It was, by a mapping that is removed now.
  kRemoved,
};

// Looks for the mapping of a path's share. One that works is usable, whatever its state; another is
// removed, and so is one that is not from this process where mappings are bound to their
// credentials. PERMISSION_DENIED when they are and these are others. A mapping that only denies
// access works if a link to its share is reached, or if mapping the share anew has changed nothing
// before. Sets `access` to what the server says of the path, if the mapping is usable.
absl::StatusOr<Found> FindMapping(const groups::Deps& deps, const CallContext& context,
                                  const UncPath& remote, const host::SmbCredentials& credentials,
                                  host::SmbAccess* access);

// Maps the share of a path, which is not mapped, as SmbHost::CreateMapping. Mappings of other
// shares of the server that no longer work make way if Windows refuses this one for them. Sets
// `access` to what the server says of the path.
absl::Status Map(const groups::Deps& deps, const CallContext& context, const UncPath& remote,
                 const host::SmbCredentials& credentials, host::SmbAccess* access);

// Removes the mapping of a share, and an administrator's with a drive letter only if there is no
// other; false when there is none.
absl::StatusOr<bool> Unmap(const groups::Deps& deps, const CallContext& context,
                           const std::string& share);

// True if the target of a link, as host::LinkInfo has it, is that directory: with or without a
// backslash at the end, since earlier versions made links to shares without one.
bool IsTarget(const std::string& target, const UncPath& remote);

// The links below the working directories whose own target is one that `is_meant`. Links to those
// links do not count: they lead nowhere once these are gone. No server is asked.
absl::StatusOr<ShareLinks> FindLinks(const groups::Deps& deps, const CallContext& context,
                                     absl::FunctionRef<bool(const UncPath&)> is_meant);

}  // namespace csi_proxy::smb
