// The owner of a kernel object, such as a pipe, and the rights of others to it. Judged without
// Windows, so that the judgement is tested everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/well_known_sids.h"

namespace csi_proxy::pipe {

// ACCESS_ALLOWED_ACE_TYPE and ACCESS_DENIED_ACE_TYPE of winnt.h.
inline constexpr uint8_t kAllow = 0;
inline constexpr uint8_t kDeny = 1;

// An entry of a DACL. Entries of types other than these two have no SID here, and no rights.
struct AccessEntry {
  uint8_t type = kAllow;
  uint8_t flags = 0;
  uint32_t rights = 0;
  std::string sid = {};
  bool operator==(const AccessEntry&) const = default;
};

struct ObjectSecurity {
  std::string owner = {};
  // Without a DACL anybody may do anything.
  bool has_dacl = false;
  std::vector<AccessEntry> dacl = {};
};

// Rights of a pipe, generic ones taken apart as Windows does when the pipe is made
// (https://learn.microsoft.com/windows/win32/fileio/file-security-and-access-rights).
uint32_t PipeRights(uint32_t rights);

// Rights that an open asks for, as Windows checks them against the DACL: FILE_CREATE_PIPE_INSTANCE
// is left out, because generic write contains it. So 0x12019b, all of generic read and write but
// this right, is enough for a client that opens with both, and makes no server. This is shown by
// https://github.com/dotnet/corefx/issues/28371, where .NET's client (GENERIC_READ | GENERIC_WRITE)
// connects to a pipe that grants PipeAccessRights.ReadWrite, and a second instance is refused; and
// by ReactOS (drivers/filesystems/npfs/create.c, NpCreateClientEnd: `DesiredAccess & ~4`); a node
// has yet to show it (doubt 42 of server/host/doubts.md).
uint32_t ClientRights(uint32_t rights);

// `sddl` for a server that runs as the user: the user owns the pipe, if the text names no owner,
// and may make further instances. Else Windows would choose the owner, for SYSTEM the
// administrators (https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object), as
// which a container's administrator can make pipes too.
std::string SddlForServer(absl::string_view sddl, bool names_owner, absl::string_view user);

// Tells whether SYSTEM or the administrators own it. Nobody else can have made it: to set an owner
// one is not takes a privilege that only they have.
bool OwnedByAdministrators(const ObjectSecurity& object);

// Tells whether both DACLs give the same rights to the same groups, in the same order.
bool SameDacl(const ObjectSecurity& a, const ObjectSecurity& b);

// Tells whether SYSTEM and the administrators alone may serve the pipe (make instances of it), and
// change who may.
bool OnlyAdministratorsServe(const ObjectSecurity& pipe);

// Windows: the owner and the DACL of the object behind a handle, which needs READ_CONTROL.
absl::StatusOr<ObjectSecurity> SecurityOf(void* handle);

// Windows: the DACL of a security descriptor, and its owner if it has one.
absl::StatusOr<ObjectSecurity> SecurityOfDescriptor(void* descriptor);

}  // namespace csi_proxy::pipe
