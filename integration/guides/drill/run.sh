#!/usr/bin/env bash
# A drill for the person on call: five incidents on a simulated node, whose causes the product's own
# texts name.
#
#   integration/guides/drill/run.sh            brings up each, checks that the product names its cause within 5 s, and
#                                              that what it advises ends the incident and destroys nothing
#   integration/guides/drill/run.sh N          the same for one
#   integration/guides/drill/run.sh N --stay   brings one up, shows its ticket, and serves until Ctrl-C
#   integration/guides/drill/run.sh N --cause  tells the cause: read it afterwards
set -euo pipefail
cd "$(dirname "$0")/../../.."
here=integration/guides/drill
ctl=build/release/client/ctl/csi-proxyctl
kubelet='C:\var\lib\kubelet'
staged="$kubelet\\plugins\\kubernetes.io\\csi\\driver\\pv\\globalmount"
old='\\?\Volume{da7a0000-0000-4000-8000-000000000001}\'
other='\\?\Volume{da7a0000-0000-4000-8000-000000000002}\'

# ctl GROUP METHOD...: calls the service. quoted TEXT: a text of a scenario.
ctl() { timeout 20 $ctl "$@"; }
quoted() { printf '"%s"' "${1//\\/\\\\}"; }
# node FILES [TEXT...]: prints a node that has these files on C:, and the parts of the other arguments.
node() {
  echo "volume_arrival_ms: 50
    disk { number: 0 size_bytes: 68719476736 page83: 'system' style: GPT
      partition { size_bytes: 60000000000 volume { file_system: 'NTFS' drive_letter: 'C'
        file { path: 'var\\\\lib\\\\kubelet\\\\pods' } $1 } } }" "${@:2}"
}
# disk NUMBER PAGE83 VOLUME-FIELDS [DISK-FIELDS]: prints a disk of 10 GiB with a volume that holds a file.
disk() {
  echo "disk { number: $1 size_bytes: 10737418240 page83: '$2' style: GPT ${4-} partition { size_bytes: 10000000000
    volume { file_system: 'NTFS' file { path: 'data\\\\$2.db' kind: FILE size_bytes: 1048576 } $3 } } }"
}
stage() { ctl storage stage-volume --disk.page83="$1" --target-path="${2:-$staged}"; }
has() { ctl storage get-path-stats --path="$1" >/dev/null; }

# Of each incident: the cause; the words that must name it, in one line; then node_N, which prints the node; up_N,
# the steps of an administrator; ask_N, the question or the call that failed; mend_N, which does what the words advise
# and fails if the incident is not over.
declare -A cause names
cause[1]="The restored disk has the signature of its original, so Windows keeps it offline (Collision). Both hold data.
Bring the copy online: Windows then gives it ids of its own. Do not format it, and do not touch the original."
names[1]='colliding-disks +disk 2 .*another disk has the same signature or id: a clone or a snapshot'
node_1() { cat server/simulator/scenarios/snapshot-clone.textproto; }
up_1() { :; }
ask_1() { ctl diagnose -o table; }
mend_1() {
  ctl disk set-disk-state --disk-number=2 --is-online=true
  stage 6000c29a91c5b03e7d4f2846e0d1935b
  has "$staged\\data.db"
  has "$kubelet\\plugins\\original\\data.db"
}

cause[2]="The volume is full to the last cluster. Grow the claim; the driver then grows the volume.
The only copy of today's data is on it: neither delete the claim nor format the volume."
names[2]='full-volumes +C:.*globalmount .*are left: writes fail'
node_2() { node '' "$(disk 1 orders '')"; }
up_2() {
  local left
  stage orders
  left=$(ctl storage get-path-stats --path="$staged" -o json | jq -r .available_bytes)
  ctl sim write-file --path="$staged\\today.log" --size-bytes=$((left - 4096))
}
ask_2() { ctl diagnose -o table; }
mend_2() {
  ctl sim grow-disk --disk-number=1 --size-bytes=21474836480
  ctl disk rescan
  stage orders
  ctl sim write-file --path="$staged\\tomorrow.log" --size-bytes=1048576
}

