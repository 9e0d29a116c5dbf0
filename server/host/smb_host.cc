// Global SMB mappings, by MSFT_SmbGlobalMapping: there is no documented Win32 call for them.
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
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

absl::StatusOr<SmbMapping> ReadMapping(const cim::Object& object) {
  ABSL_ASSIGN_OR_RETURN(const auto remote, object.GetString("RemotePath"));
  ABSL_ASSIGN_OR_RETURN(const auto status, object.GetUint32Or("Status", kStatusOk));
  ABSL_ASSIGN_OR_RETURN(std::string local_path, object.GetStringOr("LocalPath", ""));
  // Another program may have spelt it otherwise, with a backslash at the end for example.
  const absl::StatusOr<UncPath> path = UncPath::Parse("RemotePath", remote);
  return SmbMapping{CanonicalUnc(path.ok() ? path->ToString() : remote), status == kStatusOk,
                    object.path(), StatusName(status), std::move(local_path)};
}

// ERROR_NOT_CONNECTED: the mapping is gone.
constexpr uint32_t kNotConnected = 2250;

constexpr char kTellDriver[] = "correct the user or the password in the driver's secret";
constexpr char kNetworkComesBack[] =
    "repeat the call; if it goes on, look at the network and at the server's log";

// The code and the advice for each error that Windows has for a share that it cannot map. Each is
// in learn.microsoft.com/windows/win32/debug/system-error-codes, but 2138 in
// learn.microsoft.com/windows/win32/netmgmt/network-management-error-codes.
constexpr struct {
  uint32_t error;
  absl::StatusCode code;
  const char* advice;
} kErrorHints[] = {
    // github.com/kubernetes-csi/csi-driver-smb/issues/1039
    {8, absl::StatusCode::kResourceExhausted,
     "the node may have too many mappings: see csi-proxyctl repair --what=leaked-mappings"},
    {win32_error::kBadNetPath, absl::StatusCode::kNotFound,
     "check the server's name, and that the node resolves it and reaches its TCP port 445"},
    {59, absl::StatusCode::kUnavailable, kNetworkComesBack},
    {64, absl::StatusCode::kUnavailable, kNetworkComesBack},
    {win32_error::kBadNetName, absl::StatusCode::kNotFound,
     "check the share's name: the server has no such share"},
    {85, absl::StatusCode::kAlreadyExists,
     "another program maps the share: Get-SmbGlobalMapping on the node shows it"},
    {86, absl::StatusCode::kFailedPrecondition, kTellDriver},
    {121, absl::StatusCode::kUnavailable,
     "the server did not answer in time: check that the node reaches its TCP port 445"},
    {1231, absl::StatusCode::kUnavailable,
     "the node has no route to the server: check its network and that of the server"},
    {win32_error::kLogonFailure, absl::StatusCode::kFailedPrecondition, kTellDriver},
    {1327, absl::StatusCode::kFailedPrecondition,
     "the account may have an empty password, or a policy forbids it to sign in"},
    {1328, absl::StatusCode::kFailedPrecondition,
     "give the driver an account that may sign in at any hour"},
    {1330, absl::StatusCode::kFailedPrecondition, "set a new password, and tell the driver"},
    {1331, absl::StatusCode::kFailedPrecondition, "enable the account"},
    {1385, absl::StatusCode::kFailedPrecondition,
     "grant the account the right to access the server from the network"},
    {1907, absl::StatusCode::kFailedPrecondition, "set a new password, and tell the driver"},
    {1909, absl::StatusCode::kFailedPrecondition,
     "unlock the account, after the wrong password was corrected that locked it"},
    // It has to be restarted at times though it runs
    // (github.com/kubernetes-csi/csi-driver-smb/issues/844).
    {2138, absl::StatusCode::kFailedPrecondition,
     "start the node's service LanmanWorkstation; if it runs, restart it, which ends all "
     "connections of the node to shares"},
};

// `\\host` of `\\host\share`.
absl::string_view ServerOf(absl::string_view share) { return share.substr(0, share.find('\\', 2)); }

// Encodes credentials as PowerShell encodes a PSCredential for these classes
// (github.com/PowerShell/PowerShell, cimConverter.cs): in the user's name `\` and then `:` are
// escaped by `\`; the password follows a colon as it is.
std::string CredentialText(const SmbCredentials& credentials) {
  return absl::StrCat(absl::StrReplaceAll(credentials.username, {{"\\", "\\\\"}, {":", "\\:"}}),
                      ":", credentials.password.Reveal());
}

absl::Status WithHint(const absl::Status& error, absl::StatusCode code, absl::string_view advice) {
  return Reworded(error, code, absl::StrCat(error.message(), " (", advice, ")"));
}

