#include <windows.h>
// The headers below must follow windows.h.
#include <aclapi.h>
#include <winternl.h>

#include <utility>

#include "server/base/status_macros.h"
#include "server/pipe/pipe.h"
#include "server/platform/win32.h"

// Declared here, because winternl.h lacks it
// (https://learn.microsoft.com/windows/win32/devnotes/nt-create-named-pipe-file).
extern "C" NTSTATUS NTAPI NtCreateNamedPipeFile(HANDLE* instance, ULONG access,
                                                OBJECT_ATTRIBUTES* object, IO_STATUS_BLOCK* io,
                                                ULONG share, ULONG disposition, ULONG options,
                                                ULONG type, ULONG read_mode, ULONG completion_mode,
                                                ULONG max_instances, ULONG inbound_bytes,
                                                ULONG outbound_bytes, LARGE_INTEGER* timeout);

namespace csi_proxy::pipe {
namespace {

// The size of each direction's buffer. A usual call or answer fits, so that its writer need not
// wait for the reader.
constexpr DWORD kBufferBytes = 16 << 10;

// Makes an instance as CreateNamedPipeW does, but with WRITE_OWNER. CreateNamedPipeW reads the bit
// of WRITE_OWNER as FILE_FLAG_FIRST_PIPE_INSTANCE.
absl::StatusOr<void*> CreateInheriting(const std::string& path, void* descriptor) {
  std::wstring name = LR"(\??\)" + win32::Utf16(path).substr(4);
  UNICODE_STRING text;
  RtlInitUnicodeString(&text, name.c_str());
  OBJECT_ATTRIBUTES object;
  InitializeObjectAttributes(&object, &text, OBJ_CASE_INSENSITIVE, nullptr, descriptor);
  constexpr ULONG kRejectRemoteClients = 2, kUnlimited = 0xffffffff;
  LARGE_INTEGER timeout{.QuadPart = -500'000};  // 50 ms, the default.
  IO_STATUS_BLOCK io{};
  HANDLE instance = nullptr;
  const NTSTATUS status = NtCreateNamedPipeFile(
      &instance, GENERIC_READ | GENERIC_WRITE | SYNCHRONIZE | WRITE_DAC | WRITE_OWNER, &object, &io,
      FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_OPEN_IF, 0, kRejectRemoteClients, 0, 0, kUnlimited,
      kBufferBytes, kBufferBytes, &timeout);
  if (!NT_SUCCESS(status)) return win32::ToStatus(RtlNtStatusToDosError(status), path);
  return instance;
}

class WindowsPipeCalls final : public PipeCalls {
 public:
  WindowsPipeCalls(class Security security, ObjectSecurity ours)
      : security_(std::move(security)), ours_(std::move(ours)) {}

  absl::StatusOr<void*> Create(const std::string& path, Creation creation) override {
    SECURITY_ATTRIBUTES attributes = security_.attributes();
    if (creation == Creation::kInheriting) {
      return CreateInheriting(path, attributes.lpSecurityDescriptor);
    }
    const InstanceFlags call = FlagsOf(creation);
    win32::UniqueHandle instance(
        CreateNamedPipeW(win32::Utf16(path).c_str(), call.open_mode, call.pipe_mode,
                         call.max_instances, call.buffer_bytes, call.buffer_bytes, 0, &attributes));
    if (!instance.valid()) return win32::LastError(path);
    return instance.Release();
  }

  const ObjectSecurity& ours() const override { return ours_; }

  absl::StatusOr<uint32_t> Look(const std::string& path) override {
    const win32::UniqueHandle pipe(
        CreateFileW(win32::Utf16(path).c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr,
                    OPEN_EXISTING, SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, nullptr));
    if (!pipe.valid()) return win32::LastError(path);
    ULONG process_id = 0;
    return GetNamedPipeServerProcessId(pipe.get(), &process_id) ? process_id : 0;
  }

  absl::StatusOr<ObjectSecurity> Security(void* instance) override { return SecurityOf(instance); }

  absl::Status MakeOurs(void* instance) override {
    void* const descriptor = security_.attributes().lpSecurityDescriptor;
    BOOL present = FALSE, defaulted = FALSE;
    PSID owner = nullptr;
    ACL* dacl = nullptr;
    if (!GetSecurityDescriptorOwner(descriptor, &owner, &defaulted) ||
        !GetSecurityDescriptorDacl(descriptor, &present, &dacl, &defaulted)) {
      return win32::LastError("reading the security of pipes");
    }
    // The owner is replaced first, because the old owner could change the new DACL.
    const DWORD error = SetSecurityInfo(instance, SE_KERNEL_OBJECT, OWNER_SECURITY_INFORMATION,
                                        owner, nullptr, nullptr, nullptr);
    if (error != ERROR_SUCCESS) return win32::ToStatus(error, "changing the owner of a pipe");
    return win32::ToStatus(
        SetSecurityInfo(instance, SE_KERNEL_OBJECT,
                        DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION, nullptr,
                        nullptr, dacl, nullptr),
        "changing the access list of a pipe");
  }

  void Flush(void* instance) override { FlushFileBuffers(instance); }
  void Disconnect(void* instance) override { DisconnectNamedPipe(instance); }
  void Close(void* instance) override { CloseHandle(instance); }

 private:
  const class Security security_;
  const ObjectSecurity ours_;
};

}  // namespace

InstanceFlags FlagsOf(Creation creation) {
  DWORD open_mode = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED;
  if (creation == Creation::kFirst) open_mode |= FILE_FLAG_FIRST_PIPE_INSTANCE;
  return {
      .open_mode = open_mode,
      .pipe_mode = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
      .max_instances = PIPE_UNLIMITED_INSTANCES,
      .buffer_bytes = kBufferBytes,
  };
}

absl::StatusOr<std::shared_ptr<PipeCalls>> NewPipeCalls(Security security) {
  ABSL_ASSIGN_OR_RETURN(ObjectSecurity ours,
                        SecurityOfDescriptor(security.attributes().lpSecurityDescriptor));
  return std::make_shared<WindowsPipeCalls>(std::move(security), std::move(ours));
}

}  // namespace csi_proxy::pipe
