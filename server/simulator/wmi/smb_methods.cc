// Global SMB mappings. Failures are WBEM_E_FAILED with an error object that names Windows' error
// (github.com/kubernetes-csi/csi-driver-smb/issues/219).
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"
#include "server/simulator/services.h"
#include "server/simulator/smb.h"
#include "server/simulator/wmi/methods.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

constexpr uint32_t kAlreadyAssigned = 85;
constexpr uint32_t kNoWorkstation = 2138;

// Parses `user:password`, with `\` and `:` escaped by `\` in `user`: the form of a PSCredential
// (github.com/PowerShell/PowerShell, cimConverter.cs). Returns nullopt for other text.
std::optional<SmbCredentials> ParseCredential(const std::string& text) {
  SmbCredentials credentials;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ':') {
      credentials.password = Secret(std::string_view(text).substr(i + 1));
      return credentials;
    }
    if (c == '\\') {
      if (++i == text.size()) return std::nullopt;
      c = text[i];
      if (c != '\\' && c != ':') return std::nullopt;
    }
    credentials.username.push_back(c);
  }
  return std::nullopt;
}

absl::Status Fail(uint32_t error, absl::string_view what, absl::string_view detail = "") {
  const std::string words(detail.empty() ? Win32Words(error) : detail);
  return cim::ErrorObjectStatus(
      cim::hresult::kFailed, what,
      cim::Object("MSFT_WmiError", "",
                  {{"Message", Value::String(words)},
                   {"MessageID", Value::String(absl::StrCat("Windows System Error ", error))},
                   {"error_Code", Value::Uint32(error)}}));
}

// Converts the status of the node's function to Windows' error.
absl::Status ToWindowsError(const absl::Status& status, absl::string_view what) {
  if (const std::optional<uint32_t> error = Win32CodeOf(status); error.has_value()) {
    return Fail(*error, what);
  }
  if (absl::IsAlreadyExists(status)) return Fail(kAlreadyAssigned, what);
  return Fail(win32_error::kBadNetName, what);
}

Outcome Create(const Call& call) {
  constexpr absl::string_view kWhat = "creating the mapping";
  const Service* const workstation = FindService(call.state, "LanmanWorkstation");
  if (workstation != nullptr && workstation->state == ServiceState::kStopped) {
    return Fail(kNoWorkstation, kWhat);
  }
  const absl::StatusOr<UncPath> path = UncPath::Parse("RemotePath", call.Text("RemotePath"));
  if (!path.ok() || !path->components().empty()) {
    return Fail(win32_error::kBadNetName, kWhat);
  }
  // The simulation supports neither local device names nor rights of single users.
  for (const char* extra : {"LocalPath", "FullAccess", "DenyAccess"}) {
    if (call.Has(extra)) return Fail(win32_error::kNotSupported, kWhat, extra);
  }
  SmbCredentials credentials;
  if (call.Has("Credential")) {
    std::optional<SmbCredentials> parsed = ParseCredential(call.Text("Credential"));
    if (!parsed.has_value()) {
      return Fail(win32_error::kInvalidParameter, kWhat, "Credential");
    }
    credentials = *std::move(parsed);
  }
  const std::string share = path->Share();
  const absl::Status made =
      CreateMapping(call.state, share, credentials, call.Flag("RequirePrivacy"),
                    // Without the argument, the mapping is persistent (doubts.md).
                    !call.Has("Persistent") || call.Flag("Persistent"));
  if (!made.ok()) return ToWindowsError(made, kWhat);
  for (const cim::Object& mapping : Mappings(call.state, {{"RemotePath", Value::String(share)}})) {
    if (*mapping.GetString("RemotePath") == share) {
      return Done(call.method, {{"CreatedMapping", Value::Embedded(mapping)}});
    }
  }
  return Done(call.method);
}

Outcome Remove(const Call& call) {
  const absl::Status removed = RemoveMapping(call.state, *call.self.GetString("RemotePath"),
                                             *call.self.GetString("LocalPath"));
  if (!removed.ok()) return ToWindowsError(removed, "removing the mapping");
  return Done(call.method);
}

constexpr Implementation kSmbMethods[] = {
    {"MSFT_SmbGlobalMapping", "Create", Create},
    {"MSFT_SmbGlobalMapping", "Remove", Remove},
};

}  // namespace

std::span<const Implementation> SmbMethods() { return kSmbMethods; }

}  // namespace csi_proxy::machine::simulator::wmi
