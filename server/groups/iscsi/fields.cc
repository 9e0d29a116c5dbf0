#include "server/groups/iscsi/fields.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"

namespace csi_proxy::iscsi {
namespace {

constexpr uint32_t kDefaultPort = 3260;
constexpr size_t kMaxAddress = 255;
// RFC 3720, section 3.2.6.1.
constexpr size_t kMaxIqn = 223;
constexpr size_t kMaxUsername = 223;
// The lengths of a CHAP secret that Windows' initiator accepts, in bytes.
constexpr size_t kMinSecret = 12;
constexpr size_t kMaxSecret = 16;

}  // namespace

absl::StatusOr<host::IscsiPortal> ReadPortal(absl::string_view address_field,
                                             absl::string_view port_field,
                                             const std::string& address, uint32_t port) {
  ABSL_RETURN_IF_ERROR(groups::CheckText(address_field, address, kMaxAddress));
  for (const char c : address) {
    // Allows a DNS name, an IPv4 address, or an IPv6 address with an optional zone.
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains(".-_:%[]", c)) {
      return absl::InvalidArgumentError(
          absl::StrCat(address_field, ": is not a host name or an IP address"));
    }
  }
  if (port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(port_field, ": ", port, " is not from 1 to 65535, or 0 for ", kDefaultPort));
  }
  return host::IscsiPortal{address, static_cast<uint16_t>(port == 0 ? kDefaultPort : port)};
}

absl::Status CheckIqn(const std::string& iqn) {
  ABSL_RETURN_IF_ERROR(groups::CheckText("iqn", iqn, kMaxIqn));
  bool valid = absl::StartsWithIgnoreCase(iqn, "iqn.") || absl::StartsWithIgnoreCase(iqn, "eui.") ||
               absl::StartsWithIgnoreCase(iqn, "naa.");
  for (const char c : iqn) {
    const auto byte = static_cast<unsigned char>(c);
    valid = valid && (byte >= 0x80 || absl::ascii_isalnum(byte) || absl::StrContains("-.:_", c));
  }
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "iqn: is not an iSCSI name such as iqn.2026-01.example.storage:disk1");
}

absl::Status CheckSecret(absl::string_view field, const std::string& secret) {
  if (secret.size() >= kMinSecret && secret.size() <= kMaxSecret) {
    return groups::CheckText(field, secret, kMaxSecret);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": must have ", kMinSecret, " to ", kMaxSecret, " bytes"));
}

absl::StatusOr<host::ChapCredentials> ReadChap(absl::string_view none, host::ChapMode mode,
                                               const std::string& username,
                                               const std::string& secret) {
  host::ChapCredentials credentials;
  credentials.mode = mode;
  if (mode == host::ChapMode::kNone) {
    if (username.empty() && secret.empty()) return credentials;
    return absl::InvalidArgumentError(
        absl::StrCat(none, " allows no chap_username and chap_secret"));
  }
  ABSL_RETURN_IF_ERROR(groups::CheckText("chap_username", username, kMaxUsername));
  ABSL_RETURN_IF_ERROR(CheckSecret("chap_secret", secret));
  credentials.username = username;
  credentials.secret = Secret(secret);
  return credentials;
}

}  // namespace csi_proxy::iscsi
