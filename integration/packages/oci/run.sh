#!/usr/bin/env bash
# Tests the images: two builds are equal, other tools find the images valid, unpacking returns the original
# files, and the images contain the programs that the manifests run. The Linux image, in its own root, registers
# the sample driver and reports its health.
#
#   integration/packages/oci/run.sh               with substitutes for the Windows programs
#   integration/packages/oci/run.sh --windows     with the programs of build/windows; also reads the layers under
#                                                 Wine with the code that containerd uses on Windows
set -euo pipefail
cd "$(dirname "$0")/../../.."
scripts/install-packages.sh --oci
out=$PWD/build/oci
rm -rf "$out"
mkdir -p "$out/programs" "$out/again" "$out/logs"

service=(csi-proxy.exe csi-proxyctl.exe csi-proxy-service.exe)
sidecars=(csi-node-sidecars.exe csi-node-driver-registrar.exe csi-sidecars.exe livenessprobe.exe)
names=("${service[@]}" csi_proxy.dll "${sidecars[0]}")
for name in "${names[@]}"; do
  if [[ ${1-} == --windows ]]; then
    cp "$(find build/windows/{server,client,service_installer} -name "$name" -type f)" "$out/programs/"
  else
    # The substitutes are longer than a block of a tar, and differ from each other.
    seq 20000 | sed "s/^/$name /" >"$out/programs/$name"
  fi
done
# Stripped, as in a release (CPACK_STRIP_FILES).
strip -o "$out/csi-node-sidecars" build/release/client/sidecars/program/csi-node-sidecars

logs=$out/logs
. integration/support/checks.sh
fails() { ! "$@"; }
make() { scripts/release/oci_image.py --version 1.2.3 --license LICENSE --linux "$out/csi-node-sidecars" --source-date-epoch 1700000000 "$@"; }
image=csi-proxy-1.2.3-oci

# The second build uses copies with other times, another umask and another time zone.
cp -r "$out/programs" "$out/copies"
touch -d 2001-01-01 "$out/copies"/*
check "make" make --programs "$out/programs" --out "$out"
again() { (umask 077 && TZ=Asia/Tokyo make --programs "$out/copies" --out "$out/again"); }
check "make again" again
check "twice the same folder" diff -r "$out/$image" "$out/again/$image"
check "twice the same tar" cmp "$out/$image.tar" "$out/again/$image.tar"
missing() { rm "$out/copies/$1" && fails make --programs "$out/copies" --out "$out/again"; }
check "without the DLL" missing csi_proxy.dll
# A library outside a package's files must not be taken for Debian's.
libfmt=$(ldd "$out/csi-node-sidecars" | grep -o '/[^ ]*libfmt[^ ]*')
foreign() {
  mkdir -p "$out/foreign" && cp "$libfmt" "$out/foreign/"
  LD_LIBRARY_PATH=$out/foreign make --programs "$out/programs" --out "$out/again"
}
check "another's library" fails foreign

# skopeo takes one system's image from the index, as a node does. umoci unpacks it.
unpacked() {
  skopeo --override-os "$2" --override-arch amd64 copy "oci-archive:$out/$image.tar:$1" "oci:$out/of-$2:$1"
  umoci raw unpack --rootless --image "$out/of-$2:$1" "$out/rootfs-$1-$2"
}
check "the service" unpacked 1.2.3 windows
for system in linux windows; do check "the sidecars for $system" unpacked 1.2.3-sidecars "$system"; done

files=$out/rootfs-1.2.3-windows/Files
beside=$out/rootfs-1.2.3-sidecars-windows/Files
service_files() {
  local file
  for file in "${service[@]}" csi_proxy.dll; do cmp "$out/programs/$file" "$files/$file"; done
  cmp service_installer/windows/bootstrap/install.ps1 "$files/install.ps1"
  diff <(ls service_installer/windows/node-check) <(ls --ignore=doubts.md "$files/node-check")
  cmp server/host/doubts.md "$files/node-check/doubts.md"
}
check "the service's files" service_files
# One file with four names, so that it is downloaded and stored once.
sidecar_files() {
  local file
  for file in "${sidecars[@]}"; do cmp "$out/programs/${sidecars[0]}" "$beside/$file"; done
  [[ $(stat -c %h "$beside/${sidecars[0]}") -eq ${#sidecars[@]} && ! -e $beside/csi_proxy.dll ]]
}
check "the sidecars' files" sidecar_files
entry() { skopeo --override-os "$2" inspect --config "oci:$out/of-$2:$1" | jq -e --arg program "$3" '.config.Entrypoint == [$program]'; }
check "the service's entry point" entry 1.2.3 windows '%CONTAINER_SANDBOX_MOUNT_POINT%\csi-proxy.exe'
check "the sidecars' entry point" entry 1.2.3-sidecars windows '%CONTAINER_SANDBOX_MOUNT_POINT%\csi-node-sidecars.exe'
check "the entry point for Linux" entry 1.2.3-sidecars linux /csi-node-sidecars
# hivex reads hives as Windows does (https://libguestfs.org/hivex.3.html).
hives() {
  local hive
  for hive in DEFAULT SAM SECURITY SOFTWARE SYSTEM; do
    hivexml "$1/Windows/System32/config/$hive" | grep -F "<node name=\"$hive\" root=\"1\">"
  done
}
for root in "$files" "$beside"; do check "hives of ${root#"$out/"}" hives "$root"; done
# The programs that the manifests run from an image, and those that the page for ordinary pods copies.
run_by() { sed -n 's/.*%CONTAINER_SANDBOX_MOUNT_POINT%\\\([^\\ ,'"'"']*\).*/\1/p' "$@" | sort -u; }
for program in $(run_by scripts/deploy/{proxy,install}-daemonset.yaml scripts/deploy/node-check.yaml); do check "the manifests' $program" test -f "$files/$program"; done
for program in $(sed -n 's/^COPY --from=release \([^ ]*\) .*/\1/p' client/drivers/sidecars.md); do check "copied: $program" test -f "$beside/$program"; done

