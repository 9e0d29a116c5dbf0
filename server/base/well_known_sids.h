// Whose SIDs are the same on every machine, as text
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers).
#pragma once

namespace csi_proxy {

inline constexpr char kSystemSid[] = "S-1-5-18";
inline constexpr char kAdministratorsSid[] = "S-1-5-32-544";
inline constexpr char kEveryoneSid[] = "S-1-1-0";

}  // namespace csi_proxy
