// Parses the fields of requests about portals, targets and credentials.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/host/iscsi_host.h"

namespace csi_proxy::iscsi {

// The functions return INVALID_ARGUMENT, naming the field, if a field is malformed.
//
// Port 0 means 3260.
absl::StatusOr<host::IscsiPortal> ReadPortal(absl::string_view address_field,
                                             absl::string_view port_field,
                                             const std::string& address, uint32_t port);
absl::Status CheckIqn(const std::string& iqn);
absl::Status CheckSecret(absl::string_view field, const std::string& secret);
// Reads `chap_username` and `chap_secret`. Both must be empty if `mode` is kNone; if they are not,
// the error begins with `none`, the field and value by which the request chooses no CHAP.
absl::StatusOr<host::ChapCredentials> ReadChap(absl::string_view none, host::ChapMode mode,
                                               const std::string& username,
                                               const std::string& secret);

}  // namespace csi_proxy::iscsi