# The Linux image contains the program, the libraries that its loader needs, and no other executable.
linux=$out/rootfs-1.2.3-sidecars-linux
linux_files() {
  local file
  for file in "${sidecars[@]%.exe}"; do cmp "$out/csi-node-sidecars" "$linux/$file"; done
  for file in $(cd "$linux" && find lib lib64 -type f); do cmp "/$file" "$linux/$file"; done
  [[ $(cd "$linux" && echo *) == "csi-node-driver-registrar csi-node-sidecars csi-sidecars lib lib64 licenses livenessprobe usr var" ]]
  # Each package has its licence, and an entry for scanners.
  for file in "$linux"/var/lib/dpkg/status.d/*; do [[ -s $linux/usr/share/doc/${file##*/}/copyright ]] || return 1; done
  [[ -f $linux/var/lib/dpkg/status.d/libc6 ]]
}
check "Linux: the files" linux_files
# in_image PROGRAM FLAG...: runs a program in the image's root, as in a container. Under Docker, root may change
# the root but not create a namespace.
in_image() {
  if [[ $(id -u) -eq 0 ]]; then chroot "$linux" "$@"; else unshare --map-root-user --root="$linux" --wd=/ "$@"; fi
}
runs_alone() {
  local port
  port=$(python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
  mkdir -p "$linux"/{csi,registration}
  build/release/integration/sample/sample_driver --endpoint="unix://$linux/csi/csi.sock" --mode=embedded &
  trap 'kill %1 %2' EXIT
  in_image "$1" --csi-address=/csi/csi.sock --kubelet-registration-path=/var/lib/kubelet/plugins/x/csi.sock \
    --plugin-registration-path=/registration --http-endpoint="127.0.0.1:$port" &
  for _ in {1..100}; do
    if [[ -S $(echo "$linux"/registration/*) && $(curl -sf "http://127.0.0.1:$port/healthz") == ok ]]; then return; fi
    sleep 0.1
  done
  return 1
}
# Each name accepts only the flags of its own program.
check "Linux: livenessprobe probes" in_image /livenessprobe --probe-timeout=2s --help
check "Linux: livenessprobe does not register" fails in_image /livenessprobe --mode=registration --help
check "Linux: csi-node-driver-registrar registers" in_image /csi-node-driver-registrar --mode=registration --help
check "Linux: runs in its own root" runs_alone /csi-node-sidecars

if [[ ${1-} == --windows ]]; then
  . integration/support/go.sh
  (cd integration/packages/oci && CGO_ENABLED=0 GOOS=windows "$go" build -o "$out/" ./read_layer)
  # The layers among the blobs of both images.
  for layer in "$out"/of-windows/blobs/sha256/*; do
    ! gzip -t "$layer" 2>/dev/null || integration/wine/run "$out/read_layer.exe" "$layer" </dev/null
  done | tr -d '\r' >"$out/entries"
  # The access lists that Windows itself uses: full access for administrators and SYSTEM, read and execute for
  # users.
  file='O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)'
  folder='O:BAG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)'
  for name in "${names[@]}"; do
    check "Windows: $name" grep -qxF "file Files/$name $(stat -c %s "$out/programs/$name") 1700000000 $file" "$out/entries"
  done
  check "Windows: a link" grep -qxF "link Files/${sidecars[1]} Files/${sidecars[0]}" "$out/entries"
  takes() { integration/wine/run "$beside/$1" "$2" --help </dev/null; }
  check "Windows: livenessprobe.exe does not register" fails takes livenessprobe.exe --mode=registration
  check "Windows: csi-node-driver-registrar.exe registers" takes csi-node-driver-registrar.exe --mode=registration
  others() { ! grep -v '^link ' "$out/entries" | grep -vF -e " $file" -e " $folder"; }
  check "Windows: no other access list" others
fi
end_checks "images"
