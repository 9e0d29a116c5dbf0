#!/usr/bin/env bash
# Makes a release twice and examines it: from this tree, using its build folders, and from a clean clone
# elsewhere with another time zone, umask and name. Fails if the tree has uncommitted changes.
#
#   integration/packages/release/run.sh              the second build may use ccache's objects of the first
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
mkdir -p "$out"
# The clone is outside this tree, so that the two paths have nothing in common.
elsewhere=$(mktemp -d /tmp/csi-proxy-release.XXXXXX)
trap 'chmod -R u+w "$elsewhere"; rm -rf "$elsewhere"' EXIT
rm -rf "$out"/{first,unpacked,signed,go,logs}
mkdir -p "$out/logs"

# No program may prompt for input.
exec </dev/null
logs=$out/logs
. integration/support/checks.sh

# Builds without a network if this user may remove it.
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
  # Only the archive for tests contains the simulator.
  ls -l "$out/unpacked/$zip-testing"/{bin/{csi-proxy-simulated.exe,csi_proxy_simulated.dll},lib/libcsi_proxy_simulated.dll.a,LICENSE}
  "$root/integration/wine/no_simulator_test.sh" "$out/unpacked/$zip-testing"/bin/* -- \
    "$out/unpacked/$zip"/bin/csi{-proxy,-proxy-service,-node-sidecars}.exe "$out/unpacked/$zip"/bin/csi_proxy.dll
  for package in "$out"/first/*.deb; do dpkg-deb --raw-extract "$package" "$out/unpacked/debian/${package##*/}"; done
  cd "$out/unpacked/$zip"
  ls -l bin/{csi-proxy,csi-proxyctl,csi-proxy-service,csi-node-sidecars}.exe bin/csi_proxy.dll lib/libcsi_proxy.dll.a \
    include/csi-proxy/csi_proxy/csi_proxy.h share/csi-proxy/bootstrap/{install,aks,kube-up,upgrade}.ps1 share/csi-proxy/node-check.ps1 \
    share/csi-proxy/node-check/doubts.md {README,CHANGELOG,SECURITY}.md licenses/{boost,xxhash,libgrpc-dev}.txt LICENSE
  # The archive contains every file of the node check.
  diff <(ls "$root/service_installer/windows/node-check") <(ls --ignore=doubts.md share/csi-proxy/node-check)
  ls -l "$out"/unpacked/debian/csi-proxy_*/usr/bin/{csi-proxy,csi-proxyctl,csi-node-sidecars}
  # The packed programs are the tested ones.
  cmp bin/csi-proxy.exe "$root/build/windows/server/csi-proxy.exe"
  cmp bin/csi-node-sidecars.exe "$root/build/windows/client/sidecars/program/csi-node-sidecars.exe"
  cmp bin/csi-proxy-service.exe "$root/build/windows/service_installer/csi-proxy-service.exe"
}
# Fails if a file contains a path of this machine.
no_paths() {
  local found
  found=$(grep -rlaF -e "$root" -e "$HOME/" "$out/unpacked" "$out"/first/*.{json,md} || true)
  [[ -z $found ]] || { echo "$found"; return 1; }
}
programs() { /usr/bin/python3 -B "$here/check_programs.py" "$version" "$out/unpacked/$zip"{,-testing}/bin/*.{exe,dll}; }
# Programs in Debian's packages must be position-independent, with read-only tables, guarded return addresses
# and checked copies.
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
# Rancher's wins writes all entries whose name contains csi-proxy.exe into one file, as tar does here
# (https://github.com/rancher/wins/blob/main/pkg/csiproxy/csi.go, download). AKS extracts bin/csi-proxy.exe.
node_agents() {
  local archive=$out/first/csi-proxy-v$version.tar.gz own=$out/unpacked/$zip/bin/csi-proxy.exe
  tar -xzOf "$archive" --wildcards '*csi-proxy.exe*' | cmp - "$own"
  tar -xzOf "$archive" bin/csi-proxy.exe | cmp - "$own"
  diff <(tar -tzf "$archive" | grep -v '/$') <(cd "$out/unpacked/$zip" && printf '%s\n' bin/csi-proxy.exe LICENSE licenses/*)
}
# integration/packages/oci tests whether images are valid and work.
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
  for file in csi-node-driver-registrar.exe csi-sidecars.exe livenessprobe.exe; do cmp "$files/$file" "$files/csi-node-sidecars.exe"; done
  # The Linux image of the same tag contains the program of the Debian package.
  mkdir -p "$out/unpacked/linux-image"
  skopeo --override-os linux copy "oci-archive:$out/first/$image.tar:$version-sidecars" "dir:$out/unpacked/linux"
  for layer in "$out/unpacked/linux"/*; do tar -xzf "$layer" -C "$out/unpacked/linux-image" 2>/dev/null || true; done
  cmp "$out/unpacked/linux-image/csi-node-sidecars" "$out"/unpacked/debian/csi-proxy_*/usr/bin/csi-node-sidecars
  [[ -f $out/unpacked/linux-image/lib/x86_64-linux-gnu/libc.so.6 && -f $out/unpacked/linux-image/licenses/libgrpc-dev.txt ]]
}
# The SPDX list must name each file, and the libraries with their versions.
papers() {
  local list=$out/first/csi-proxy-$version.spdx.json
  jq -e '.spdxVersion == "SPDX-2.3" and ([.packages[] | select(.name == "grpc" and .versionInfo != "")] | length == 1)' "$list"
  diff <(jq -r '.packages[].packageFileName? // empty' "$list" | grep -E '\.(deb|tar|gz|zip)$' | grep -E '^(csi|lib)' | sort -u) \
    <(cd "$out/first" && ls ./*.{deb,tar,tar.gz,zip} | sed 's|^\./||' | sort)
  # A statement for each advisory that SECURITY.md names.
  diff <(grep -o 'CVE-[0-9]*-[0-9]*' SECURITY.md | sort -u) \
    <(jq -r '.statements[] | select(.status == "fixed" or has("impact_statement")).vulnerability.name' "${list%.spdx.json}.openvex.json" | sort)
}
notes() {
  local notes=$out/first/RELEASE_NOTES.md
  grep -Fx "# CSI Proxy $version" "$notes"
  grep -Fx -e "$(sed -n "/^## \[$version\]/,/^## \[/p" CHANGELOG.md | grep -m1 '^- ')" "$notes"
  grep -F "\`client/go/v$version\`" "$notes"
  grep -F "\`client/go/csiproxytest/v$version\`" "$notes"
}
refused() {
  ! scripts/release.sh 0.0.1 "$elsewhere/refused"
  touch "$elsewhere/file"
  ! scripts/release.sh "$version" "$elsewhere"
  [[ -f $elsewhere/file ]]
}

# Signs a release with a temporary certificate.
signed() {
  local at=$out/signed before after program file hash
  mkdir -p "$at"
  openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj "/CN=CSI Proxy test" -addext extendedKeyUsage=codeSigning \
    -keyout "$at/key.pem" -out "$at/certificate.pem"
  cat >"$at/sign" <<SIGN
#!/bin/sh
set -e
osslsigncode sign -certs "$at/certificate.pem" -key "$at/key.pem" -h sha256 -n "CSI Proxy" -in "\$1" -out "\$1.signed"
mv "\$1.signed" "\$1"
SIGN
  cat >"$at/sign_sums" <<SIGN
#!/bin/sh
exec openssl dgst -sha256 -sign "$at/key.pem" -out "\$1.sig" "\$1"
SIGN
  chmod +x "$at/sign" "$at/sign_sums"
  CSI_PROXY_SIGN="$at/sign" CSI_PROXY_SIGN_SUMS="$at/sign_sums" scripts/release.sh "$version" "$at/dist"

  # The sums are signed and cover every file except SHA256SUMS and its signature.
  openssl x509 -in "$at/certificate.pem" -pubkey -noout >"$at/public.pem"
  openssl dgst -sha256 -verify "$at/public.pem" -signature "$at/dist/SHA256SUMS.sig" "$at/dist/SHA256SUMS"
  (cd "$at/dist" && sha256sum --check --quiet SHA256SUMS)
  diff <(sed 's/^[^ ]*  //' "$at/dist/SHA256SUMS" | sort) \
    <(cd "$at/dist" && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | sort)

  mkdir "$at/unpacked"
  (cd "$at/unpacked" && cmake -E tar xf "$at/dist/$zip.zip" --format=zip)
  before=$out/unpacked/$zip/bin
  after=$at/unpacked/$zip/bin
  for program in "$before"/*; do
    file=${program##*/}
    osslsigncode verify -CAfile "$at/certificate.pem" -in "$after/$file"
    # Without the signature, the program is the same.
    read -r hash _ <<<"$(scripts/release/unsigned.py "$program")"
    grep -F "$hash  " <<<"$(scripts/release/unsigned.py "$after/$file")"
    if cmp "$program" "$after/$file"; then exit 1; fi
  done
  grep -F "programs for Windows are signed" "$at/dist/RELEASE_NOTES.md"
  # The other files are unchanged.
  for file in "$out/first"/*.deb; do cmp "$file" "$at/dist/${file##*/}"; done
}
# Uses the Go modules as a driver's author would: Go fetches them from the release's files, and no replace line names
# a folder.
go_module() {
  local repository module contents at=$out/go
  repository=$(sed -nE 's|^project\(.* HOMEPAGE_URL https://([^ )]+).*|\1|p' CMakeLists.txt)
  module=$repository/client/go/v2
  local replace=(go mod edit -replace "github.com/kubernetes-csi/csi-proxy/v2=$module@v$version")
  # The cache of an earlier run may contain the same version with other contents.
  rm -rf "$at"
  mkdir -p "$at/driver"
  # Foreign modules may come from the cache. Ours comes only from the release, into a separate cache, because
  # the same version may be made again. The cache's name depends on the contents, because Go's build cache
  # remembers the files of a module cache's folder.
  contents=$(cat "$out/first/go/$repository"/client/go/{,csiproxytest/}v2/@v/*.zip | sha256sum)
  GOPROXY="file://$out/first/go,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
  export GOPROXY GOMODCACHE=$at/cache-${contents::12} GOFLAGS=-modcacherw GONOSUMDB="$repository/*" CGO_ENABLED=0
  export CSI_PROXY_LIBRARY=$root/build/release/client/c/libcsi_proxy.so.1
  export CSI_PROXY_SCENARIO=$root/integration/wine/double/programs/scenario.textproto

  # Uses the package in a driver that does not have the library.
  cd "$at/driver"
  go mod init driver.example
  cp "$root/client/go/go.sum" "$root/client/go/examples/mount/main.go" .
  "${replace[@]}"
  go mod tidy
  grep -F "=> $module v$version" go.mod
  go build -o mount .
  GOOS=windows go build -o mount.exe .
  timeout 60 ./mount

  # Runs a test with csiproxytest on the programs of the Debian package. csiproxytest needs no replace line.
  printf 'package main\n\nimport (\n\t"testing"\n\n\t"%s"\n)\n\nfunc TestNode(t *testing.T) { csiproxytest.NewNode(t, "azure-nvme").Reboot() }\n' \
    "$repository/client/go/csiproxytest/v2" >node_test.go
  go mod tidy
  grep -Fx "	$repository/client/go/csiproxytest/v2 v$version" go.mod
  PATH=$(echo "$out"/unpacked/debian/csi-proxy_*/usr/bin):$PATH go test .

  # A program that uses the Go library changes one line to use the module.
  cp -r "$root/integration/wine/double/programs/library" "$at/library_driver"
  cd "$at/library_driver"
  go mod init driver.example/library
  cp "$root/client/go/go.sum" .
  "${replace[@]}" -replace "csi-proxy.example/drivers/orders=$root/integration/drivers/orders"
  go mod tidy
  go build -o "$at/driver-v2" .
  GOOS=windows go build -o "$at/driver-v2.exe" .
  go version -m "$at/driver-v2" | grep -F "$module"
  timeout 60 "$at/driver-v2" -documented
}
# Tests the service's life with the programs of the release: installed, upgraded, removed.
service_life() {
  ninja -C build/windows service_life_test unstoppable_service
  trap 'integration/wine/run --session-stop' EXIT
  integration/wine/run --session-start
  export CSI_PROXY_TEST_PROGRAMS=$out/unpacked/$zip/bin
  timeout 600 integration/wine/run build/windows/integration/wine/service_life_test.exe | tee "$out/life.out"
  grep -F "testing $CSI_PROXY_TEST_PROGRAMS" "$out/life.out"
}

