#!/usr/bin/env bash
# Stands for the programs of a node, by the name that it is called by: the real ones of $BUILD, over the simulated node of $SCENARIO, and
# Windows' own. $DRIVE is the folder that is the drive C:. Service control is the file service.pid there.
set -eu
export CSI_PROXY_SOCKET_DIR=$DRIVE/pipes
on_drive() { local path=${1//\\//}; echo "$DRIVE${path#C:}"; }
words=()
for word in "$@"; do
  case $word in --*-file=C:* | --from=C:* | --to=C:* | -log_file=C:*) word=${word%%=*}=$(on_drive "${word#*=}") ;; esac
  words+=("$word")
done
case "${0##*/} ${1-}" in
  csi-proxyctl.exe*) exec "$BUILD/client/ctl/csi-proxyctl" "${words[@]}" ;;
  "csi-proxy.exe --version") exec "$BUILD/server/csi-proxy" --version ;;
  csi-proxy.exe*)
    # The drive C: of the simulated node begins with the files that are there.
    (cd "$DRIVE" && find var Windows/Temp -mindepth 1 -type d -printf 'file { path: "%p" }\n' -o -type f -printf 'file { path: "%p" kind: FILE size_bytes: 6 }\n') |
      sed 's|/|\\\\|g' | sed '/# the files of C:/r /dev/stdin' "$SCENARIO" >"$DRIVE/scenario.textproto"
    echo $$ >"$DRIVE/service.pid"
    exec "$BUILD/server/csi-proxy" --host=simulated --scenario="$DRIVE/scenario.textproto" --socket-dir="$CSI_PROXY_SOCKET_DIR" "${words[@]}" ;;
  "csi-proxy-service.exe install")
    [[ $2 == --name=* && $3 == --directory=* && $4 == -- ]]
    mkdir -p "$(on_drive "${3#*=}")/logs" && cp "${0%/*}"/*.exe "$(on_drive "${3#*=}")" && printf '%s\0' "${@:5}" >"$DRIVE/service" ;;
  "csi-proxy-service.exe start")
    rm -f "$CSI_PROXY_SOCKET_DIR"/* && mapfile -d '' -t flags <"$DRIVE/service"
    setsid "${0%/*}/csi-proxy.exe" "${flags[@]}" >"$DRIVE/service.out" 2>&1 </dev/null &
    for _ in {1..100}; do [[ ! -S $CSI_PROXY_SOCKET_DIR/csi-proxy-admin.sock ]] || exit 0; sleep 0.1; done
    exit 1 ;;
  "csi-proxy-service.exe uninstall") kill "$(<"$DRIVE/service.pid")" || true; rm -f "$DRIVE"/service{,.pid} "$(on_drive 'C:\Program Files\csi-proxy-node-check')"/*.exe ;;
  "diskpart.exe /s") [[ $(<"$(on_drive "$2")") =~ ^create\ vdisk\ file=\"(C:[^\"]*)\"\ maximum=([0-9]+)\ type=expandable ]] && echo $((BASH_REMATCH[2] * 1048576)) >"$(on_drive "${BASH_REMATCH[1]}")" ;;
  mountvol.exe*) "$BUILD/client/ctl/csi-proxyctl" sim dump-state --output=json |
    jq -er --arg path "${1#C:\\}" '.node.disk[].partition[]?.volume.file[]? | select(.path == $path and .mounted_volume_id != "") | .mounted_volume_id' || { echo "The file or directory is not a reparse point."; exit 1; } ;;
  icacls.exe* | hostile.exe*) ;;
  *) exit 1 ;;
esac
