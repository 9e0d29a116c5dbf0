// A file or directory of the simulated node, opened by NtCreateFile.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "integration/wine/node/fake_handles.h"
#include "server/base/win32.h"
#include "server/machine/os.h"

namespace csi_proxy::node_double {

// For one thread at a time, as a handle's file position is.
class OpenFile final : public Opened {
 public:
  OpenFile(std::unique_ptr<machine::File> file, ACCESS_MASK granted, bool is_root)
      : file_(std::move(file)), granted_(granted), is_root_(is_root) {}

  machine::File& file() { return *file_; }

  // ERROR_ACCESS_DENIED unless it was opened with all of these rights.
  absl::Status Require(ACCESS_MASK rights) const;

  // FILE_ATTRIBUTE_...; FILE_ATTRIBUTE_NORMAL when there are none.
  absl::StatusOr<FILE_ATTRIBUTE_TAG_INFO> GetAttributes();

  // Fills `buffer` with the next entries, FILE_FULL_DIR_INFO each, after beginning anew when
  // `restart`. ERROR_NO_MORE_FILES after the last.
  absl::Status List(bool restart, void* buffer, size_t size);

  absl::Status Delete(const FILE_DISPOSITION_INFO_EX& how);

  // A control code of files.
  absl::StatusOr<machine::Bytes> Control(DWORD code, const machine::Bytes& input,
                                         size_t max_output);

 private:
  const std::unique_ptr<machine::File> file_;
  const ACCESS_MASK granted_;
  const bool is_root_;
  // An entry of a listing.
  struct Listed {
    std::wstring name;
    DWORD attributes = FILE_ATTRIBUTE_DIRECTORY;
  };

  // Notes all that there is to tell.
  absl::Status Begin();

  // The entries that List() has yet to tell, the next one last; none before the first time.
  std::vector<Listed> entries_;
  bool has_begun_ = false;
};

// Opens what the node has at a path for its attributes alone, as CreateFileW does without rights:
// at the end of links and mounts, or with `follow` false the entry itself. Null when the node has
// nothing there; INVALID_HANDLE_VALUE, the last error being set, when that fails.
HANDLE OpenPath(LPCWSTR path, bool follow);

}  // namespace csi_proxy::node_double
