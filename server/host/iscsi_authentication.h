// CHAP in the parameters and answers of the MSFT_iSCSI* classes.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/host/iscsi_host.h"
#include "server/machine/cim/errors.h"
#include "server/machine/cim/session.h"

namespace csi_proxy::host {

inline constexpr const char* kAuthenticationTypes[] = {"NONE", "ONEWAYCHAP",
                                                       "MUTUALCHAP"};  // by ChapMode

inline std::optional<ChapMode> ReadAuthenticationType(absl::string_view text) {
  const auto found = std::ranges::find(kAuthenticationTypes, text);
  if (found == std::end(kAuthenticationTypes)) return std::nullopt;
  return static_cast<ChapMode>(found - std::begin(kAuthenticationTypes));
}

inline void AddCredentials(const ChapCredentials& credentials, cim::Arguments* arguments) {
  // Omits empty credentials instead of sending empty strings.
  if (!credentials.username.empty()) {
    (*arguments)["ChapUsername"] = cim::Value::String(credentials.username);
  }
  if (!credentials.secret.empty()) {
    (*arguments)["ChapSecret"] = cim::Value::String(credentials.secret.Reveal());
  }
}

inline void AddAuthentication(const ChapCredentials& credentials, cim::Arguments* arguments) {
  (*arguments)["AuthenticationType"] =
      cim::Value::String(std::string(kAuthenticationTypes[static_cast<size_t>(credentials.mode)]));
  AddCredentials(credentials, arguments);
}

// Returns true if a portal's answer requires CHAP: if authentication, authorization or logon
// failed, or if the initiator knows no authentication for the target.
inline bool AsksForCredentials(const absl::Status& status) {
  const uint32_t code = cim::HresultOf(status).value_or(0);
  return code == 0xEFFF0009 || code == 0xEFFF000A || code == 0xEFFF0022 || code == 0xEFFF0028;
}

}  // namespace csi_proxy::host
