// Steps on shares, for the groups smb and storage. REQUIRES for FindMapping(), Map() and Unmap():
// the caller holds the share's lock.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/groups/handler_deps.h"
#include "server/groups/smb/known_shares.h"
#include "server/host/smb_host.h"

namespace csi_proxy::smb {

// The time for a failed call to undo a step, with the share's lock held.
inline constexpr absl::Duration kToUndo = absl::Seconds(2);

// Parses the path of a share in a request. Returns INVALID_ARGUMENT if it is malformed, or if
// Windows would not parse the host as a name or an IPv4 address. For an IPv6 address the message
// contains the spelling that Windows requires.
absl::StatusOr<UncPath> ParseRemotePath(absl::string_view text);

// Parses the path of a share that is to be mapped, as ParseRemotePath() does. Returns
// PERMISSION_DENIED for an administrative share. Without HandlerDeps::allow_local_shares, also
// returns PERMISSION_DENIED if MayBeThisNode() is true for the host.
absl::StatusOr<UncPath> ParsePathToMap(const groups::HandlerDeps& deps, absl::string_view text);

// Returns INVALID_ARGUMENT, naming the field, for a text that is too long or has control
// characters, and for a password without a user name. Both may be empty, for a share with anonymous
// access.
absl::Status CheckCredentials(const std::string& username, const std::string& password);

enum class LookupResult {
  // The share is mapped, and the caller may use it.
  kUsable,
  // The share is not mapped.
  kNone,
  // The share was mapped; the mapping has been removed.
  kRemoved,
};

// Finds the mapping of a path's share. Removes a mapping that does not work, even if Windows
// reports it as working.
//
// With HandlerDeps::bind_smb_credentials, returns PERMISSION_DENIED if the mapping works and this
// process made it with other credentials, and removes the mapping if another process made it.
//
// The server may deny access to the path. Then the mapping still counts as working if the share's
// root or a folder that a link points to is accessible, if not all such folders were tried, or if
// KnownShares::WasDenied(). Sets `access` to the server's answer for the path if the mapping is
// usable.
absl::StatusOr<LookupResult> FindMapping(const groups::HandlerDeps& deps,
                                         const CallContext& context, const UncPath& remote,
                                         const host::SmbCredentials& credentials,
                                         host::SmbAccess* access);

// Maps the share of a path as SmbHost::CreateMapping() does. If Windows refuses because of mappings
// of the server's other shares, removes the broken ones and tries again. Sets `access` to the
// server's answer for the path. REQUIRES: the share is not mapped.
absl::Status Map(const groups::HandlerDeps& deps, const CallContext& context, const UncPath& remote,
                 const host::SmbCredentials& credentials, host::SmbAccess* access);

// Returns SmbHost::GetMapping() for a teardown. First waits for a mapping that an earlier call of
// the tenant may still make. Returns an error if the share is not mapped but that call may still
// map it.
absl::StatusOr<std::optional<host::SmbMapping>> FindMappingToRemove(const groups::HandlerDeps& deps,
                                                                    const CallContext& context,
                                                                    const std::string& share);

// Removes the mapping that SmbHost::GetMapping() returns for a share, and keeps further mappings of
// the share, because an administrator made them. Returns false if the share is not mapped.
absl::StatusOr<bool> Unmap(const groups::HandlerDeps& deps, const CallContext& context,
                           const std::string& share);

// Returns true if `target`, a LinkInfo::target, names `remote`. Ignores a trailing backslash,
// because links of earlier versions lack it.
bool IsTarget(const std::string& target, const UncPath& remote);

// Returns the links below the working directories whose own target `is_meant` accepts. Omits a link
// whose target is another link, because it dangles once the other link is removed. Does not access
// any server.
absl::StatusOr<ShareLinks> FindLinks(const groups::HandlerDeps& deps, const CallContext& context,
                                     absl::FunctionRef<bool(const UncPath&)> is_meant);

}  // namespace csi_proxy::smb
