// Manages global SMB mappings through WMI, because no Win32 call is documented for them.
#include "server/host/smb_host.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"
#include "server/names/refusals.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

// The status of a mapping: 0 is OK, any other value names the problem.
constexpr uint32_t kStatusOk = 0;

// The names of the states, from MSFT_SmbMapping, because MSFT_SmbGlobalMapping has no page
// (learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbmapping).
constexpr const char* kStatusNames[] = {
    "OK", "Paused", "Disconnected", "NetworkError", "Connecting", "Reconnecting", "Unavailable"};

std::string StatusName(uint32_t status) {
  if (status < std::size(kStatusNames)) return kStatusNames[status];
  return absl::StrCat("Status ", status);
}

absl::StatusOr<SmbMapping> ReadMapping(const cim::Object& object) {
  ABSL_ASSIGN_OR_RETURN(const auto remote, object.GetString("RemotePath"));
  ABSL_ASSIGN_OR_RETURN(const auto status, object.GetUint32Or("Status", kStatusOk));
  ABSL_ASSIGN_OR_RETURN(std::string local_path, object.GetStringOr("LocalPath", ""));
  // Another program may have used another spelling, for example a trailing backslash.
  const absl::StatusOr<UncPath> path = UncPath::Parse("RemotePath", remote);
  return SmbMapping{CanonicalUnc(path.ok() ? path->ToString() : remote), status == kStatusOk,
                    object.path(), StatusName(status), std::move(local_path)};
}

// ERROR_NOT_CONNECTED: the mapping no longer exists.
constexpr uint32_t kNotConnected = 2250;

// Encodes credentials as PowerShell encodes a PSCredential for these classes
// (github.com/PowerShell/PowerShell, cimConverter.cs): `\` and `:` in the user's name are escaped
// by `\`. The unescaped password follows a colon.
Value CredentialValue(const SmbCredentials& credentials) {
  std::string text =
      absl::StrCat(absl::StrReplaceAll(credentials.username, {{"\\", "\\\\"}, {":", "\\:"}}), ":",
                   credentials.password.Reveal());
  Value value = Value::String(text);
  Wipe(text);
  return value;
}

// Gives a failure the status code and advice of its Win32 error. Windows reports this error as
// HRESULT, error object or ReturnValue, without a documented rule (doubt 18 of doubts.md).
absl::Status ClassifyStatus(const absl::Status& status, bool require_privacy = false) {
  return RefusedBy(require_privacy ? Refuser::kEncryptedMapping : Refuser::kMapping, status);
}

// Does the work of ClassifyStatus() for a call that does not access a server. Returns error 5
// unchanged, because it is about this process's own rights.
absl::Status ClassifyLocal(const absl::Status& status) {
  return HasWin32Code(status, win32_error::kAccessDenied) ? status : ClassifyStatus(status);
}

// Returns the name of a mapping for DetachedRuns.
std::string MappingName(const std::string& share) { return absl::StrCat("the mapping of ", share); }

absl::StatusOr<std::vector<SmbMapping>> Find(cim::Session& wmi, const CallContext& context,
                                             absl::string_view operation, const cim::Query& query) {
  const auto objects = wmi.Query(context, Namespace::kSmb, query);
  if (!objects.ok()) return ClassifyLocal(Prefixed(operation, objects.status()));
  std::vector<SmbMapping> mappings;
  for (const cim::Object& object : *objects) {
    ABSL_ASSIGN_OR_RETURN(mappings.emplace_back(), ReadMapping(object));
  }
  return mappings;
}

}  // namespace

absl::StatusOr<machine::NetworkNames> SmbHost::GetNetworkNames() {
  auto names = os_.GetNetworkNames();
  if (names.ok()) return names;
  return Prefixed("finding the node's own names", names.status());
}

absl::Status SmbHost::AwaitRemoval(const CallContext& context, const std::string& share) {
  return changes_.Await(context, MappingName(share));
}

absl::Status SmbHost::AwaitCreation(const CallContext& context, const std::string& share) {
  return setups_.Await(context, MappingName(share), DetachedRuns::Whose::kLeftOfTenant);
}

absl::StatusOr<std::optional<SmbMapping>> SmbHost::GetMapping(const CallContext& context,
                                                              const std::string& share) {
  cim::Query query("MSFT_SmbGlobalMapping");
  // A non-ASCII name is compared below, not by WQL, because WQL's case folding is undocumented.
  if (std::all_of(share.begin(), share.end(), absl::ascii_isascii)) {
    query.Where("RemotePath", Value::String(share));
  }
  ABSL_ASSIGN_OR_RETURN(const auto mappings,
                        Find(wmi_, context, absl::StrCat("finding the mapping of ", share), query));
  std::optional<SmbMapping> found;
  for (const SmbMapping& mapping : mappings) {
    if (mapping.remote_path != share) continue;
    if (!found.has_value() || mapping.local_path.empty()) found = mapping;
  }
  return found;
}

