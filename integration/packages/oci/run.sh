#!/usr/bin/env bash
# The images: two builds are equal, tools of others find the images valid, unpacking gives the files that
# went in, and the programs of the manifests are in them. The image for Linux registers the sample driver and
# answers for it, in its own root.
#
#   integration/packages/oci/run.sh               with stand-ins for the programs for Windows
#   integration/packages/oci/run.sh --windows     with those of build/windows; under Wine, the code with which
#                                        containerd unpacks on Windows reads the layers as well
set -euo pipefail
cd "$(dirname "$0")/../../.."
scripts/install-packages.sh --oci
out=$PWD/build/oci
rm -rf "$out"
mkdir -p "$out/programs" "$out/again"
. integration/support/go.sh
(cd integration/packages/oci && CGO_ENABLED=0 "$go" build -o "$out/" ./validate)

service=(csi-proxy.exe csi-proxyctl.exe csi-proxy-service.exe)
sidecars=(csi-node-sidecars.exe csi-node-driver-registrar.exe csi-sidecars.exe livenessprobe.exe)
names=("${service[@]}" csi_proxy.dll "${sidecars[0]}")
if [[ ${1-} == --windows ]]; then
  for name in "${names[@]}"; do
    built=$(find build/windows/{server,client,service_installer} -name "$name" -type f)
    cp "$built" "$out/programs/"
  done
else
  # Longer than a block of a tar, and unlike each other.
  for name in "${names[@]}"; do seq 20000 | sed "s/^/$name /" >"$out/programs/$name"; done
fi
echo "not for the image" >"$out/programs/notes.txt"
# As a release has it (CPACK_STRIP_FILES).
strip -o "$out/csi-node-sidecars" build/release/client/sidecars/program/csi-node-sidecars

logs=$out/logs
mkdir -p "$logs"
. integration/support/checks.sh
fails() { ! "$@"; }
make() { scripts/release/oci_image.py --version 1.2.3 --license LICENSE --linux "$out/csi-node-sidecars" "$@"; }
image=csi-proxy-1.2.3-oci

