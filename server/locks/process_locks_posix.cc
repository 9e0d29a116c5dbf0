#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "server/locks/process_locks.h"

namespace csi_proxy {
namespace {

constexpr absl::Duration kFirstPoll = absl::Milliseconds(1);
constexpr absl::Duration kLastPoll = absl::Milliseconds(50);

class HeldFile final : public ProcessLocks::Held {
 public:
  explicit HeldFile(int descriptor) : descriptor_(descriptor) {}
  // Closing releases the lock, because no other descriptor refers to the file description.
  ~HeldFile() override { close(descriptor_); }

 private:
  const int descriptor_;
};

class FileLocks final : public ProcessLocks {
 public:
  explicit FileLocks(int directory) : directory_(directory) {}
  ~FileLocks() override { close(directory_); }

  absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext& context,
                                                absl::string_view name) override {
    const int file = openat(directory_, ProcessLockName(name).c_str(),
                            O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("opening the lock of ", name));
    }
    auto held = std::make_unique<HeldFile>(file);
    for (absl::Duration poll = kFirstPoll;; poll = std::min(2 * poll, kLastPoll)) {
      if (flock(file, LOCK_EX | LOCK_NB) == 0) return held;
      if (errno != EWOULDBLOCK && errno != EINTR) {
        return absl::ErrnoToStatus(errno, absl::StrCat("locking ", name));
      }
      if (absl::Status status = context.SleepFor(poll); !status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat(status.message(), " while another process holds ", name));
      }
    }
  }

 private:
  const int directory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessLocks>> NewProcessLocks(const std::string& directory,
                                                              const LineFunction&) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("creating the lock directory ", directory));
  }
  const int opened = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (opened < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("opening the lock directory ", directory));
  }
  auto locks = std::make_unique<FileLocks>(opened);
  struct stat info {};
  // A user who can write to the directory could remove its lock files.
  if (fstat(opened, &info) != 0 || info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the lock directory ", directory, " belongs to another user or is writable by others"));
  }
  return locks;
}

}  // namespace csi_proxy
