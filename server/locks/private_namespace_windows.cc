#include <windows.h>
// After windows.h.
#include <sddl.h>

#include "server/locks/private_namespace.h"
#include "server/platform/win32.h"

namespace csi_proxy {
namespace {

// Both the boundary and the DACL limit the accounts that may enter, because an account outside the
// boundary can open a namespace that has no DACL
// (https://learn.microsoft.com/windows/win32/sync/object-namespaces).
constexpr wchar_t kOwnersOnly[] = L"O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)";

// The name is the same in every process, because it identifies the namespace (same page).
constexpr wchar_t kName[] = L"csi-proxy";

// Returns a function of kernel32.dll, or null. Wine 8 lacks some of the functions used here.
template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernel32.dll"), name)));
}

struct Boundary {
  explicit Boundary(HANDLE boundary) : handle(boundary) {}
  ~Boundary() {
    if (handle != nullptr) DeleteBoundaryDescriptor(handle);
  }
  HANDLE handle;
};

absl::Status Enter() {
  auto* const create = Find<decltype(CreatePrivateNamespaceW)>("CreatePrivateNamespaceW");
  auto* const open = Find<decltype(OpenPrivateNamespaceW)>("OpenPrivateNamespaceW");
  auto* const add = Find<decltype(AddSIDToBoundaryDescriptor)>("AddSIDToBoundaryDescriptor");
  if (create == nullptr || open == nullptr || add == nullptr) {
    return absl::UnimplementedError("this Windows has no private namespaces");
  }
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(kOwnersOnly, SDDL_REVISION_1,
                                                            &descriptor, nullptr)) {
    return win32::LastError("the namespace of the locks");
  }
  const win32::UniqueLocal owned(descriptor);
  SECURITY_ATTRIBUTES attributes{.nLength = sizeof(SECURITY_ATTRIBUTES),
                                 .lpSecurityDescriptor = descriptor,
                                 .bInheritHandle = FALSE};
  alignas(SID) char administrators[SECURITY_MAX_SID_SIZE];
  DWORD size = sizeof(administrators);
  Boundary boundary(CreateBoundaryDescriptorW(kName, 0));
  if (boundary.handle == nullptr ||
      !CreateWellKnownSid(WinBuiltinAdministratorsSid, nullptr, administrators, &size) ||
      !add(&boundary.handle, administrators)) {
    return win32::LastError("the boundary of the namespace of the locks");
  }
  const auto with_error = [](HANDLE handle, uint32_t* error) {
    if (handle == nullptr) *error = GetLastError();
    return handle;
  };
  return EnterNamespace(
             {.create =
                  [&](uint32_t* error) {
                    return with_error(create(&attributes, boundary.handle, kName), error);
                  },
              .open =
                  [&](uint32_t* error) { return with_error(open(boundary.handle, kName), error); }})
      .status();
}

}  // namespace

absl::Status EnterAdministratorsNamespace() {
  static const absl::Status* const entered = new absl::Status(Enter());
  return *entered;
}

}  // namespace csi_proxy
