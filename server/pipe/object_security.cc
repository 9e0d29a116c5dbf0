#include "server/pipe/object_security.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace csi_proxy::pipe {
namespace {

// Values of winnt.h.
constexpr uint32_t kGenericAll = 0x10000000, kGenericExecute = 0x20000000,
                   kGenericWrite = 0x40000000, kGenericRead = 0x80000000;
constexpr uint32_t kFileAllAccess = 0x1f01ff, kFileGenericRead = 0x120089,
                   kFileGenericWrite = 0x120116, kFileGenericExecute = 0x1200a0;
constexpr uint32_t kCreatePipeInstance = 0x4, kWriteDac = 0x40000, kWriteOwner = 0x80000;

bool IsAdministrators(const std::string& sid) {
  return sid == kSystemSid || sid == kAdministratorsSid;
}

bool SameEntry(const AccessEntry& a, const AccessEntry& b) {
  return a.type == b.type && a.flags == b.flags && a.sid == b.sid &&
         PipeRights(a.rights) == PipeRights(b.rights);
}

}  // namespace

uint32_t PipeRights(uint32_t rights) {
  uint32_t mapped = rights & ~(kGenericAll | kGenericExecute | kGenericWrite | kGenericRead);
  if (rights & kGenericAll) mapped |= kFileAllAccess;
  if (rights & kGenericExecute) mapped |= kFileGenericExecute;
  if (rights & kGenericWrite) mapped |= kFileGenericWrite;
  if (rights & kGenericRead) mapped |= kFileGenericRead;
  return mapped;
}

uint32_t ClientRights(uint32_t rights) {
  // CreateFile adds SYNCHRONIZE and FILE_READ_ATTRIBUTES.
  return (PipeRights(rights) | 0x100080) & ~kCreatePipeInstance;
}

std::string SddlForServer(absl::string_view sddl, bool names_owner, absl::string_view user) {
  std::string text(sddl);
  if (user != kSystemSid) {
    // The first `D:` begins the DACL. An alias before it may end with D, as in G:DDD:P, but has no
    // colon.
    const size_t dacl = text.find("D:");
    const size_t entries = dacl == text.npos ? text.npos : text.find('(', dacl);
    text.insert(std::min(entries, text.size()), absl::StrCat("(A;;GA;;;", user, ")"));
  }
  return names_owner ? text : absl::StrCat("O:", user, text);
}

bool OwnedByAdministrators(const ObjectSecurity& object) { return IsAdministrators(object.owner); }

bool SameDacl(const ObjectSecurity& a, const ObjectSecurity& b) {
  return a.has_dacl && b.has_dacl &&
         std::equal(a.dacl.begin(), a.dacl.end(), b.dacl.begin(), b.dacl.end(), SameEntry);
}

bool OnlyAdministratorsServe(const ObjectSecurity& pipe) {
  return pipe.has_dacl &&
         std::all_of(pipe.dacl.begin(), pipe.dacl.end(), [](const AccessEntry& entry) {
           if (entry.type == kDeny || IsAdministrators(entry.sid)) return true;
           constexpr uint32_t kServing = kCreatePipeInstance | kWriteDac | kWriteOwner;
           return entry.type == kAllow && (PipeRights(entry.rights) & kServing) == 0;
         });
}

}  // namespace csi_proxy::pipe