cause[3]="The new image disables the service smphost, which hosts the storage classes of WMI.
Enable it (Set-Service, then Start-Service). Mounts need no WMI: leave running pods and their volumes alone."
names[3]='WMI shows no disk; restart the node.s service smphost .enable it if disabled'
node_3() {
  node "file { path: $(quoted "${staged#C:\\}") mounted_volume_id: $(quoted "$old") }" "$(disk 1 running "id: $(quoted "$old")")" \
    "$(disk 2 new '')" "service { name: 'smphost' ${smphost:-start_type: DISABLED state: STOPPED} }"
}
up_3() { :; }
ask_3() { stage new "$staged-2"; }
mend_3() {
  { ctl system start-service --name=smphost 2>&1 || true; } | grep -F 'enable it on the node: `Set-Service'
  # The administrator has enabled the service.
  smphost='start_type: MANUAL state: STOPPED' serve 3
  ctl system start-service --name=smphost
  stage new "$staged-2"
}

cause[4]="The day shift moved the kubelet's plugins to D: and left a junction, which leads out of the working directories.
Allow D: to csi-proxy (--working-dir). The staged volumes are behind the junction: remove nothing."
names[4]='the link C:.*plugins leads to D:.*moved, outside C:.*add --working-dir='
node_4() {
  node "file { path: 'var\\\\lib\\\\kubelet\\\\plugins' kind: JUNCTION target: 'D:\\\\moved' }" "$(disk 1 volume '')" \
    "$(disk 2 spare "drive_letter: 'D' file { path: 'moved\\\\another-driver\\\\state.json' kind: FILE size_bytes: 512 }")"
}
up_4() { :; }
ask_4() { stage volume; }
mend_4() {
  serve 4 --kubelet-path="$kubelet" --working-dir='D:\moved'
  stage volume
  has "$staged\\data\\volume.db"
}

cause[5]="The mount leads to the volume of a disk that is now another number and offline; disk 1 is another team's.
Remove the dead mount (repair) and stage by the id of the claim's volume, never by the number of the wiki."
names[5]='dangling-mounts +C:.*globalmount .*its disk was detached or is offline.*note: disk 2 .*6000c29-db-0'
node_5() {
  node "file { path: $(quoted "${staged#C:\\}") mounted_volume_id: $(quoted "$old") }" \
    "$(disk 1 6000c29-other "id: $(quoted "$other")")" "$(disk 2 6000c29-db-0 "id: $(quoted "$old")" 'offline: true')"
}
up_5() { :; }
ask_5() { ctl diagnose -o table; }
mend_5() {
  stage 6000c29-db-0
  has "$staged\\data\\6000c29-db-0.db"
}

# serve N [FLAG...]: starts the service on the node of an incident, instead of the one before.
server=
stop() {
  [[ -z $server ]] || { kill "$server" && wait "$server"; } 2>/dev/null || true
}
serve() {
  stop
  "node_$1" >"$out/node.textproto"
  # The service's log shows why it does not start.
  build/release/server/csi-proxy --host=simulated --scenario="$out/node.textproto" --socket-dir="$out" "${@:2}" 2>"$out/log" &
  server=$!
  for _ in $(seq 100); do
    [[ ! -S $out/csi-proxy-admin.sock ]] || ! ctl doctor >/dev/null 2>&1 || return 0
    sleep 0.05
  done
  cat "$out/log"
  return 1
}
# held: prints a line for each file of a disk or share that must stay, and for each mount or link that may lead somewhere.
held() {
  ctl sim dump-state -o json | jq -r '.node.disk[] | .page83 as $disk | .partition[].volume // empty | .file[] |
    select(.kind == "FILE") | "\($disk) \(.path) \(.size_bytes)"'
  ctl storage list-mounts -o json | jq -r '.mounts[] | select(.state == "ALIVE" or .state == "UNDETERMINED") | .path'
}
# stays: fails if something that was there before is missing.
stays() {
  local lost
  held | sort >"$out/after"
  lost=$(comm -23 "$out/before" "$out/after")
  [[ -z $lost ]] || { echo "destroyed: $lost"; return 1; }
}
# drill N: brings an incident up, asks, repairs all that diagnose offers to repair, and does what the words advise.
drill() {
  local begin words
  serve "$1"
  "up_$1"
  held | sort >"$out/before"
  begin=$(date +%s%N)
  words=$("ask_$1" 2>&1) || true
  echo "$words"
  (($(date +%s%N) - begin < 5000000000)) || { echo "this took more than 5 s"; return 1; }
  tr '\n' ' ' <<<"$words" | grep -Eq -- "${names[$1]}" || { echo "these words do not name the cause"; return 1; }
  ctl repair --yes --what="$(ctl repair --what=none 2>&1 | sed -n 's/.*There are: //p' | tr -d ' ')" || true
  stays
  "mend_$1"
  stays
}

# Kept short: the paths of sockets have at most 107 bytes.
out=$(mktemp -d /tmp/csi-proxy-drill-XXXXXX)
trap 'stop; rm -rf "$out"' EXIT
export CSI_PROXY_SOCKET_DIR=$out
if [[ ${2-} == --cause ]]; then
  echo "${cause[$1]}"
  exit
fi
ninja -C build/release csi-proxy csi-proxyctl >/dev/null
if [[ ${2-} == --stay ]]; then
  serve "$1" --metrics-bind-address=127.0.0.1:9464
  "up_$1" >/dev/null
  cat "$here/tickets/$1.md"
  printf '\nIn another terminal: export CSI_PROXY_SOCKET_DIR=%s; %s diagnose --metrics=127.0.0.1:9464\nThe log: %s/log\n' "$out" "$PWD/$ctl" "$out"
  wait "$server" || true
  exit
fi
logs=$out/logs
mkdir "$logs"
. integration/support/checks.sh
# Each incident has a server of its own, which ends with it.
one() {
  trap stop EXIT
  drill "$1"
}
for number in ${1:-1 2 3 4 5}; do check "incident $number" one "$number"; done
end_checks "the drill"
