#!/usr/bin/env bash
# Goes from a fresh machine to a volume mounted in a pod and back, on a simulated Windows node: installs, builds,
# serves, and makes the calls of a CSI node plugin. Exits with 0 only if the node's own state shows that every step
# worked.
set -euo pipefail
cd "$(dirname "$0")/.."

# Not optimised, which takes a third of the time to build; the preset `release` optimises.
build=build/quick
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
die() { printf '\033[31mFAILED: %s\033[0m\n' "$*" >&2; exit 1; }

scripts/install-packages.sh
# A folder that was configured at another path, for example in a container, is configured again.
if ! [[ -f $build/build.ninja ]] || ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" $build/CMakeCache.txt; then
  cmake --preset quick --fresh >/dev/null
fi
if ! ninja -C $build csi-proxy csi-proxyctl >$build/quickstart.log 2>&1; then
  tail -30 $build/quickstart.log >&2
  die "the build"
fi

sockets=$(mktemp -d /tmp/csi-proxy-quickstart-XXXXXX)
export CSI_PROXY_SOCKET_DIR=$sockets
$build/server/csi-proxy --host=simulated --socket-dir="$sockets" 2>"$sockets.log" &
server=$!
finish() {
  local code=$?
  kill $server 2>/dev/null || true
  wait $server 2>/dev/null || true
  rm -rf "$sockets" "$sockets.log"
  exit $code
}
trap finish EXIT
for _ in $(seq 200); do [[ -S $sockets/csi-proxy-volume-v1.sock ]] && break; sleep 0.05; done

# Calls an rpc, prints the call, and stores the answer in $answer.
call() {
  local argument line=""
  for argument in "$@"; do
    case $argument in
      --password=*) argument="--password=..." ;;
      *[\\\ \{]*) argument="${argument%%=*}='${argument#*=}'" ;;
    esac
    line+=" $argument"
  done
  printf '  $ csi-proxyctl%s\n' "$line"
  answer=$($build/client/ctl/csi-proxyctl "$@" --output=json) || die "csi-proxyctl $1 $2"
}
# Checks the answer, or after `state` the node's own state, by a jq expression.
expect() {
  local from=$answer
  if [[ $1 == state ]]; then
    shift
    from=$($build/client/ctl/csi-proxyctl sim DumpState --output=json)
  fi
  jq -e "$1" >/dev/null <<<"$from" || die "expected $1"
}

kubelet='C:\var\lib\kubelet'
stage="$kubelet\\plugins\\kubernetes.io\\csi\\staging\\pvc-1"
pod="$kubelet\\pods\\3f1c9a52-7c1e-4b0c-8d57-2a90f5d6e0b1\\volumes\\kubernetes.io~csi\\pvc-1"

say "The node looks for disks the cloud has just attached, and finds four with a place on the bus."
call disk rescan
call disk list-disk-ids
expect '.diskIDs["2"].serial_number == "vol0a1b2c3d4e5f60789"'
call disk list-disk-locations
expect '.disk_locations | length == 4'

say "Disk 1 is raw. It becomes GPT with one partition, and its volume arrives before the call returns."
call disk partition-disk --disk-number=1
call volume list-volumes-on-disk --disk-number=1
volume=$(jq -r '.volume_ids[0]' <<<"$answer")
expect state '.node.disk[1] | .style == "GPT" and (.partition | length == 2)'
echo "  -> $volume"

say "The volume is formatted as NTFS and mounted at the staging path."
call volume is-volume-formatted --volume-id="$volume"
expect '.formatted == false'
call volume format-volume --volume-id="$volume"
call filesystem mkdir --path="$stage"
call volume mount-volume --volume-id="$volume" --target-path="$stage"
expect state "[.node.disk[0].partition[2].volume.file[] | select(.mounted_volume_id != \"\")] | length == 1"
call volume get-volume-id-from-target-path --target-path="$stage"
expect ".volume_id == $(jq -Rn --arg v "$volume" '$v')"

say "The pod gets it through a link in its own directory."
call filesystem create-symlink --source-path="$stage" --target-path="$pod"
call filesystem is-symlink --path="$pod"
expect '.is_symlink == true'

say "How full is it? And once the cloud has grown the disk to 12 GiB, how large can it be?"
call volume get-volume-stats --volume-id="$volume"
before=$(jq -r '.total_bytes' <<<"$answer")
expect '(.used_bytes | tonumber) < (.total_bytes | tonumber)'
call sim grow-disk --disk-number=1 --size-bytes=12884901888
call disk rescan
call volume resize-volume --volume-id="$volume" --size-bytes=0
call volume get-volume-stats --volume-id="$volume"
expect "(.total_bytes | tonumber) > $before"

say "The pod has gone: what it wrote is flushed, link, mount and directory go, the disk goes offline."
call volume write-volume-cache --volume-id="$volume"
call filesystem rmdir --path="$pod"
call volume unmount-volume --volume-id="$volume" --target-path="$stage"
call filesystem rmdir --path="$stage"
call filesystem path-exists --path="$stage"
expect '.exists == false'
call volume get-disk-number-from-volume-id --volume-id="$volume"
expect '.disk_number == 1'
call disk set-disk-state --disk-number=1 --is-online=false
call disk get-disk-state --disk-number=1
expect '.is_online == false'

say "A file share: mapped for the whole node with credentials, and linked for a pod."
share='\\fileserver.example\data'
call smb new-smb-global-mapping --remote-path="$share" --local-path="$kubelet\\plugins\\smb" \
  --username='EXAMPLE\storage' --password='correct horse'
expect state '.node.smb_mapping[0].remote_path == "\\\\fileserver.example\\data"'
call filesystem is-symlink --path="$kubelet\\plugins\\smb"
expect '.is_symlink == true'

say "An iSCSI target: found behind its portal, connected, and here are its disks."
portal=(--target-portal.target-address=10.0.0.5)
iqn=iqn.2026-01.example.storage:open
call iscsi add-target-portal "${portal[@]}"
call iscsi discover-target-portal "${portal[@]}"
expect ".iqns | index(\"$iqn\") != null"
call iscsi connect-target "${portal[@]}" --iqn=$iqn
call iscsi get-target-disks "${portal[@]}" --iqn=$iqn
expect '.diskIDs == ["10", "11"]'

say "A Windows service: stopped, started, and seen running."
call system stop-service --name=MSiSCSI
call system get-service --name=MSiSCSI
expect '.status == "STOPPED"'
call system start-service --name=MSiSCSI
call system get-service --name=MSiSCSI
expect '.status == "RUNNING"'

say "The node is now in this state:"
$build/client/ctl/csi-proxyctl sim DumpState --output=json | jq -r '
  .node | (.disk[] | "  disk \(.number): \(.size_bytes | tonumber / 1073741824 * 10 | floor / 10) GiB, \(.style), \(if .offline then "offline" else "online" end), \(.partition | length) partitions"),
  (.smb_mapping[] | "  share \(.remote_path) mapped for \(.username)"),
  (.iscsi_portal[].target[] | select(.connected) | "  target \(.iqn) connected, disks \([.disk[].number] | map(tostring) | join(", "))"),
  (.service[] | "  service \(.name): \(.state)")'

kill -TERM $server
wait $server || die "the server did not stop cleanly"
say "Done: every step did what it should, and the service has stopped cleanly."