// Failures arrive as an HRESULT, with the error in an error object, or as a ReturnValue: no page
// says which (doubt 18 of doubts.md). The interface's codes are made of the error they all name.
absl::Status ClassifyStatus(const absl::Status& status, bool require_privacy = false) {
  const uint32_t error = Win32CodeOf(status).value_or(0);
  for (const auto& row : kErrorHints) {
    if (error == row.error) return WithHint(status, row.code, row.advice);
  }
  // The answer of a server that cannot encrypt.
  if (require_privacy &&
      (error == win32_error::kAccessDenied || error == win32_error::kNotSupported)) {
    return WithHint(status, absl::StatusCode::kFailedPrecondition,
                    "encryption is required: see the option require_privacy");
  }
  return status;
}

class WindowsSmb final : public SmbHost {
 public:
  explicit WindowsSmb(const Parts& parts) : wmi_(*parts.wmi), os_(*parts.os), warn_(parts.warn) {}

  absl::StatusOr<std::optional<SmbMapping>> GetMapping(const CallContext& context,
                                                       const std::string& share) override {
    cim::Query query("MSFT_SmbGlobalMapping");
    // No page says whether WQL ignores case beyond ASCII, so such names are compared here alone.
    if (std::all_of(share.begin(), share.end(), absl::ascii_isascii)) {
      query.Where("RemotePath", Value::String(share));
    }
    ABSL_ASSIGN_OR_RETURN(const auto mappings,
                          Find(context, absl::StrCat("finding the mapping of ", share), query));
    for (const SmbMapping& mapping : mappings) {
      if (mapping.remote_path == share) return mapping;
    }
    return std::nullopt;
  }

  absl::StatusOr<std::vector<SmbMapping>> ListMappings(const CallContext& context) override {
    ABSL_ASSIGN_OR_RETURN(
        auto mappings, Find(context, "listing the mappings", cim::Query("MSFT_SmbGlobalMapping")));
    std::sort(mappings.begin(), mappings.end(), [](const SmbMapping& a, const SmbMapping& b) {
      return a.remote_path < b.remote_path;
    });
    return mappings;
  }

  absl::StatusOr<bool> IsHealthy(const CallContext& context, const SmbMapping& mapping) override {
    ABSL_RETURN_IF_ERROR(context.Check());
    const YieldSlot yielded(context);
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
    const auto result =
        wmi_.Invoke(context, Namespace::kSmb, "MSFT_SmbGlobalMapping", "Create", arguments);
    const absl::Status created =
        result.ok() ? cim::OpaqueStatus(operation, *result) : Prefixed(operation, result.status());
    if (!HasWin32Code(created, win32_error::kSessionCredentialConflict)) {
      return ClassifyStatus(created, require_privacy);
    }
    WarnOfHolders(context, share);
    return WithHint(created, absl::StatusCode::kFailedPrecondition,
                    "use the credentials by which the node is connected to the server, or end that "
                    "connection first: csi-proxyctl storage list-smb-mappings, or "
                    "Get-SmbGlobalMapping and Get-SmbConnection on the node, show whose it is");
  }

  absl::Status RemoveMapping(const CallContext& context, const SmbMapping& mapping) override {
    const std::string operation = absl::StrCat("removing the mapping of ", mapping.remote_path);
    const auto result = wmi_.Invoke(context, Namespace::kSmb, mapping.object, "Remove",
                                    {{"Force", Value::Boolean(true)}});
    const absl::Status removed =
        result.ok() ? cim::OpaqueStatus(operation, *result) : Prefixed(operation, result.status());
    if (HasWin32Code(removed, kNotConnected)) return absl::NotFoundError(removed.message());
    return ClassifyStatus(removed);
  }

 private:
  absl::StatusOr<std::vector<SmbMapping>> Find(const CallContext& context,
                                               absl::string_view operation,
                                               const cim::Query& query) {
    const auto objects = wmi_.Query(context, Namespace::kSmb, query);
    if (!objects.ok()) return ClassifyStatus(Prefixed(operation, objects.status()));
    std::vector<SmbMapping> mappings;
    for (const cim::Object& object : *objects) {
      ABSL_ASSIGN_OR_RETURN(mappings.emplace_back(), ReadMapping(object));
    }
    return mappings;
  }

  // Names the mappings that keep the node's session with a share's server. The caller does not
  // learn them, because they are other tenants'.
  void WarnOfHolders(const CallContext& context, const std::string& share) {
    std::vector<std::string> holders;
    const auto mappings = ListMappings(context);
    if (!mappings.ok()) return;
    for (const SmbMapping& other : *mappings) {
      if (ServerOf(other.remote_path) == ServerOf(share)) holders.push_back(other.remote_path);
    }
    warn_(absl::StrCat("mapping ", share, ": the node is connected to the server by others: ",
                       holders.empty() ? "no global mapping" : PathsText(holders)));
  }

  cim::Session& wmi_;
  machine::Os& os_;
  const std::function<void(absl::string_view)> warn_;
};

}  // namespace

std::unique_ptr<SmbHost> NewSmbHost(const Parts& parts) {
  return std::make_unique<WindowsSmb>(parts);
}

}  // namespace csi_proxy::host
