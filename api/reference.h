// The API reference: Markdown made from the comments of the protos, with what each version calls a
// thing and what the hub makes of it. The pairing is the generator's own, so the reference cannot
// promise a conversion that does not happen.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "api/files.h"

namespace csi_proxy::api {

// The whole document. INVALID_ARGUMENT if a group lacks its hub or its table of conversions, or if
// the generator cannot map one of its versions.
absl::StatusOr<std::string> Reference(const Files& files);

}  // namespace csi_proxy::api