absl::StatusOr<std::vector<SmbMapping>> SmbHost::ListMappings(const CallContext& context) {
  ABSL_ASSIGN_OR_RETURN(auto mappings, Find(wmi_, context, "listing the mappings",
                                            cim::Query("MSFT_SmbGlobalMapping")));
  std::sort(mappings.begin(), mappings.end(), [](const SmbMapping& a, const SmbMapping& b) {
    return std::tie(a.remote_path, a.local_path) < std::tie(b.remote_path, b.local_path);
  });
  return mappings;
}

absl::StatusOr<SmbAccess> SmbHost::Reach(const CallContext& context, const UncPath& path) {
  using Kind = SmbAccess::Kind;
  ABSL_RETURN_IF_ERROR(context.Check());
  const YieldSlot yielded(context);
  // `is_connected` is no proof: an idle mapping shows as disconnected but works, and a mapping with
  // a changed password shows as OK but fails (github.com/kubernetes/kubernetes/issues/93805).
  const std::string text = path.ToString();
  const absl::Status reached = os_.Reach(text);
  SmbAccess access;
  access.error = ClassifyStatus(reached);
  const bool is_share = path.components().empty();
  if (reached.ok()) {
    access.kind = Kind::kReached;
  } else if (HasWin32Code(reached, win32_error::kAccessDenied)) {
    access.kind = Kind::kDenied;
  } else if (!is_share && IsFileNotFound(reached)) {
    access.kind = Kind::kNoFolder;
  } else if (!is_share && HasWin32Code(reached, win32_error::kNetworkUnreachable)) {
    access.kind = Kind::kDfsLink;
  }
  if (!reached.ok()) warn_(absl::StrCat("the mapped ", PathsText({text}), ": ", reached.message()));
  return access;
}

absl::Status SmbHost::CreateMapping(const CallContext& context, const std::string& share,
                                    const SmbCredentials& credentials, bool require_privacy) {
  // Windows would restore a persistent mapping with saved credentials and then refuse the
  // server's other mappings (github.com/kubernetes-csi/csi-driver-smb/issues/219). Persistent is
  // passed because its default may be true (doubt 79 of doubts.md); all other parameters default
  // to false (learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping).
  cim::Arguments arguments = {{"RemotePath", Value::String(share)},
                              {"Persistent", Value::Boolean(false)},
                              {"RequirePrivacy", Value::Boolean(require_privacy)}};
  // A mapping without a user name is anonymous. A mapping with an empty user name is not.
  if (!credentials.username.empty()) {
    arguments["Credential"] = CredentialValue(credentials);
  }
  const std::string operation = absl::StrCat("mapping ", share);
  const absl::Status created = setups_.Run(
      context, {MappingName(share)},
      [&wmi = wmi_, arguments = std::move(arguments), operation](const CallContext& run) {
        const auto result =
            wmi.Invoke(run, Namespace::kSmb, "MSFT_SmbGlobalMapping", "Create", arguments);
        return result.ok() ? cim::ReturnValueStatus(operation, *result)
                           : Prefixed(operation, result.status());
      });
  if (HasWin32Code(created, win32_error::kSessionCredentialConflict)) {
    WarnOfHolders(context, share);
  }
  return ClassifyStatus(created, require_privacy);
}

absl::Status SmbHost::RemoveMapping(const CallContext& context, const SmbMapping& mapping) {
  const std::string operation = absl::StrCat("removing the mapping of ", mapping.remote_path);
  const absl::Status removed =
      changes_.Run(context, {MappingName(mapping.remote_path)},
                   [&wmi = wmi_, object = mapping.object, operation](const CallContext& run) {
                     const auto result = wmi.Invoke(run, Namespace::kSmb, object, "Remove",
                                                    {{"Force", Value::Boolean(true)}});
                     return result.ok() ? cim::ReturnValueStatus(operation, *result)
                                        : Prefixed(operation, result.status());
                   });
  if (HasWin32Code(removed, kNotConnected)) return absl::NotFoundError(removed.message());
  return ClassifyLocal(removed);
}

void SmbHost::WarnOfHolders(const CallContext& context, const std::string& share) {
  std::vector<std::string> holders;
  const auto mappings = ListMappings(context);
  const absl::StatusOr<UncPath> own = UncPath::Parse("share", share);
  if (!mappings.ok() || !own.ok()) return;
  for (const SmbMapping& other : *mappings) {
    const absl::StatusOr<UncPath> path = UncPath::Parse("share", other.remote_path);
    if (path.ok() && path->host() == own->host()) holders.push_back(other.remote_path);
  }
  warn_(absl::StrCat("mapping ", share,
                     ": the node is connected to the server with other credentials, by ",
                     holders.empty() ? "no global mapping" : PathsText(holders)));
}

}  // namespace csi_proxy::host
