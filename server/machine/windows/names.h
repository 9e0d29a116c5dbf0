// Names and paths as Windows takes them letter by letter, so that a caller's text is never read as
// anything else.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::machine {

// The name of one entry of a directory. NTFS does not ask that a name's 16-bit units make sense
// together: half a surrogate pair is a name like any other, and code that empties a directory must
// be able to say it. Here it is three bytes (WTF-8); the rest is UTF-8. ERROR_INVALID_NAME: empty,
// `.`, `..`, with a separator, a NUL or the colon of a stream, over 255 units, or not of that form.
absl::StatusOr<std::u16string> EntryNameToUtf16(absl::string_view name);

// The reverse, of any units.
std::string EntryNameFromUtf16(std::u16string_view name);

// The form of an absolute path that Windows does not interpret and that may have any length:
// `\\?\C:\a`, `\\?\UNC\host\share\a`; one that begins with `\\?\` is of that form already
// (learn.microsoft.com/windows/win32/fileio/naming-a-file#win32-file-namespaces).
std::string VerbatimPath(absl::string_view path);

}  // namespace csi_proxy::machine
