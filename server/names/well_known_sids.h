// SIDs that are equal on every machine, as text
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers).
#pragma once

namespace csi_proxy {

inline constexpr char kSystemSid[] = "S-1-5-18";
inline constexpr char kAdministratorsSid[] = "S-1-5-32-544";
inline constexpr char kEveryoneSid[] = "S-1-1-0";
// The entries of a DACL for this SID replace the owner's implicit right to read and change the DACL
// (https://learn.microsoft.com/previous-versions/windows/it-pro/windows-vista/cc749445(v=ws.10)).
inline constexpr char kOwnerRightsSid[] = "S-1-3-4";

}  // namespace csi_proxy
