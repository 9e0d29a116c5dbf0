// The table of findings: what `diagnose` finds, its advice, and the calls of `repair`. No row may
// advise or do what destroys data in any situation in which its finding is made.
#pragma once

#include <cstddef>
#include <string_view>

namespace csi_proxy::ctl::diagnose {

inline constexpr char kDanglingMounts[] = "dangling-mounts";
inline constexpr char kDanglingLinks[] = "dangling-links";
inline constexpr char kDisconnectedMappings[] = "disconnected-mappings";
inline constexpr char kLeakedMappings[] = "leaked-mappings";
inline constexpr char kDisconnectedLinks[] = "disconnected-links";
// The kinds of findings, in the order of repair: a disk that becomes writable may mend a mount.
inline constexpr const char* kKinds[] = {
    "long-calls",        "limited-clients",     "low-limits",    "offline-disks",
    "read-only-disks",   "colliding-disks",     "duplicate-ids", "foreign-disks",
    "unhealthy-volumes", "full-volumes",        kDanglingMounts, kDanglingLinks,
    "filled-folders",    kDisconnectedMappings, kLeakedMappings, kDisconnectedLinks,
    "links-outside",     "stopped-initiator",   "old-clients",   "stopped-storage-service"};

struct FindingFacts {
  // The row's id in reports.
  const char* name;
  // Empty if the row's advice only replaces the advice of other rows.
  const char* kind;
  // In `why` and `advice`, `$0`, `$1` ... stand for what the look has found.
  const char* why;
  // The action of the repair, or `none: ` and advice for a person.
  const char* advice;
  // The method of the group storage that repairs the fault; null if there is none.
  const char* repair = nullptr;
  // True if the finding is a note: no fault, and without effect on the exit code.
  bool is_note = false;
};

inline constexpr FindingFacts kFindingTable[] = {
    // This page tells which process hosts a class of WMI:
    // learn.microsoft.com/previous-versions/windows/desktop/wmisystemprov/msft-providers
    {"long-call", "long-calls", "has run for $0 s; calls for the same object wait",
     "none: the service's log names the object; mend the disk or server that it waits for. For "
     "WMI: 1. `Get-CimInstance Msft_Providers | Select-Object Namespace, HostProcessIdentifier` "
     "names the WmiPrvSE.exe of Storage or SMB: end it while no volume is formatted or grown; if "
     "that hangs too, `Restart-Service Winmgmt -Force`. 2. Restart the service csi-proxy, which "
     "ends the call. 3. Drain the node and restart it"},
    {"limited-client", "limited-clients", "$0 times since the service began$1; refused calls: $2",
     "none: stop or mend its processes, which the service's log names (`has used its share`), or "
     "what starts them: `Get-CimInstance Win32_Process -Filter 'ProcessId=PID'` has "
     "ParentProcessId"},
    {"low-limit", "low-limits", "the default is $0",
     "none: remove the flag from the service's command line and restart the service"},
    {"offline-by-policy", "offline-disks",
     "Windows says: Policy: a driver or a person took it offline, or it has just arrived",
     "none: no fault. Drivers leave a disk offline when they have unstaged it. Leave it, because "
     "the cloud may be about to detach it; a driver that stages it brings it online",
     nullptr, /*is_note=*/true},
    {"offline-disk", "offline-disks", "$0",
     "none: check its storage, and leave it offline: a driver that stages it brings it online"},
    {"second-path", "offline-disks",
     "offline as a second path to a LUN, or a copy of another disk; $0",
     "none: if both are online, two writers destroy the file system. Detach a copy. For a path, "
     "let MPIO claim the disks (install Multipath-IO, `Enable-MSDSMAutomaticClaim -BusType "
     "iSCSI`, or SAS) and restart the node, or end the further sessions"},
    {"read-only-disk", "read-only-disks", "its read-only flag in Windows is set",
     "clears the flag; leave it where a driver set it for a read-only volume. A disk that its "
     "storage exports as read-only stays read-only",
     "SetDiskReadOnly"},
    {"twin-disk", "", "",
     "none: another disk has its id, and two writers destroy the file system: see duplicate-ids"},
    {"windows-disk", "", "",
     "none: Windows runs on it or starts from it: only an administrator of the node may change it"},
    {"colliding-disk", "colliding-disks",
     "offline because another disk has the same signature or id: a clone or a snapshot",
     "none: find out which of the two disks is the copy, and format neither. If it is disk $0, "
     "detach it, or give it a new id (diskpart: uniqueid disk) and then bring it online; do not "
     "detach the disk that is online: csi-proxyctl disk set-disk-state --disk-number=$0 "
     "--is-online"},
    {"duplicate-id", "duplicate-ids", "drivers find disks by this identifier",
     "none: give each LUN an identifier of its own where it is exported; if they are paths to "
     "one LUN, let MPIO claim it. Until then bring none of them online"},
    {"foreign-disk", "foreign-disks", "it holds $0",
     "none: often it is a Linux volume. Do not format or clean it; ask the owner of the data, "
     "and take a snapshot first. Find the disk by its ids, because its number can change"},
    {"unhealthy-volume", "unhealthy-volumes", "mounted at $0",
     "none: check the file system (Repair-Volume) when no pod uses it, after a snapshot, or "
     "replace the disk; do not format it"},
    {"full-volume", "full-volumes", "only $0 of $1 are left: writes fail or soon will",
     "none: enlarge the claim, and the driver grows the volume; or let the owner of the data "
     "remove what is not needed. Do not format it or stage another in its place"},
    {"dangling-mount", kDanglingMounts, "the volume is gone: its disk was detached or is offline",
     "removes only the mounted folder, which holds nothing; where a pod needs the volume, attach "
     "its disk again instead; if the disk is only offline, csi-proxyctl storage stage-volume with "
     "its page 83 mends the mount",
     "RemoveMount"},
    {"dangling-mount-in-use", kDanglingMounts,
     "the volume is gone: its disk was detached or is offline; a pod may use the mount",
     "none: attach its disk again (if the disk is offline, see offline-disks), or delete the pods "
     "that use it; the kubelet stages the volume again only after the last is gone"},
    {"dangling-link", kDanglingLinks, "its target does not exist", "removes only the link",
     "RemoveMount"},
    {"link-to-mount", kDanglingLinks,
     "it leads to a mount whose volume is gone, or lacks the folder",
     "none: attach the disk of the mount again, or delete the pod, and the kubelet removes the "
     "link"},
    {"pods-link", "", "",
     "none: a pod can write to the directory, so the link may be its own; it goes with the pod"},
    {"kubelets-entry", "", "",
     "none: it moves the kubelet's data to another disk, and without it all pods of the node lose "
     "their volumes. Never remove it; attach the disk again, or bring it online"},
    {"filled-folder", "filled-folders",
     "nothing is mounted at this staging folder: its files are on the node's own disk",
     "none: stop the pods that use it, move the files aside on the node, let the driver stage "
     "the volume, and compare; never delete them (rmdir --force, rmdir-contents)"},
    {"broken-mapping", kDisconnectedMappings, "$0",
     "removes the mapping; a driver makes it again when it needs it", "UnstageShare"},
    {"broken-mapping-in-use", kDisconnectedMappings, "$0",
     "none: it may work again when the server does; a driver that stages the volume again makes "
     "it again"},
    {"leaked-mapping", kLeakedMappings,
     "no link uses it: the driver that made it did not remove it",
     "removes the mapping if still no link uses it. Before that, look for links outside of the "
     "working directories and for programs that open the share by its name: repair sees neither, "
     "and they lose access",
     "UnstageShare"},
    {"folder-mapping", "", "",
     "none: csi-proxy can remove only mappings of shares, not of folders; remove it on the node "
     "with Remove-SmbGlobalMapping"},
    {"link-to-link", kDisconnectedLinks, "it leads to a link whose share has no mapping",
     "none: repair the link $0; if that is gone, a new pod gets a new link"},
    {"link-without-mapping", kDisconnectedLinks, "the node has no working mapping of the share",
     "none: $0"},
    {"link-of-broken-mapping", kDisconnectedLinks, "Windows shows the share's mapping as $0",
     "none: it works again when the server answers; if the password has changed, $1"},
    {"link-of-refused-share", kDisconnectedLinks,
     "the node has no mapping of the share; the last attempt, $0 s ago, failed: $1",
     "none: mend the cause of that first. The kubelet stages the volume again only after the "
     "last pod that uses it is gone, even if the link is removed"},
    {"link-to-old-server", kDisconnectedLinks,
     "the node has no mapping of the share; the last stage at this path asked for $0",
     "none: do not map the link's share by hand, because pods would get the old server. Delete "
     "the pods that use the volume; after the last the kubelet stages it from $0"},
    {"staging-link", kDisconnectedLinks, "the node has no mapping of the share",
     "removes only the link, so that the driver stages the volume again when a pod needs it; or "
     "$0",
     "RemoveMount"},
    {"staging-link-in-use", kDisconnectedLinks, "the node has no mapping of the share",
     "none: links of pods lead to it, and the kubelet stages the volume again only after the "
     "last pod that uses it is gone. Delete these pods, or $0"},
    {"published-link", kDisconnectedLinks, "the node has no mapping of the share",
     "none: $0, or remove the link: $1"},
    {"link-denied", kDisconnectedLinks,
     "Windows shows the share's mapping as OK, but the server denies access, lacks the folder, "
     "or does not answer",
     "none: check the folder and its permissions on the server; if they are right, $0"},
    {"link-outside", "links-outside", "it leads out of the working directories: no call follows it",
     "none: no fault if no driver uses it. If one does, add its target to the service's flags as "
     "--working-dir, beside --kubelet-path; remove neither the link nor what is behind it",
     nullptr, /*is_note=*/true},
    {"stopped-initiator", "stopped-initiator", "the service MSiSCSI is $0, and $1",
     "none: first `Set-Service -Name MSiSCSI -StartupType Automatic`, so that it is not disabled "
     "and runs after a restart of the node; then csi-proxyctl system start-service --name=MSiSCSI"},
    {"stopped-storage-service", "stopped-storage-service", "it is disabled: WMI shows no disk",
     "none: first `Set-Service -Name smphost -StartupType Manual`; then csi-proxyctl system "
     "start-service --name=smphost. Mounts need no WMI: leave running pods alone"},
    {"old-client", "old-clients", "$0 since the service began$1",
     "none: update the driver to one that calls $2; the count starts again when the service "
     "restarts"},
};

// A row, found by its name at compile time. An unknown name does not compile.
struct FindingId {
  consteval FindingId(const char* name) : row(0) {
    while (std::string_view(kFindingTable[row].name) != name) ++row;
  }
  const FindingFacts* operator->() const { return &kFindingTable[row]; }
  size_t row;
};

}  // namespace csi_proxy::ctl::diagnose
