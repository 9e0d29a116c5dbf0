// The errors of a connection to a server and of the sign-in there. Code and advice are the same for
// every operation. Numbers and words are from
// learn.microsoft.com/windows/win32/debug/system-error-codes and, from 2100 to 2999, from
// learn.microsoft.com/windows/win32/netmgmt/network-management-error-codes.
#include "server/names/refusal_rows.h"

namespace csi_proxy {
namespace {

using enum absl::StatusCode;

constexpr char kRoute[] =
    "the node has no route to the server: check its network and that of the server";
constexpr char kTooMany[] =
    "the server has as many connections as it accepts: end some at the server, or raise its limit";
constexpr char kExpiredAccount[] = "extend the account, or give the driver another one";
constexpr char kNewPassword[] = "set a new password, and put it in the driver's secret";
constexpr char kHours[] = "give the driver an account that may sign in at any hour";
constexpr char kGrant[] = "grant the account the right to access the server from the network";
constexpr char kMembership[] =
    "the server's or the node's membership in the domain is broken: "
    "run `Test-ComputerSecureChannel -Repair` on that machine";

constexpr Refusal kRows[] = {
    {51, kNotFound, "Windows cannot find the network path", kAdviceServer},
    {54, kUnavailable, "The network is busy", kAdviceNetwork},
    {58, kFailedPrecondition, "The specified server cannot perform the requested operation",
     "look in the server's log: it may not support the node's version of SMB, signing or "
     "encryption"},
    {70, kUnavailable, "The remote server has been paused or is in the process of being started",
     kAdviceNetwork},
    {71, kUnavailable, "No more connections can be made to this remote computer at this time",
     kTooMany},
    {86, kFailedPrecondition, "The specified network password is not correct", kAdviceSecret},
    {384, kFailedPrecondition, "The share requires the obsolete SMB1 protocol",
     "turn on SMB 2 or 3 at the server"},
    {1203, kNotFound, "The network path does not exist, or the network provider is not available",
     kAdviceServer},
    {1214, kFailedPrecondition, "The format of the specified network name is invalid",
     "correct the spelling of the server and of the share"},
    {1219, kFailedPrecondition, "Other connections to the server with other credentials exist",
     "use the credentials with which the node is connected to the server, or end that connection "
     "first: csi-proxyctl storage list-smb-mappings, or Get-SmbGlobalMapping and "
     "Get-SmbConnection on the node, show it"},
    {1220, kUnavailable, "There are already too many sessions established to that server",
     kTooMany},
    {1222, kUnavailable, "The network is not present or not started", kRoute},
    {1225, kNotFound, "The remote computer refused the network connection", kAdviceServer},
    {1232, kUnavailable, "The network location cannot be reached", kRoute},
    {1233, kUnavailable, "The network location cannot be reached", kRoute},
    {1234, kUnavailable, "No service is operating at the destination network endpoint",
     kAdviceServer},
    {1236, kUnavailable, "The network connection was aborted by the local system", kAdviceNetwork},
    {1239, kFailedPrecondition, "This time of day is not authorized for the account", kHours},
    {1240, kFailedPrecondition, "The account is not authorized to log in from this station",
     kAdviceStation},
    {1244, kFailedPrecondition, "The user has not been authenticated", kAdviceSecret},
    {1265, kUnavailable, "The system cannot contact a domain controller to authenticate",
     kAdviceDomain},
    {1272, kFailedPrecondition, "Security policies block unauthenticated guest access",
     "the server treats the user as a guest: give the driver a user that the server knows"},
    {1311, kUnavailable, "No logon servers are available to service the logon request",
     kAdviceDomain},
    {1312, kFailedPrecondition, "A specified logon session does not exist", kAdviceWholeName},
    {1317, kFailedPrecondition, "The specified account does not exist", kAdviceSecret},
    {1326, kFailedPrecondition, "The user name or password is incorrect", kAdviceSecret},
    {1327, kFailedPrecondition, "Account restrictions prevent the user from signing in",
     "set a password for the account, or let the policy allow its sign-in"},
    {1328, kFailedPrecondition,
     "Your account has time restrictions that keep you from signing in right now", kHours},
    {1329, kFailedPrecondition, "This user isn't allowed to sign in to this computer",
     kAdviceStation},
    {1330, kFailedPrecondition, "The password of this account has expired", kNewPassword},
    {1331, kFailedPrecondition, "This account is disabled", "enable the account"},
    {1351, kUnavailable, "Configuration information could not be read from the domain controller",
     kAdviceDomain},
    {1355, kUnavailable, "The specified domain either does not exist or could not be contacted",
     kAdviceDomain},
    {1380, kFailedPrecondition,
     "Logon failure: the user has not been granted the requested logon type at this computer",
     kGrant},
    {1385, kFailedPrecondition,
     "Logon failure: the user has not been granted the requested logon type at this computer",
     kGrant},
    {1396, kFailedPrecondition, "The target account name is incorrect", kAdvicePrincipal},
    {1397, kFailedPrecondition,
     "Mutual Authentication failed. The server's password is out of date at the domain controller",
     kMembership},
    {1398, kFailedPrecondition,
     "There is a time and/or date difference between the client and server", kAdviceClock},
    {1786, kFailedPrecondition, "The workstation does not have a trust secret", kMembership},
    {1787, kFailedPrecondition,
     "The security database on the server does not have a computer account for this workstation "
     "trust relationship",
     kMembership},
    {1788, kFailedPrecondition,
     "The trust relationship between the primary domain and the trusted domain failed",
     "repair the trust between the domains, or give the driver an account of the server's domain"},
    {1789, kFailedPrecondition,
     "The trust relationship between this workstation and the primary domain failed", kMembership},
    {1790, kUnavailable, "The network logon failed", kAdviceDomain},
    {1792, kFailedPrecondition, "The network logon service was not started",
     "start the service Netlogon on the node and on the domain controller"},
    {1793, kFailedPrecondition, "The user's account has expired", kExpiredAccount},
    {1907, kFailedPrecondition, "The user's password must be changed before signing in",
     kNewPassword},
    {1908, kUnavailable, "Could not find the domain controller for this domain", kAdviceDomain},
    {1909, kFailedPrecondition, "The account is locked out",
     "correct the password in the driver's secret, then unlock the account"},
    {1935, kFailedPrecondition,
     "The computer you are signing into is protected by an authentication firewall",
     "let the domain allow the account to authenticate to the server"},
    {1937, kFailedPrecondition,
     "Authentication failed because NTLM authentication has been disabled", kAdviceNtlm},
    // LanmanWorkstation sometimes needs a restart although it runs
    // (github.com/kubernetes-csi/csi-driver-smb/issues/844).
    {2138, kFailedPrecondition, "The Workstation service has not been started",
     "start the node's service LanmanWorkstation; if it runs, restart it, which ends the node's "
     "connections to all shares"},
    {2202, kFailedPrecondition, "The specified username is invalid",
     "correct the spelling of the user in the driver's secret"},
    {2221, kFailedPrecondition, "The user name could not be found", kAdviceSecret},
    {2239, kFailedPrecondition, "This user account has expired", kExpiredAccount},
    {2240, kFailedPrecondition, "The user is not allowed to log on from this workstation",
     kAdviceStation},
    {2241, kFailedPrecondition, "The user is not allowed to log on at this time", kHours},
    {2242, kFailedPrecondition, "The password of this user has expired", kNewPassword},
    {2453, kUnavailable, "Could not find the domain controller for this domain", kAdviceDomain},
    {2457, kFailedPrecondition,
     "This server's clock is not synchronized with the primary domain controller's clock",
     kAdviceClock},
    {8646, kFailedPrecondition, "The system is not authoritative for the specified account",
     "give the driver an account of the server or of its domain, not a Microsoft account"},
};

}  // namespace

absl::Span<const Refusal> SignInRefusals() { return kRows; }

}  // namespace csi_proxy
