#!/usr/bin/env bash
# Makes a release in dist/, offline and reproducibly; scripts/release/README.md lists its contents.
#
#   scripts/release.sh VERSION [DIRECTORY]
#
# VERSION must be that of CMakeLists.txt. DIRECTORY, by default dist, is replaced. All changes must be committed.
#
#   CSI_PROXY_SIGN='COMMAND'        signs: runs with each program and DLL for Windows, and changes the file
#   CSI_PROXY_SIGN_SUMS='COMMAND'   signs the rest: runs with SHA256SUMS, and makes SHA256SUMS.* beside it
set -euo pipefail
started=$PWD
cd "$(dirname "$0")/.."
root=$PWD
version=${1:?usage: scripts/release.sh VERSION [DIRECTORY]}
dist=${2-$root/dist}
[[ $dist == /* ]] || dist=$started/$dist
project=$(sed -nE 's/^project\(csi_proxy VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
[[ $version == "$project" ]] || { echo "CMakeLists.txt has version $project, not $version" >&2; exit 2; }
changed=$(git status --porcelain --untracked-files=no)
[[ -z $changed ]] || { echo "not in the last commit:" "$changed" >&2; exit 2; }
if [[ -e $dist ]]; then
  # A folder without a release may have been named by mistake, so its files are kept.
  [[ -f $dist/SHA256SUMS || -z $(ls -A "$dist") ]] || { echo "$dist has no release in it" >&2; exit 2; }
  rm -rf "$dist"
fi

# go_module FOLDER DIRECTORY: makes a folder's Go module in the form of a module proxy, and prints "tag module
# version", the tag that publishes it. Go itself makes the files, from a bare clone of this repository with that tag,
# because Go defines the contents of a module's ZIP (https://go.dev/ref/mod#zip-files).
go_module() (
  repository=$(sed -nE 's|^project\(.* HOMEPAGE_URL https://([^ )]+).*|\1|p' CMakeLists.txt)
  # The tag has the folder's name without the major version, which is part of the version
  # (https://go.dev/ref/mod#vcs-version). The module in client/go has the name of the Go library that it replaces,
  # so Go accepts it from this path only by a replace line.
  tag=$1/v$version
  path=$repository/$1/v2
  number=v$version
  work=$(mktemp -d)
  trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
  git clone --quiet --bare "$root" "$work/clone"
  git -C "$work/clone" tag | xargs -r git -C "$work/clone" tag -d >/dev/null
  git -C "$work/clone" tag "$tag" "$(git rev-parse HEAD)"
  # Fetches from the clone only.
  export GOPROXY=direct GONOSUMDB="$repository/*" GONOSUMCHECK=1 GOFLAGS=-modcacherw GOMODCACHE=$work/cache GOTOOLCHAIN=local
  export GOPATH=$work/go GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$work/clone.insteadOf" GIT_CONFIG_VALUE_0="https://$repository"
  (cd "$work" && go mod download "$path@$number")
  made=$work/cache/cache/download/$path/@v
  mkdir -p "$2/$path/@v"
  cp "$made/$number".{info,mod,zip} "$2/$path/@v/"
  echo "$number" >"$2/$path/@v/list"
  echo "$tag $path $number"
)

# A release must not depend on who makes it, when and where.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC PYTHONDONTWRITEBYTECODE=1
unset DEBEMAIL DEBFULLNAME
umask 022
parts=$root/build/dist
rm -rf "$parts"
mkdir -p "$dist" "$parts"

# The presets and folders of CI, so that what is built there is not built again.
declare -A presets=([release]=ci [windows]=ci-windows)
for preset in release windows; do
  echo "build $preset"
  cmake --preset "${presets[$preset]}" -UCSI_PROXY_MAINTAINER >"$parts/configure-$preset.log" || { cat "$parts/configure-$preset.log" >&2; exit 1; }
  ninja -C "build/$preset" csi_proxy_installed >"$parts/build-$preset.log" || { tail -40 "$parts/build-$preset.log" >&2; exit 1; }
done

# Set after the build, because ccache treats compilers with another language as different.
export LC_ALL=C.UTF-8

echo "ZIPs for Windows"
name=csi-proxy-$version-windows-amd64
for component in programs libraries c_interface; do
  cmake --install build/windows --prefix "$parts/$name" --component $component >/dev/null
done
# Only tests of drivers need these files.
cmake --install build/windows --prefix "$parts/$name-testing" --component testing >/dev/null
cp -r "$parts/$name/LICENSE" "$parts/$name/licenses" "$parts/$name-testing/"
programs=("$parts/$name"{,-testing}/bin/*.{exe,dll})
if [[ -n ${CSI_PROXY_SIGN-} ]]; then
  for program in "${programs[@]}"; do
    # Unquoted, because it may be a command with arguments.
    $CSI_PROXY_SIGN "$program"
  done
fi
for zip in "$name" "$name-testing"; do scripts/release/make_zip.py "$parts" "$zip" "$dist/$zip.zip"; done

echo "archive for node agents"
# Rancher's `wins` writes every entry whose name contains csi-proxy.exe into one file; AKS takes bin/csi-proxy.exe.
tar --create --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --directory="$parts/$name" bin/csi-proxy.exe LICENSE licenses |
  gzip --no-name --best >"$dist/csi-proxy-v$version.tar.gz"

echo "images"
# Stripped, as in the Debian package.
cmake --install build/release --prefix "$parts/linux" --component programs --strip >/dev/null
licenses=()
for license in "$parts/$name"/LICENSE "$parts/$name"/licenses/*; do licenses+=(--license "$license"); done
scripts/release/oci_image.py --programs "$parts/$name/bin" --linux "$parts/linux/bin/csi-node-sidecars" --out "$parts" --version "$version" \
  --source-date-epoch "$SOURCE_DATE_EPOCH" "${licenses[@]}"
cp "$parts/csi-proxy-$version-oci.tar" "$dist/"

echo "Debian packages"
(cd build/release && cpack -B "$parts/debian" >"$parts/cpack.log" 2>&1) || { cat "$parts/cpack.log" >&2; exit 1; }
cp "$parts"/debian/*.deb "$dist/"

echo "Go modules"
go_module client/go "$dist/go" | tee "$parts/tag"
go_module client/go/csiproxytest "$dist/go" | tee "$parts/test_tag"

echo "papers"
scripts/release/papers.py "$version" "$dist" "$parts"
(cd "$dist" && find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum >SHA256SUMS)
if [[ -n ${CSI_PROXY_SIGN_SUMS-} ]]; then
  before=$(sha256sum "$dist/SHA256SUMS")
  $CSI_PROXY_SIGN_SUMS "$dist/SHA256SUMS"
  compgen -G "$dist/SHA256SUMS.*" >/dev/null || { echo "CSI_PROXY_SIGN_SUMS has made no SHA256SUMS.*" >&2; exit 1; }
  [[ $before == "$(sha256sum "$dist/SHA256SUMS")" ]] || { echo "CSI_PROXY_SIGN_SUMS has changed SHA256SUMS" >&2; exit 1; }
fi
echo "$(wc -l <"$dist/SHA256SUMS") files in $dist"