# Replaces gh and skopeo by programs that record their arguments.
published() {
  local place=$elsewhere/published commands=$elsewhere/published/commands key name
  mkdir -p "$place/bin"
  mkdir -m 700 "$place/keys"
  cp -r "$out/first" "$place/dist"
  for name in gh skopeo; do printf '#!/bin/sh\necho "%s $*" >>%s\n' "$name" "$commands" >"$place/bin/$name"; done
  chmod +x "$place/bin"/*
  export GNUPGHOME=$place/keys
  gpg --batch --quiet --passphrase '' --quick-generate-key release@example.org ed25519 sign never
  key=$(gpg --batch --armor --export-secret-keys)
  publish() {
    env "PATH=$place/bin:$PATH" GH_TOKEN=hidden GITHUB_ACTOR=somebody GITHUB_REPOSITORY=Some/Body "GITHUB_REF_NAME=$1" \
      "CSI_PROXY_SIGNING_KEY=$key" scripts/release/publish.sh "$place/dist"
  }
  publish "v$version"
  gpg --batch --verify "$place/dist/SHA256SUMS.asc" "$place/dist/SHA256SUMS"
  [[ $(grep -c "^skopeo copy --all .* docker://ghcr.io/some/body:$version" "$commands") -eq 2 ]]
  grep "^gh release create v$version .*--verify-tag .* $zip.zip" "$commands"
  if grep hidden "$commands"; then return 1; fi
  # Publishes nothing with another tag, without a key, or from damaged files.
  : >"$commands"
  if publish v0.0.1 || key='' publish "v$version"; then return 1; fi
  echo damaged >>"$place/dist/RELEASE_NOTES.md"
  if publish "v$version"; then return 1; fi
  [[ ! -s $commands ]]
}

check "a release" first
check "unpacked" unpack
check "no paths of this machine" no_paths
check "node agents" node_agents
check "images" images
check "papers" papers
check "notes" notes
check "programs" programs
check "programs for Linux" linux_programs
check "refused" refused
check "signed" signed
check "published" published
check "Go modules" go_module
[[ $life == no ]] || check "service life" service_life
check "the same again" again
end_checks "release"
