#!/usr/bin/env bash
# The Go module in the form of a module proxy, and the tag that says the same in the repository.
#
#   scripts/release/go_module.sh VERSION DIRECTORY
#
# Go makes them itself, from a bare clone of this repository with that tag: what it puts into a
# module's ZIP (https://go.dev/ref/mod#zip-files) is its own affair. Prints "tag module version".
set -euo pipefail
version=$1
directory=$2
cd "$(dirname "$0")/../.."
root=$PWD
repository=$(sed -nE 's|^project\(.* HOMEPAGE_URL https://([^ )]+).*|\1|p' CMakeLists.txt)
# A tag names the folder without the major version, which is the tag's own
# (https://go.dev/ref/mod#vcs-version). The module in client/go names the Go library whose place it
# takes, so Go takes it from this path for a replace line alone.
tag=client/go/v$version
path=$repository/client/go/v2
number=v$version

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
git clone --quiet --bare "$root" "$work/clone"
git -C "$work/clone" tag | xargs -r git -C "$work/clone" tag -d >/dev/null
git -C "$work/clone" tag "$tag" "$(git rev-parse HEAD)"
# Nothing but the clone is asked.
export GOPROXY=direct GONOSUMDB="$repository/*" GONOSUMCHECK=1 GOFLAGS=-modcacherw GOMODCACHE=$work/cache GOTOOLCHAIN=local
export GOPATH=$work/go GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$work/clone.insteadOf" GIT_CONFIG_VALUE_0="https://$repository"
(cd "$work" && go mod download "$path@$number")
made=$work/cache/cache/download/$path/@v
mkdir -p "$directory/$path/@v"
cp "$made/$number".{info,mod,zip} "$directory/$path/@v/"
echo "$number" >"$directory/$path/@v/list"
echo "$tag $path $number"
