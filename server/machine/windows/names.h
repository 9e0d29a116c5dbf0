// Encodes names and paths so that Windows takes them literally.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::machine {

// Returns the UTF-16 name of one entry. The input is WTF-8: UTF-8 in which an unpaired surrogate is
// three bytes. NTFS allows unpaired surrogates in names, and every entry must be deletable. Returns
// ERROR_INVALID_NAME if the name is empty, `.`, `..`, longer than 255 units or not WTF-8, or if it
// contains a separator, a NUL or a colon.
absl::StatusOr<std::u16string> EntryNameToUtf16(absl::string_view name);

// The inverse of EntryNameToUtf16(). Accepts any units, including unpaired surrogates.
std::string EntryNameFromUtf16(std::u16string_view name);

// Returns an absolute path in the form that Windows does not interpret or limit: `\\?\C:\a`,
// `\\?\UNC\host\share\a`
// (learn.microsoft.com/windows/win32/fileio/naming-a-file#win32-file-namespaces). Keeps a path that
// has this form.
std::string VerbatimPath(absl::string_view path);

}  // namespace csi_proxy::machine
