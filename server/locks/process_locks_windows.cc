#include <windows.h>

#include "server/locks/process_locks.h"
// After windows.h.
#include <sddl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/locks/private_namespace.h"
#include "server/platform/win32.h"

namespace csi_proxy {
namespace {

// The interval at which a waiting call checks its deadline and cancellation.
constexpr absl::Duration kSlice = absl::Milliseconds(20);

// The administrators, who include SYSTEM, own the mutex. No other account may open it.
constexpr wchar_t kOwnersOnly[] = L"O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)";

// The namespace of all sessions, because the service and a driver may be in different ones
// (learn.microsoft.com/windows/win32/termserv/kernel-object-namespaces).
constexpr char kGlobal[] = "Global\\";

// Refuses a mutex that another account has created: the creator of a named object sets its owner
// and access list, and could hold the mutex for ever
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
  return absl::FailedPreconditionError(absl::StrCat(
      "the lock of ", name, " belongs to another account: end the program that made it"));
}

// Waits until the mutex is free and takes it. `name` is for errors.
absl::Status Lock(HANDLE mutex, const CallContext& context, absl::string_view name) {
  std::optional<YieldSlot> yielded;
  for (;;) {
    const absl::Duration left = std::min(context.deadline() - SteadyTime::Now(), kSlice);
    const auto wait = static_cast<DWORD>(
        std::max<int64_t>(absl::ToInt64Milliseconds(left), context.Check().ok() ? 1 : 0));
    switch (WaitForSingleObject(mutex, wait)) {
      case WAIT_OBJECT_0:
      // The holder of the mutex died. Nothing is repaired here, because each call inspects the
      // node's state.
      case WAIT_ABANDONED:
        return absl::OkStatus();
      case WAIT_TIMEOUT:
        if (!yielded.has_value()) yielded.emplace(context);
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

// A mutex that this thread holds.
class HeldMutex {
 public:
  explicit HeldMutex(win32::UniqueHandle mutex) : mutex_(std::move(mutex)) {}
  HeldMutex(HeldMutex&&) = default;
  ~HeldMutex() {
    if (mutex_.valid()) ReleaseMutex(mutex_.get());
  }

 private:
  win32::UniqueHandle mutex_;
};

struct HeldMutexes final : ProcessLocks::Held {
  // The mutexes are destroyed, and so released, in reverse order.
  std::optional<HeldMutex> in_private, in_global;
};

class NamedMutexes final : public ProcessLocks {
 public:
  NamedMutexes(win32::UniqueLocal security, std::string private_prefix)
      : security_(std::move(security)), private_prefix_(std::move(private_prefix)) {}

  absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext& context,
                                                absl::string_view name) override {
    auto held = std::make_unique<HeldMutexes>();
    if (!private_prefix_.empty()) {
      ABSL_ASSIGN_OR_RETURN(win32::UniqueHandle mutex, Open(private_prefix_, name));
      ABSL_RETURN_IF_ERROR(Lock(mutex.get(), context, name));
      held->in_private.emplace(std::move(mutex));
    }
    absl::StatusOr<win32::UniqueHandle> mutex = Open(kGlobal, name);
    if (!mutex.ok()) {
      if (private_prefix_.empty()) return mutex.status();
      return held;
    }
    ABSL_RETURN_IF_ERROR(Lock(mutex->get(), context, name));
    held->in_global.emplace(*std::move(mutex));
    return held;
  }

 private:
  // Returns FAILED_PRECONDITION if another account owns the mutex.
  absl::StatusOr<win32::UniqueHandle> Open(absl::string_view prefix, absl::string_view name) {
    SECURITY_ATTRIBUTES attributes{.nLength = sizeof(SECURITY_ATTRIBUTES),
                                   .lpSecurityDescriptor = security_.get(),
                                   .bInheritHandle = FALSE};
    win32::UniqueHandle mutex(CreateMutexExW(
        &attributes, win32::Utf16(absl::StrCat(prefix, ProcessLockName(name))).c_str(), 0,
        SYNCHRONIZE | MUTEX_MODIFY_STATE | READ_CONTROL));
    if (!mutex.valid()) return win32::LastError(absl::StrCat("opening the lock of ", name));
    ABSL_RETURN_IF_ERROR(CheckOwner(mutex.get(), name));
    return mutex;
  }

  const win32::UniqueLocal security_;
  const std::string private_prefix_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessLocks>> NewNamedMutexes(std::string private_prefix) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(kOwnersOnly, SDDL_REVISION_1,
                                                            &descriptor, nullptr)) {
    return win32::LastError("creating the security descriptor of locks");
  }
  return std::make_unique<NamedMutexes>(win32::UniqueLocal(descriptor), std::move(private_prefix));
}

absl::StatusOr<std::unique_ptr<ProcessLocks>> NewProcessLocks(const std::string&,
                                                              const LineFunction& warn) {
  const absl::Status entered = EnterAdministratorsNamespace();
  if (entered.ok()) return NewNamedMutexes(kAdministratorsNamespace);
  RecordFallback(Fallback::kNoPrivateNamespace, entered.message());
  // Wine has no private namespace, and needs no protection from other users.
  if (!absl::IsUnimplemented(entered) && warn) {
    warn(absl::StrCat("other users of this node can block the locks of this process: ",
                      entered.message()));
  }
  return NewNamedMutexes("");
}

}  // namespace csi_proxy
