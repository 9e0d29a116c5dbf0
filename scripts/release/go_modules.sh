#!/usr/bin/env bash
# The Go modules in the form of a module proxy, and the tags that say the same in the repository.
#
#   scripts/release/go_modules.sh VERSION DIRECTORY
#
# Go makes them itself, from a bare clone of this repository with those tags: what it puts into a
# module's ZIP (https://go.dev/ref/mod#zip-files) is its own affair. Prints a line "tag module version"
# for each.
set -euo pipefail
version=$1
directory=$2
cd "$(dirname "$0")/../.."
root=$PWD
repository=$(sed -n 's|^module \(.*\)/client/go$|\1|p' client/go/go.mod)
# A tag names the folder without the major version, which is the tag's own
# (https://go.dev/ref/mod#vcs-version). The package in client/go has not changed incompatibly: its
# major version is 1, and the other numbers are the product's.
modules=(
  "client/go/v1.${version#*.} $repository/client/go v1.${version#*.}"
  "client/go/v$version $repository/client/go/v2 v$version"
)

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
git clone --quiet --bare "$root" "$work/clone"
git -C "$work/clone" tag | xargs -r git -C "$work/clone" tag -d >/dev/null
for module in "${modules[@]}"; do
  read -r tag _ _ <<<"$module"
  git -C "$work/clone" tag "$tag" "$(git rev-parse HEAD)"
done
# Nothing but the clone is asked.
export GOPROXY=direct GONOSUMDB="$repository/*" GONOSUMCHECK=1 GOFLAGS=-modcacherw GOMODCACHE=$work/cache GOTOOLCHAIN=local
export GOPATH=$work/go GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$work/clone.insteadOf" GIT_CONFIG_VALUE_0="https://$repository"
for module in "${modules[@]}"; do
  read -r tag path number <<<"$module"
  (cd "$work" && go mod download "$path@$number")
  made=$work/cache/cache/download/$path/@v
  mkdir -p "$directory/$path/@v"
  cp "$made/$number".{info,mod,zip} "$directory/$path/@v/"
  echo "$number" >"$directory/$path/@v/list"
  echo "$tag $path $number"
done
