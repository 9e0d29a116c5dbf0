#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/machine/os.h"
#include "server/platform/win32.h"

namespace csi_proxy::node_double {

// Handles of objects that only the simulated node has. Kernel handles are small multiples of four
// (learn.microsoft.com/windows/win32/sysinfo/kernel-objects); fake handles are large and odd, so no
// call can confuse the two.
class Opened {
 public:
  virtual ~Opened() = default;
};

bool IsFake(const void* handle);

// Returns a new handle of `opened`, valid until CloseFake().
void* NewFake(std::shared_ptr<Opened> opened);

// Returns the object behind the handle; null if the handle is closed or not a fake one.
std::shared_ptr<Opened> FindFake(const void* handle);

// Returns FindFake() as a T; null also if the object is not a T.
template <typename T>
std::shared_ptr<T> FindFakeOf(const void* handle) {
  return std::dynamic_pointer_cast<T>(FindFake(handle));
}

// Closes a fake handle. Returns false if the handle is not an open fake handle.
bool CloseFake(const void* handle);

// A file or directory of the simulated node, opened by NtCreateFile. Not thread-safe.
class OpenFile final : public Opened {
 public:
  OpenFile(std::unique_ptr<machine::File> file, ACCESS_MASK granted, bool is_root)
      : file_(std::move(file)), granted_(granted), is_root_(is_root) {}

  machine::File& file() { return *file_; }

  // Returns ERROR_ACCESS_DENIED unless the file was opened with all of these rights.
  absl::Status Require(ACCESS_MASK rights) const;

  // Returns FILE_ATTRIBUTE_..., FILE_ATTRIBUTE_NORMAL if there are none.
  absl::StatusOr<FILE_ATTRIBUTE_TAG_INFO> GetAttributes();

  // Fills `buffer` with the next entries as FILE_FULL_DIR_INFO, from the first one if `restart`.
  // Returns ERROR_NO_MORE_FILES after the last.
  absl::Status List(bool restart, void* buffer, size_t size);

  absl::Status Delete(const FILE_DISPOSITION_INFO_EX& how);

  // Executes a file system control code.
  absl::StatusOr<machine::Bytes> Control(DWORD code, const machine::Bytes& input,
                                         size_t max_output);

 private:
  const std::unique_ptr<machine::File> file_;
  const ACCESS_MASK granted_;
  const bool is_root_;
  struct Listed {
    std::wstring name;
    DWORD attributes = FILE_ATTRIBUTE_DIRECTORY;
  };

  // Reads all entries of the directory into `entries_`.
  absl::Status Begin();

  // The entries that List() has not returned yet, the next one last.
  std::vector<Listed> entries_;
  bool has_begun_ = false;
};

// Opens an entry of the node for its attributes alone, as CreateFileW without rights does. With
// `follow`, opens the end of links and mounts; otherwise the entry itself. Returns null if the node
// has no such entry; sets the last error and returns INVALID_HANDLE_VALUE if the open fails.
HANDLE OpenPath(LPCWSTR path, bool follow);

}  // namespace csi_proxy::node_double
