#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::client {

// Of this process, as text.
struct TokenSids {
  std::string user;
  // Who owns what it creates: for an elevated administrator, the group of administrators.
  std::string owner;
};
absl::StatusOr<TokenSids> SidsOfThisProcess();

}  // namespace csi_proxy::client
