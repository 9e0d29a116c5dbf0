// Global SMB mappings, by MSFT_SmbGlobalMapping: there is no documented Win32 call for them.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/base/win32_error.h"
#include "server/host/parts.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

// Status of a mapping: 0 is OK, the others tell what is amiss.
constexpr uint32_t kStatusOk = 0;

// ERROR_ALREADY_ASSIGNED.
constexpr uint32_t kAlreadyAssigned = 85;
// What a server answers that refuses: bad password, account locked out, disabled, expired,
// restricted, no right to log on here.
constexpr uint32_t kRefusals[] = {86, 1326, 1327, 1328, 1330, 1331, 1385, 1907, 1909};

// What PowerShell makes of a PSCredential for these classes
// (github.com/PowerShell/PowerShell, cimConverter.cs): in the user's name `\` and then `:` are
// escaped by `\`; the password follows a colon as it is.
std::string CredentialText(const SmbCredentials& credentials) {
  return absl::StrCat(absl::StrReplaceAll(credentials.username, {{"\\", "\\\\"}, {":", "\\:"}}),
                      ":", credentials.password.Reveal());
}

// Failures arrive as an HRESULT, as a ReturnValue or as a bare Win32 code, which of them is not
// documented; the interface's codes are made of what they say.
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
    if (!mappings.ok())
      return Prefixed(absl::StrCat("finding the mapping of ", share), mappings.status());
    if (mappings->empty()) return std::optional<SmbMapping>();
    const cim::Object& mapping = mappings->front();
    const auto status = mapping.GetUint32Or("Status", kStatusOk);
    if (!status.ok()) return status.status();
    return std::optional<SmbMapping>(SmbMapping{share, *status == kStatusOk, mapping.path()});
  }

  absl::StatusOr<bool> IsHealthy(const CallContext& context, const SmbMapping& mapping) override {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    return mapping.is_connected && os_.Reach(mapping.remote_path).ok();
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
    if (!result.ok()) return Interpret(Prefixed(operation, result.status()), require_privacy);
    return Interpret(cim::OpaqueStatus(operation, *result), require_privacy);
  }

  absl::Status RemoveMapping(const CallContext& context, const SmbMapping& mapping) override {
    const std::string operation = absl::StrCat("removing the mapping of ", mapping.remote_path);
    const auto result = wmi_.Invoke(context, Namespace::kSmb, mapping.object, "Remove",
                                    {{"Force", Value::Boolean(true)}});
    if (!result.ok()) return Prefixed(operation, result.status());
    return cim::OpaqueStatus(operation, *result);
  }

 private:
  cim::Session& wmi_;
  machine::Os& os_;
};

}  // namespace

std::unique_ptr<SmbHost> NewSmbHost(const Parts& parts) {
  return std::make_unique<WindowsSmb>(parts);
}

}  // namespace csi_proxy::host
