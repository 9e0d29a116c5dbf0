// Completion scripts for shells.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/ctl/catalog.h"

namespace csi_proxy::ctl {

// A script for `bash` or `zsh` that completes commands, groups, methods, fields and flags.
// INVALID_ARGUMENT for another shell.
absl::StatusOr<std::string> CompletionScript(const Catalog& catalog, absl::string_view shell);

}  // namespace csi_proxy::ctl
