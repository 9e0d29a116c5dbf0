#!/usr/bin/env bash
# A release, made twice and looked into: from this tree, whose build folders are used, and from a clean
# clone elsewhere, under another time zone, file mask and name. What is not committed keeps it from
# being made.
#
#   integration/packages/release/run.sh              ccache may give the second build the first one's objects
#   integration/packages/release/run.sh --no-ccache  the second build compiles everything: half an hour of processor time
#   integration/packages/release/run.sh --life       also runs the service-life test on the programs in the ZIP, under Wine
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
out=$root/build/release-test
second=()
life=no
for argument in "$@"; do
  case $argument in
    --no-ccache) second=(CCACHE_DISABLE=1) ;;
    --life) life=yes ;;
    *) echo "unknown option $argument" >&2; exit 2 ;;
  esac
done
scripts/install-packages.sh --windows --oci --release
version=$(sed -nE 's/^project\(csi_proxy VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
zip=csi-proxy-$version-windows-amd64
here=$root/integration/packages/release
python=$out/python/bin/python
mkdir -p "$out"
if ! cmp -s "$here/requirements.txt" "$out/python/requirements.txt"; then
  rm -rf "$out/python"
  python3 -m venv "$out/python"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$out/python/"
fi
# Not below this tree: the path shall have nothing in common.
elsewhere=$(mktemp -d /tmp/csi-proxy-release.XXXXXX)
trap 'chmod -R u+w "$elsewhere"; rm -rf "$elsewhere"' EXIT
rm -rf "$out"/{first,unpacked,signed,go,logs}
mkdir -p "$out/logs"

# No program shall wait for an answer.
exec </dev/null
logs=$out/logs
. integration/support/checks.sh

# Without a network, where one may be taken away.
first() {
  local offline=(unshare --map-root-user --net)
  "${offline[@]}" true || offline=()
  "${offline[@]}" scripts/release.sh "$version" "$out/first"
  (cd "$out/first" && sha256sum --check --quiet SHA256SUMS)
}
again() {
  git clone --quiet "$root" "$elsewhere/clone"
  cd "$elsewhere/clone"
  umask 077
  env TZ=Pacific/Kiritimati DEBEMAIL=other@example.org DEBFULLNAME=Other "${second[@]}" \
    scripts/release.sh "$version" "$elsewhere/second"
  diff "$out/first/SHA256SUMS" "$elsewhere/second/SHA256SUMS"
}
unpack() {
  mkdir -p "$out/unpacked/debian"
  for archive in "$zip" "$zip-testing"; do
    (cd "$out/unpacked" && cmake -E tar xf "$out/first/$archive.zip" --format=zip)
  done
  # The simulator is in the archive for tests alone.
  ls -l "$out/unpacked/$zip-testing"/{bin/{csi-proxy-simulated.exe,csi_proxy_simulated.dll},lib/libcsi_proxy_simulated.dll.a,LICENSE}
  "$root/integration/wine/no_simulator_test.sh" "$out/unpacked/$zip-testing"/bin/* -- \
    "$out/unpacked/$zip"/bin/csi{-proxy,-proxy-service,-node-sidecars}.exe "$out/unpacked/$zip"/bin/csi_proxy{,_sidecars}.dll
  for package in "$out"/first/*.deb; do dpkg-deb --raw-extract "$package" "$out/unpacked/debian/${package##*/}"; done
  cd "$out/unpacked/$zip"
  ls -l bin/{csi-proxy,csi-proxyctl,csi-proxy-service,csi-node-sidecars}.exe bin/csi_proxy{,_sidecars}.dll lib/libcsi_proxy{,_sidecars}.dll.a \
    include/csi-proxy/csi_proxy/csi_proxy{,_sidecars}.h share/csi-proxy/bootstrap/{install,aks,kube-up}.ps1 share/csi-proxy/node-check.ps1 \
    share/csi-proxy/node-check/{{facts,harness,node,pipes,sockets}.ps1,unix-sockets.cs} {README,CHANGELOG,SECURITY}.md licenses/{boost,xxhash,libgrpc-dev}.txt LICENSE
  ls -l "$out"/unpacked/debian/csi-proxy_*/usr/bin/{csi-proxy,csi-proxyctl,csi-node-sidecars}
  # What was tested is what is packed.
  cmp bin/csi-proxy.exe "$root/build/windows/server/csi-proxy.exe"
  cmp bin/csi-node-sidecars.exe "$root/build/windows/client/sidecars/program/csi-node-sidecars.exe"
  cmp bin/csi-proxy-service.exe "$root/build/windows/service_installer/csi-proxy-service.exe"
}
# Nothing tells where it was made.
no_paths() {
  local found
  found=$(grep -rlaF -e "$root" -e "$HOME/" "$out/unpacked" "$out"/first/*.{json,md} || true)
  [[ -z $found ]] || { echo "$found"; return 1; }
}
programs() { "$python" -B "$here/check_programs.py" "$version" "$out/unpacked/$zip"{,-testing}/bin/*.{exe,dll}; }
# Of Debian's packages: position-independent, all tables read-only, return addresses guarded, copies checked.
linux_programs() {
  local file elf found=0
  for file in "$out"/unpacked/debian/csi-proxy_*/usr/bin/* "$out"/unpacked/debian/libcsi-proxy*/usr/lib/*.so.*.*; do
    [[ -f $file && ! -L $file ]] || continue
    found=$((found + 1))
    elf=$(readelf --wide --file-header --program-headers --dynamic --dyn-syms "$file")
    grep -q 'Type: *DYN' <<<"$elf" || { echo "$file is not position-independent"; return 1; }
    grep -q GNU_RELRO <<<"$elf" || { echo "$file has no relro"; return 1; }
    grep -q 'Flags:.* NOW' <<<"$elf" || { echo "$file is not bound at its start"; return 1; }
    grep -q __stack_chk_fail <<<"$elf" || { echo "$file has no guards of return addresses"; return 1; }
  done
  [[ $found -gt 3 ]] || { echo "$found programs and libraries were found"; return 1; }
  grep -E '__[a-z]+_chk@' <<<"$(readelf --dyn-syms --wide "$out"/unpacked/debian/csi-proxy_*/usr/bin/csi-proxy)"
}
# The check would notice: a flag taken away, and a function of Windows Server 2022.
programs_noticed() {
  local program=$out/unpacked/csi-proxy.exe
  "$python" -B "$here/spoil.py" "$out/unpacked/$zip/bin/csi-proxy.exe" "$program"
  ! "$python" -B "$here/check_programs.py" "$version" "$program" >"$out/noticed"
  grep 'has no NX_COMPAT' "$out/noticed"
  grep 'imports GetTempPath2W of kernel32.dll' "$out/noticed"
}
# Whether an image is valid and works is integration/packages/oci's to say.
images() {
  local image=csi-proxy-$version-oci tag file files
  files=$out/unpacked/image/Files
  mkdir -p "${files%/*}"
  for tag in "$version" "$version-sidecars"; do
    mkdir -p "$out/unpacked/$tag"
    skopeo --override-os windows copy "oci-archive:$out/first/$image.tar:$tag" "dir:$out/unpacked/$tag"
    for layer in "$out/unpacked/$tag"/*; do tar -xzf "$layer" -C "${files%/*}" 2>/dev/null || true; done
  done
  for file in csi-proxy.exe csi_proxy.dll csi-node-sidecars.exe; do cmp "$files/$file" "$out/unpacked/$zip/bin/$file"; done
  for file in csi-node-driver-registrar.exe livenessprobe.exe; do cmp "$files/$file" "$files/csi-node-sidecars.exe"; done
}
papers() { "$python" -B "$here/check_papers.py" "$version" "$(git rev-parse HEAD)" "$out/first"; }
notes() {
  local notes=$out/first/RELEASE_NOTES.md tag
  grep -Fx "# CSI Proxy $version" "$notes"
  grep -Fx -e "$(sed -n "/^## \[$version\]/,/^## \[/p" CHANGELOG.md | grep -m1 '^- ')" "$notes"
  for tag in "client/go/v1.${version#*.}" "client/go/v$version"; do grep -F "\`$tag\`" "$notes"; done
}
refused() {
  ! scripts/release.sh 0.0.1 "$elsewhere/refused"
  touch "$elsewhere/file"
  ! scripts/release.sh "$version" "$elsewhere"
  [[ -f $elsewhere/file ]]
}

check "a release" first
check "unpacked" unpack
check "no paths of this machine" no_paths
check "images" images
check "papers" papers
check "notes" notes
check "programs" programs
check "programs for Linux" linux_programs
check "programs, spoilt" programs_noticed
check "refused" refused
check "signed" "$here/sign_test.sh" "$version" "$out/first" "$out/signed"
check "Go modules" "$here/go_test.sh" "$version" "$out/first/go" "$out/go"
[[ $life == no ]] || check "service life" "$here/life_test.sh" "$out/unpacked/$zip/bin"
check "the same again" again
end_checks "release"
