// The tables of refusals.h that refusals.cc does not define, and the advice that several rows
// share.
#pragma once

#include "absl/types/span.h"
#include "server/names/refusals.h"

namespace csi_proxy {

inline constexpr char kAdviceRights[] =
    "csi-proxy needs the rights of SYSTEM or an administrator there; an access list or a virus "
    "scanner can take them away";
inline constexpr char kAdviceMemory[] =
    "the node is short of memory: end programs or restart the node, then repeat the call";
inline constexpr char kAdviceDisk[] =
    "the disk or the path to it fails: look for its errors in the node's System log, and replace "
    "the disk if they continue";
inline constexpr char kAdviceGone[] =
    "csi-proxyctl storage list-disks shows whether the disk is there and online";
inline constexpr char kAdviceInUse[] =
    "a program on the node has it open: repeat the call, and end that program if the error stays";
inline constexpr char kAdviceSlow[] =
    "Windows has waited too long for a device or a server: repeat the call, and look for its "
    "errors in the node's System log if the error stays";
inline constexpr char kAdviceReport[] =
    "the request does not cause this: report it with the version of Windows and the node's System "
    "log";

inline constexpr char kAdviceNetwork[] =
    "repeat the call; if the error stays, check the network and the server's log";
inline constexpr char kAdviceServer[] =
    "check the server's name, and that the node resolves it and reaches its TCP port 445";
inline constexpr char kAdviceSecret[] = "correct the user or the password in the driver's secret";
inline constexpr char kAdviceDomain[] =
    "check that the node resolves and reaches a domain controller, or use a local account of the "
    "server";
inline constexpr char kAdviceWholeName[] =
    "name the user's domain, as DOMAIN\\user, or the server, as SERVER\\user, in the driver's "
    "secret";
inline constexpr char kAdviceStation[] =
    "the account may not sign in from this node: check its list of workstations, and whether the "
    "server accepts NTLM";
inline constexpr char kAdvicePrincipal[] =
    "the domain knows the server by another name: use that, or add this one with `setspn`";
inline constexpr char kAdviceClock[] =
    "set the node's clock with `w32tm /resync`, and compare the server's";
inline constexpr char kAdviceNtlm[] =
    "name the server as the domain knows it, so that Kerberos can be used, or allow NTLM";

absl::Span<const Refusal> HresultRefusals();
absl::Span<const Refusal> InitiatorRefusals();
absl::Span<const Refusal> SignInRefusals();
absl::Span<const Refusal> StorageRefusals();

}  // namespace csi_proxy