# The second time from other copies, with other times and another mask, elsewhere.
cp -r "$out/programs" "$out/copies"
touch -d 2001-01-01 "$out/copies"/*
check "make" make --programs "$out/programs" --out "$out" --source-date-epoch 1700000000
again() { (umask 077 && cd / && TZ=Asia/Tokyo "$OLDPWD/scripts/release/oci_image.py" --version 1.2.3 --license "$OLDPWD/LICENSE" \
  --linux "$out/csi-node-sidecars" --programs "$out/copies" --out "$out/again" --source-date-epoch 1700000000); }
check "make again" again
check "twice the same folder" diff -r "$out/$image" "$out/again/$image"
check "twice the same tar" cmp "$out/$image.tar" "$out/again/$image.tar"
check "another time" make --programs "$out/programs" --out "$out/again" --source-date-epoch 1700000001
check "is another image" fails cmp "$out/$image.tar" "$out/again/$image.tar"
same_tar() { mkdir -p "$out/untarred" && tar -C "$out/untarred" -xf "$out/$image.tar" && diff -r "$out/$image" "$out/untarred"; }
check "the tar has what the folder has" same_tar
missing() {
  mv "$out/copies/$1" "$out/elsewhere" && fails make --programs "$out/copies" --out "$out/again" --source-date-epoch 1 &&
    mv "$out/elsewhere" "$out/copies/$1"
}
for name in "${names[@]}"; do check "without $name" missing "$name"; done
# A library that is not a package's file is not taken for Debian's, nor a program that is none.
libfmt=$(ldd "$out/csi-node-sidecars" | grep -o '/[^ ]*libfmt[^ ]*')
foreign() {
  mkdir -p "$out/foreign"
  cp "$libfmt" "$out/foreign/"
  LD_LIBRARY_PATH=$out/foreign make --programs "$out/programs" --out "$out/again" --source-date-epoch 1
}
check "another's library" fails foreign
check "no program for Linux" fails make --programs "$out/programs" --linux "$out/programs/notes.txt" --out "$out/again" --source-date-epoch 1

# Google's library and Debian's skopeo and umoci; each must also notice a layer that was changed.
cp -r "$out/$image" "$out/spoilt"
layer=$(jq -r '.layers[-1].digest' "$out/$image/blobs/sha256/$(jq -r '.manifests[0].digest[7:]' "$out/$image/index.json")")
spoilt=$out/spoilt/blobs/sha256/${layer#sha256:}
printf '\x01' | dd of="$spoilt" bs=1 seek=1000 conv=notrunc status=none
check "go-containerregistry" "$out/validate" "$out/$image"
check "go-containerregistry notices" fails "$out/validate" "$out/spoilt"
copy() { rm -rf "$out/dir" && skopeo --override-os windows --override-arch amd64 copy "oci:$1:$2" "dir:$out/dir"; }
tags=(1.2.3 1.2.3-base 1.2.3-sidecars-windows)
for tag in "${tags[@]}"; do
  check "skopeo: $tag" copy "$out/$image" $tag
  check "umoci: $tag" umoci raw unpack --rootless --image "$out/$image:$tag" "$out/rootfs-$tag"
done
check "skopeo: the tar" skopeo --override-os windows copy "oci-archive:$out/$image.tar:1.2.3" "dir:$out/from-tar"
# One tag is for both systems. umoci reads no index of an index: skopeo takes a system's image out, as a node does.
indices=(1.2.3-sidecars 1.2.3-csi-node-driver-registrar 1.2.3-livenessprobe)
of_system() {
  skopeo --override-os "$2" --override-arch amd64 copy "oci:$out/$image:$1" "oci:$out/of-$2:$1"
  umoci raw unpack --rootless --image "$out/of-$2:$1" "$out/rootfs-$1-$2"
}
whole() {
  local before after
  skopeo copy --all --preserve-digests "oci-archive:$out/$image.tar:$1" "dir:$out/whole-$1"
  before=$(jq -r --arg tag "$1" '.manifests[] | select(.annotations[] == $tag).digest' "$out/$image/index.json")
  after=$(sha256sum "$out/whole-$1/manifest.json")
  [[ $before == "sha256:${after%% *}" ]]
}
for tag in "${indices[@]}"; do
  check "skopeo: $tag, whole" whole "$tag"
  for system in linux windows; do check "$tag for $system" of_system "$tag" "$system"; done
done
check "skopeo notices" fails copy "$out/spoilt" 1.2.3
check "umoci notices" fails umoci raw unpack --rootless --image "$out/spoilt:1.2.3" "$out/rootfs-spoilt"

# The images have the right files.
expected=$out/expected
mkdir -p "$expected/Hives" "$expected/Files/licenses"
cp -r "$out/rootfs-1.2.3-base/Files/Windows" "$expected/Files/"
cp LICENSE "$expected/Files/licenses/"
cp "$out/programs/csi_proxy.dll" "$expected/Files/"
check "the base's files" diff -r "$expected" "$out/rootfs-1.2.3-base"
beside=$out/beside
cp -r "$expected" "$beside"
cp "${service[@]/#/$out/programs/}" scripts/bootstrap/install.ps1 scripts/node-check.ps1 "$expected/Files/"
cp -r scripts/node-check "$expected/Files/"
rm "$expected"/Files/node-check/*_test.cs
check "the service's files" diff -r "$expected" "$out/rootfs-1.2.3"
rm "$beside/Files/csi_proxy.dll"
for name in "${sidecars[@]}"; do cp "$out/programs/${sidecars[0]}" "$beside/Files/$name"; done
check "the sidecars' files" diff -r "$beside" "$out/rootfs-1.2.3-sidecars-windows"
for tag in "${indices[@]}"; do check "$tag: the files for Windows" diff -r "$beside" "$out/rootfs-$tag-windows"; done
# One file by three names: it is pulled and kept once.
once() { [[ $(stat -c %h "$out/rootfs-1.2.3-sidecars-windows/Files/$1") -eq ${#sidecars[@]} ]]; }
for name in "${sidecars[@]}"; do check "one file: $name" once "$name"; done
entry() {
  local manifest config
  manifest=$(jq -r --arg tag "$1" '.manifests[] | select(.annotations[] == $tag).digest[7:]' "$out/$image/index.json")
  # The last image of an index is for Windows.
  manifest=$(jq -r --arg own "$manifest" 'if .manifests then .manifests[-1].digest[7:] else $own end' "$out/$image/blobs/sha256/$manifest")
  config=$(jq -r '.config.digest[7:]' "$out/$image/blobs/sha256/$manifest")
  [[ $(jq -r '.config.Entrypoint[0]' "$out/$image/blobs/sha256/$config") == "%CONTAINER_SANDBOX_MOUNT_POINT%\\$2" ]]
}
check "the service's entry point" entry 1.2.3 csi-proxy.exe
check "the sidecars' entry point" entry 1.2.3-sidecars csi-node-sidecars.exe
check "the entry point without an index" entry 1.2.3-sidecars-windows csi-node-sidecars.exe
for name in "${sidecars[1]}" "${sidecars[3]}"; do check "the entry point $name" entry "1.2.3-${name%.exe}" "$name"; done
hives=$expected/Files/Windows/System32/config
five() { [[ $(cd "$hives" && echo *) == "DEFAULT SAM SECURITY SOFTWARE SYSTEM" ]]; }
check "five hives" five
# hivex reads what Windows reads (https://libguestfs.org/hivex.3.html).
root() { hivexml "$hives/$1" | grep -F "<node name=\"$1\" root=\"1\">"; }
for hive in "$hives"/*; do check "hive ${hive##*/}" root "${hive##*/}"; done
there() { [[ -f $1/Files/$2 ]]; }
# run_by FILE...: what the manifests run of an image.
run_by() { sed -n 's/.*%CONTAINER_SANDBOX_MOUNT_POINT%\\\([^\\ ,'"'"']*\).*/\1/p' "$@" | sort -u; }
programs=$(run_by scripts/deploy/{proxy,install}-daemonset.yaml scripts/deploy/node-check.yaml)
check "the manifests run something" grep -qx csi-proxy.exe <<<"$programs"
for program in $programs; do check "the manifests' $program" there "$expected" "$program"; done
# The page for ordinary pods copies files that are there.
for program in $(sed -n 's/^COPY --from=release \([^ ]*\) .*/\1/p' scripts/deploy/sidecars.md); do
  check "copied: $program" there "$beside" "$program"
done
check "a driver's sidecars" grep -qx "${sidecars[0]}" <<<"$(run_by scripts/deploy/patches/containerd-1.6.yaml)"

# The image for Linux has the program and what its loader asks for, and nothing else that runs.
linux=$out/rootfs-1.2.3-sidecars-linux
linux_files() {
  local file
  for file in "${sidecars[@]%.exe}"; do cmp "$out/csi-node-sidecars" "$linux/$file"; done
  for file in $(cd "$linux" && find lib lib64 -type f); do cmp "/$file" "$linux/$file"; done
  [[ $(stat -c %h "$linux/csi-node-sidecars") -eq ${#sidecars[@]} ]]
  [[ $(cd "$linux" && echo *) == "csi-node-driver-registrar csi-node-sidecars csi-sidecars lib lib64 licenses livenessprobe usr var" ]]
}
# Each package has its licence, and its entry for scanners, with the version that is installed here.
packages() {
  local package
  for package in "$linux"/var/lib/dpkg/status.d/*; do
    [[ -s $linux/usr/share/doc/${package##*/}/copyright ]]
    grep -xF "Version: $(dpkg-query -W -f='${Version}' "${package##*/}")" "$package"
  done
  [[ -f $linux/var/lib/dpkg/status.d/libc6 ]]
}
# in_image PROGRAM FLAG...: in the root of the image, as in a container. Names in it are the image's.
# Docker lets root change the root, and nobody make a namespace.
in_image() {
  if [[ $(id -u) -eq 0 ]]; then chroot "$linux" "$@"; else unshare --map-root-user --root="$linux" --wd=/ "$@"; fi
}
runs_alone() {
  local port
  port=$(python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
  mkdir -p "$linux"/{csi,registration}
  build/release/integration/drivers/sample/sample_driver --endpoint="unix://$linux/csi/csi.sock" --mode=embedded &
  trap 'kill %1 %2' EXIT
  in_image "$1" --csi-address=/csi/csi.sock --kubelet-registration-path=/var/lib/kubelet/plugins/x/csi.sock \
    --plugin-registration-path=/registration --http-endpoint="127.0.0.1:$port" &
  for _ in {1..100}; do
    if [[ -S $(echo "$linux"/registration/*) && $(curl -sf "http://127.0.0.1:$port/healthz") == ok ]]; then return; fi
    sleep 0.1
  done
  return 1
}
entry_linux() {
  skopeo --override-os linux inspect --config "oci:$out/of-linux:$1" | jq -e --arg program "/$2" '.config.Entrypoint == [$program] and .os == "linux"'
}
check "Linux: the files" linux_files
check "Linux: packages" packages
check "Linux: the entry point" entry_linux 1.2.3-sidecars csi-node-sidecars
for name in csi-node-driver-registrar livenessprobe; do check "Linux: the entry point $name" entry_linux "1.2.3-$name" "$name"; done
for name in csi-node-sidecars csi-sidecars livenessprobe; do check "Linux: $name probes" in_image "/$name" --probe-timeout=2s --help; done
for name in csi-node-sidecars csi-sidecars csi-node-driver-registrar; do check "Linux: $name registers" in_image "/$name" --mode=registration --help; done
check "Linux: csi-node-driver-registrar does not probe" fails in_image /csi-node-driver-registrar --probe-timeout=2s --help
check "Linux: livenessprobe does not register" fails in_image /livenessprobe --mode=registration --help
check "Linux: runs in its own root" runs_alone /csi-node-sidecars
incomplete() { mv "$linux$libfmt" "$out/" && fails in_image /csi-node-sidecars --version; }
check "Linux: would notice a library less" incomplete

if [[ ${1-} == --windows ]]; then
  (cd integration/packages/oci && CGO_ENABLED=0 GOOS=windows "$go" build -o "$out/" ./read_layer)
  # Each layer once, though two images have the first.
  for digest in $(jq -r '.manifests[].digest[7:]' "$out/$image/index.json"); do
    jq -r '.layers[]?.digest[7:]' "$out/$image/blobs/sha256/$digest"
  done | sort -u | while read -r blob; do
    integration/wine/run "$out/read_layer.exe" "$out/$image/blobs/sha256/$blob" </dev/null
  done | tr -d '\r' >"$out/entries"
  # As Windows itself writes the access lists: administrators and SYSTEM all, users may read and run.
  file='O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)'
  folder='O:BAG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)'
  for name in "${names[@]}"; do
    check "Windows: $name" grep -qxF "file Files/$name $(stat -c %s "$out/programs/$name") 1700000000 $file" "$out/entries"
  done
  for name in "${sidecars[@]:1}"; do
    check "Windows: $name" grep -qxF "link Files/$name Files/${sidecars[0]}" "$out/entries"
  done
  # From the index a node of Windows takes the image that also has a tag of its own.
  chosen() {
    local index own
    index=$(jq -r --arg tag "$1" '.manifests[] | select(.annotations[] == $tag).digest[7:]' "$out/$image/index.json")
    own=$(jq -r '.manifests[] | select(.annotations[] == "1.2.3-sidecars-windows").digest' "$out/$image/index.json")
    [[ $(integration/wine/run "$out/read_layer.exe" --index "$out/$image/blobs/sha256/$index" </dev/null | tr -d '\r') == "$own" ]]
  }
  check "Windows: containerd's choice" chosen 1.2.3-sidecars
  # Each name is its own program's, by the flags that it takes.
  takes() { integration/wine/run "$out/rootfs-1.2.3-sidecars-windows/Files/$1" "$2" --help </dev/null; }
  for name in csi-node-sidecars.exe csi-sidecars.exe livenessprobe.exe; do check "Windows: $name probes" takes "$name" --probe-timeout=2s; done
  for name in csi-node-sidecars.exe csi-sidecars.exe csi-node-driver-registrar.exe; do check "Windows: $name registers" takes "$name" --mode=registration; done
  check "Windows: csi-node-driver-registrar.exe does not probe" fails takes csi-node-driver-registrar.exe --probe-timeout=2s
  check "Windows: livenessprobe.exe does not register" fails takes livenessprobe.exe --mode=registration
  check "Windows: the root" grep -qxF "directory Files/ 0 1700000000 $folder" "$out/entries"
  check "Windows: hives" grep -qxF "directory Hives/ 0 1700000000 $folder" "$out/entries"
  others() { ! grep -v '^link ' "$out/entries" | grep -vF -e " $file" -e " $folder"; }
  check "Windows: no other access list" others
fi
end_checks "images"
