// Checks the owner of a kernel object, such as a pipe, and the rights of other accounts. Works on
// plain data, so that the tests run on every system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/names/well_known_sids.h"

namespace csi_proxy::pipe {

// ACCESS_ALLOWED_ACE_TYPE and ACCESS_DENIED_ACE_TYPE of winnt.h.
inline constexpr uint8_t kAllow = 0;
inline constexpr uint8_t kDeny = 1;

// An entry of a DACL. Entries of types other than kAllow and kDeny have neither SID nor rights
// here.
struct AccessEntry {
  uint8_t type = kAllow;
  uint8_t flags = 0;
  uint32_t rights = 0;
  std::string sid = {};
  bool operator==(const AccessEntry&) const = default;
};

struct ObjectSecurity {
  std::string owner = {};
  // False if there is no DACL, or a null one. Then everyone may do everything.
  bool has_dacl = false;
  std::vector<AccessEntry> dacl = {};
};

// Returns `rights` with generic rights mapped to those of a pipe, as Windows maps them when the
// pipe is made (https://learn.microsoft.com/windows/win32/fileio/file-security-and-access-rights).
uint32_t PipeRights(uint32_t rights);

// Returns the rights that Windows checks against the DACL when a client opens a pipe.
// FILE_CREATE_PIPE_INSTANCE is not among them, although generic write contains it. So an account
// that has generic read and write without this right (0x12019b) can read and write the pipe, but
// cannot serve it. https://github.com/dotnet/corefx/issues/28371 shows this: .NET's client
// (GENERIC_READ | GENERIC_WRITE) connects to a pipe that grants PipeAccessRights.ReadWrite, and a
// second instance is refused. ReactOS removes the right, too (drivers/filesystems/npfs/create.c,
// NpCreateClientEnd: `DesiredAccess & ~4`). No node has shown it yet (doubt 42 of
// server/host/doubts.md).
uint32_t ClientRights(uint32_t rights);

// Returns `sddl` for a server that runs as `user`. Adds an entry that gives `user` all rights,
// unless `user` is SYSTEM. Makes `user` the owner, unless the text names an owner (`names_owner`).
// Without an owner in the text, Windows would make Administrators the owner of SYSTEM's pipes
// (https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object). That group does not
// identify the service, because it also owns the pipes of a container's administrator.
std::string SddlForServer(absl::string_view sddl, bool names_owner, absl::string_view user);

// Returns true if SYSTEM or Administrators owns the object. Then an administrator or backup
// operator made it, because by default only these have the privilege to set another owner.
bool OwnedByAdministrators(const ObjectSecurity& object);

// Returns true if both DACLs give the same rights to the same accounts in the same order. Returns
// false if either object has no DACL.
bool SameDacl(const ObjectSecurity& a, const ObjectSecurity& b);

// Returns true if the DACL lets only SYSTEM and Administrators serve, or change DACL or owner.
bool OnlyAdministratorsServe(const ObjectSecurity& pipe);

// Returns the owner and the DACL of the object behind a handle. REQUIRES: the handle has
// READ_CONTROL. Windows only.
absl::StatusOr<ObjectSecurity> SecurityOf(void* handle);

// Returns the DACL of a security descriptor, and its owner if it has one. Windows only.
absl::StatusOr<ObjectSecurity> SecurityOfDescriptor(void* descriptor);

}  // namespace csi_proxy::pipe
