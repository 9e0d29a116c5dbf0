#include <windows.h>
// After windows.h.
#include <sddl.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/process_locks.h"
#include "server/base/win32.h"

namespace csi_proxy {
namespace {

// How long to wait for a mutex before asking whether the call still wants it.
constexpr absl::Duration kSlice = absl::Milliseconds(20);

// Owned by the administrators, who include SYSTEM; nobody else may even open one.
constexpr wchar_t kOwnersOnly[] = L"O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)";

// Whoever creates a named object decides who owns it and who may open it. One that another program
// created, open to all, could be held for ever, so it is refused
// (learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-getkernelobjectsecurity).
absl::Status CheckOwner(HANDLE mutex, absl::string_view name) {
  alignas(SECURITY_DESCRIPTOR) char descriptor[SECURITY_MAX_SID_SIZE + sizeof(SECURITY_DESCRIPTOR)];
  DWORD size = sizeof(descriptor);
  PSID owner = nullptr;
  BOOL defaulted = FALSE;
  if (!GetKernelObjectSecurity(mutex, OWNER_SECURITY_INFORMATION, descriptor, size, &size) ||
      !GetSecurityDescriptorOwner(descriptor, &owner, &defaulted)) {
    return win32::LastError(absl::StrCat("reading the owner of the lock of ", name));
  }
  if (owner != nullptr && (IsWellKnownSid(owner, WinBuiltinAdministratorsSid) ||
                           IsWellKnownSid(owner, WinLocalSystemSid))) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "the lock of ", name, " does not belong to an administrator: another program created it"));
}

class HeldMutex final : public ProcessLocks::Held {
 public:
  explicit HeldMutex(win32::UniqueHandle mutex) : mutex_(std::move(mutex)) {}
  ~HeldMutex() override { ReleaseMutex(mutex_.get()); }

 private:
  const win32::UniqueHandle mutex_;
};

class NamedMutexes final : public ProcessLocks {
 public:
  explicit NamedMutexes(win32::UniqueLocal security) : security_(std::move(security)) {}

  absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext& context,
                                                absl::string_view name) override {
    SECURITY_ATTRIBUTES attributes{.nLength = sizeof(SECURITY_ATTRIBUTES),
                                   .lpSecurityDescriptor = security_.get(),
                                   .bInheritHandle = FALSE};
    // Of all sessions: the service lives in one, a driver perhaps in another
    // (learn.microsoft.com/windows/win32/termserv/kernel-object-namespaces).
    win32::UniqueHandle mutex(CreateMutexExW(
        &attributes, win32::Utf16(absl::StrCat("Global\\", ProcessLockName(name))).c_str(), 0,
        SYNCHRONIZE | MUTEX_MODIFY_STATE | READ_CONTROL));
    if (!mutex.valid()) return win32::LastError(absl::StrCat("opening the lock of ", name));
    if (absl::Status owned = CheckOwner(mutex.get(), name); !owned.ok()) return owned;
    for (;;) {
      const absl::Duration left = std::min(context.deadline() - absl::Now(), kSlice);
      const auto wait = static_cast<DWORD>(
          std::max<int64_t>(absl::ToInt64Milliseconds(left), context.Check().ok() ? 1 : 0));
      switch (WaitForSingleObject(mutex.get(), wait)) {
        case WAIT_OBJECT_0:
        // The process that held it died. The call finds out what it left, as after any failure.
        case WAIT_ABANDONED:
          return std::make_unique<HeldMutex>(std::move(mutex));
        case WAIT_TIMEOUT:
          break;
        default:
          return win32::LastError(absl::StrCat("locking ", name));
      }
      if (absl::Status status = context.Check(); !status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat(status.message(), " while another process holds ", name));
      }
    }
  }

 private:
  const win32::UniqueLocal security_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessLocks>> NewProcessLocks(const std::string&) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(kOwnersOnly, SDDL_REVISION_1,
                                                            &descriptor, nullptr)) {
    return win32::LastError("creating the security descriptor of locks");
  }
  return std::make_unique<NamedMutexes>(win32::UniqueLocal(descriptor));
}

}  // namespace csi_proxy
