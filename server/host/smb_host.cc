// Global SMB mappings, by MSFT_SmbGlobalMapping: there is no documented Win32 call for them.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "server/base/status_macros.h"
#include "server/base/win32_error.h"
#include "server/base/windows_path.h"
#include "server/host/parts.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

// Status of a mapping: 0 is OK, the others name the problem.
constexpr uint32_t kStatusOk = 0;

// The states of MSFT_SmbMapping, whose sibling MSFT_SmbGlobalMapping has no page
// (learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbmapping).
constexpr const char* kStatusNames[] = {
    "OK", "Paused", "Disconnected", "NetworkError", "Connecting", "Reconnecting", "Unavailable"};

std::string StatusName(uint32_t status) {
  if (status < std::size(kStatusNames)) return kStatusNames[status];
  return absl::StrCat("Status ", status);
}

absl::StatusOr<SmbMapping> ReadMapping(const cim::Object& object, const std::string& share) {
  ABSL_ASSIGN_OR_RETURN(const auto status, object.GetUint32Or("Status", kStatusOk));
  return SmbMapping{share, status == kStatusOk, object.path(), StatusName(status)};
}

// ERROR_ALREADY_ASSIGNED.
constexpr uint32_t kAlreadyAssigned = 85;
// ERROR_NOT_CONNECTED: the mapping is gone.
constexpr uint32_t kNotConnected = 2250;
// The errors of a server that refuses: bad password, account locked out, disabled, expired,
// restricted, no right to log on here.
constexpr uint32_t kRefusals[] = {86, 1326, 1327, 1328, 1330, 1331, 1385, 1907, 1909};

// `\\host` of `\\host\share`.
absl::string_view ServerOf(absl::string_view share) { return share.substr(0, share.find('\\', 2)); }

// Encodes credentials as PowerShell encodes a PSCredential for these classes
// (github.com/PowerShell/PowerShell, cimConverter.cs): in the user's name `\` and then `:` are
// escaped by `\`; the password follows a colon as it is.
std::string CredentialText(const SmbCredentials& credentials) {
  return absl::StrCat(absl::StrReplaceAll(credentials.username, {{"\\", "\\\\"}, {":", "\\:"}}),
                      ":", credentials.password.Reveal());
}

// Failures arrive as an HRESULT, with the error in an error object, or as a ReturnValue: no page
// says which (doubt 18 of doubts.md). The interface's codes are made of the error they all name.
absl::Status Interpret(const absl::Status& status, bool require_privacy) {
  const uint32_t code = Win32CodeOf(status).value_or(0);
  for (const uint32_t refusal : kRefusals) {
    if (code == refusal) return absl::FailedPreconditionError(status.message());
  }
  // The answer of a server that cannot encrypt.
  if (require_privacy &&
      (code == win32_error::kAccessDenied || code == win32_error::kNotSupported)) {
    return absl::FailedPreconditionError(absl::StrCat(
        status.message(), " (encryption is required: see the option require_privacy)"));
  }
  if (code == kAlreadyAssigned) return absl::AlreadyExistsError(status.message());
  return status;
}

class WindowsSmb final : public SmbHost {
 public:
  explicit WindowsSmb(const Parts& parts) : wmi_(*parts.wmi), os_(*parts.os) {}

  absl::StatusOr<std::optional<SmbMapping>> GetMapping(const CallContext& context,
                                                       const std::string& share) override {
    const auto mappings =
        wmi_.Query(context, Namespace::kSmb,
                   cim::Query("MSFT_SmbGlobalMapping").Where("RemotePath", Value::String(share)));
    if (!mappings.ok()) {
      return Prefixed(absl::StrCat("finding the mapping of ", share), mappings.status());
    }
    if (mappings->empty()) return std::optional<SmbMapping>();
    ABSL_ASSIGN_OR_RETURN(SmbMapping mapping, ReadMapping(mappings->front(), share));
    return std::optional<SmbMapping>(std::move(mapping));
  }

