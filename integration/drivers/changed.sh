#!/usr/bin/env bash
# Changes a driver's module as its page in client/drivers says, for a program of this folder: applies the page's
# diff to a copy of the module.
#
#   integration/drivers/changed.sh PROGRAM OUT     writes OUT/driver, and OUT/go.mod to build the program with
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
program=$1
page=client/drivers/${program/_/-}.md
mkdir -p "$2"
out=$(realpath "$2")
rm -rf "$out/driver"

# block LANGUAGE FILE: prints the code blocks in that language.
block() { awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print } $0 == fence { inside = 1 }' "$2"; }
cd "integration/drivers/$program"
module=$(sed -nE 's|.*"(sigs.k8s.io/[^/]*-csi-driver)/.*|\1|p' main.go | head -1)
go mod download "$module"
cp -r "$(go list -m -f '{{.Dir}}' "$module")" "$out/driver"
chmod -R u+w "$out/driver"
block diff "$root/$page" >"$out/change.diff"
[[ -s $out/change.diff ]] || { echo "$page has no diff" >&2; exit 1; }
# The diff must fit exactly, and its result must pass gofmt.
patch --directory="$out/driver" -p1 --fuzz=0 <"$out/change.diff" >"$out/patch.log" || { cat "$out/patch.log" >&2; exit 1; }
mapfile -t changed < <(sed -n 's|^+++ b/||p' "$out/change.diff")
left=$(grep -w offset "$out/patch.log" || true; cd "$out/driver" && gofmt -l "${changed[@]}")
[[ -z $left ]] || { echo "$page: $left" >&2; exit 1; }

cp "$root"/integration/go.{mod,sum} "$out/"
go mod edit "-replace=$module=$out/driver" "$out/go.mod"
