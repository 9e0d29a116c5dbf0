#include <windows.h>
// The header below must follow windows.h.
#include <aclapi.h>

#include "server/pipe/object_security.h"
#include "server/platform/token_windows.h"
#include "server/platform/win32.h"

namespace csi_proxy::pipe {
absl::StatusOr<ObjectSecurity> SecurityOfDescriptor(void* descriptor) {
  ObjectSecurity security;
  BOOL present = FALSE, defaulted = FALSE;
  PSID owner = nullptr;
  ACL* dacl = nullptr;
  if (!GetSecurityDescriptorOwner(descriptor, &owner, &defaulted) ||
      !GetSecurityDescriptorDacl(descriptor, &present, &dacl, &defaulted)) {
    return win32::LastError("reading a security descriptor");
  }
  security.owner = win32::SidText(owner);
  security.has_dacl = present && dacl != nullptr;
  for (DWORD i = 0; security.has_dacl && i < dacl->AceCount; ++i) {
    void* ace = nullptr;
    if (!GetAce(dacl, i, &ace)) return win32::LastError("reading an access control list");
    const auto* const header = static_cast<const ACE_HEADER*>(ace);
    AccessEntry entry{.type = header->AceType, .flags = header->AceFlags};
    if (header->AceType == ACCESS_ALLOWED_ACE_TYPE || header->AceType == ACCESS_DENIED_ACE_TYPE) {
      // Both types have this form.
      auto* const known = static_cast<ACCESS_ALLOWED_ACE*>(ace);
      entry.rights = known->Mask;
      entry.sid = win32::SidText(&known->SidStart);
    }
    security.dacl.push_back(std::move(entry));
  }
  return security;
}

absl::StatusOr<ObjectSecurity> SecurityOf(void* handle) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  const DWORD error = GetSecurityInfo(handle, SE_KERNEL_OBJECT,
                                      OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                                      nullptr, nullptr, nullptr, nullptr, &descriptor);
  if (error != ERROR_SUCCESS) return win32::ToStatus(error, "reading the security of an object");
  const win32::UniqueLocal owned(descriptor);
  return SecurityOfDescriptor(descriptor);
}

}  // namespace csi_proxy::pipe