  absl::StatusOr<std::vector<SmbMapping>> ListMappings(const CallContext& context) override {
    const auto objects = wmi_.Query(context, Namespace::kSmb, cim::Query("MSFT_SmbGlobalMapping"));
    if (!objects.ok()) return Prefixed("listing the mappings", objects.status());
    std::vector<SmbMapping> mappings;
    for (const cim::Object& object : *objects) {
      ABSL_ASSIGN_OR_RETURN(const auto remote, object.GetString("RemotePath"));
      const absl::StatusOr<UncPath> path = UncPath::Parse("RemotePath", remote);
      ABSL_ASSIGN_OR_RETURN(
          SmbMapping mapping,
          ReadMapping(object, path.ok() ? path->Share() : absl::AsciiStrToLower(remote)));
      mappings.push_back(std::move(mapping));
    }
    std::sort(mappings.begin(), mappings.end(), [](const SmbMapping& a, const SmbMapping& b) {
      return a.remote_path < b.remote_path;
    });
    return mappings;
  }

  absl::StatusOr<bool> IsHealthy(const CallContext& context, const SmbMapping& mapping) override {
    ABSL_RETURN_IF_ERROR(context.Check());
    context.LeavePlace();
    // Not by `is_connected`: a mapping that is idle shows as disconnected and works, and one whose
    // password has changed shows as OK and does not
    // (github.com/kubernetes/kubernetes/issues/93805).
    // A share whose root a user may not read is reached: his rights may begin further down, and to
    // remove the mapping would take the share from all others.
    const absl::Status reached = os_.Reach(mapping.remote_path);
    return reached.ok() || HasWin32Code(reached, win32_error::kAccessDenied);
  }

  absl::Status CreateMapping(const CallContext& context, const std::string& share,
                             const SmbCredentials& credentials, bool require_privacy) override {
    cim::Arguments arguments = {{"RemotePath", Value::String(share)},
                                {"RequirePrivacy", Value::Boolean(require_privacy)}};
    // Without a name the mapping is anonymous, which is not the same as an empty name.
    if (!credentials.username.empty()) {
      arguments["Credential"] = Value::String(CredentialText(credentials));
    }
    const std::string operation = absl::StrCat("mapping ", share);
    context.LeavePlace();
    const auto result =
        wmi_.Invoke(context, Namespace::kSmb, "MSFT_SmbGlobalMapping", "Create", arguments);
    const absl::Status created =
        result.ok() ? cim::OpaqueStatus(operation, *result) : Prefixed(operation, result.status());
    if (!HasWin32Code(created, win32_error::kSessionCredentialConflict)) {
      return Interpret(created, require_privacy);
    }
    absl::Status conflict = absl::FailedPreconditionError(
        absl::StrCat(created.message(), " (", WhoHolds(context, share), ")"));
    created.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
      conflict.SetPayload(url, payload);
    });
    return conflict;
  }

  absl::Status RemoveMapping(const CallContext& context, const SmbMapping& mapping) override {
    const std::string operation = absl::StrCat("removing the mapping of ", mapping.remote_path);
    context.LeavePlace();
    const auto result = wmi_.Invoke(context, Namespace::kSmb, mapping.object, "Remove",
                                    {{"Force", Value::Boolean(true)}});
    const absl::Status removed =
        result.ok() ? cim::OpaqueStatus(operation, *result) : Prefixed(operation, result.status());
    if (HasWin32Code(removed, kNotConnected)) return absl::NotFoundError(removed.message());
    return removed;
  }

 private:
  // The mappings that keep the node's session with a share's server.
  std::string WhoHolds(const CallContext& context, const std::string& share) {
    std::vector<std::string> holders;
    const auto mappings = wmi_.Query(context, Namespace::kSmb, cim::Query("MSFT_SmbGlobalMapping"));
    const absl::string_view server = ServerOf(share);
    if (mappings.ok()) {
      for (const cim::Object& mapping : *mappings) {
        const std::string other = mapping.GetStringOr("RemotePath", "").value_or("");
        if (EqualNames(ServerOf(other), server)) holders.push_back(other);
      }
    }
    if (holders.empty()) {
      return "they are not those of a global mapping: Get-SmbConnection on the node shows whose";
    }
    return absl::StrCat("they are those of the node's mapping of ", absl::StrJoin(holders, ", "));
  }

  cim::Session& wmi_;
  machine::Os& os_;
};

}  // namespace

std::unique_ptr<SmbHost> NewSmbHost(const Parts& parts) {
  return std::make_unique<WindowsSmb>(parts);
}

}  // namespace csi_proxy::host
