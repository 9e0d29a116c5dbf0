#!/usr/bin/env bash
# Builds the Go release of the service for Windows, in its own module with its own sums.
#
#   integration/support/go_release.sh OUT.exe [FLAG OF go build...]
#   integration/support/go_release.sh --tests OUT.exe [FILE...]    builds its integration tests, with these files added
#   integration/support/go_release.sh --program OUT FILE...        builds a program of these files, for this machine
set -euo pipefail
what=service
if [[ $1 == --* ]]; then
  what=${1#--}
  shift
  for file in "${@:2}"; do files+=("$(realpath "$file")"); done
fi
out=$(realpath -m "$1")
release=github.com/kubernetes-csi/csi-proxy@v1.3.0
sum=h1:M4HsWhoPeMpuNjU43q3UkXQBMk6qAt5HiRNjRqTNs3c=
client=github.com/kubernetes-csi/csi-proxy/client
cd /
downloaded=$(go mod download -json "$release")
[[ $(jq -r .Sum <<<"$downloaded") == "$sum" ]] || { echo "$release is another one" >&2; exit 1; }
cd "$(jq -r .Dir <<<"$downloaded")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
install -m 644 go.mod "$work/release.mod"
install -m 644 go.sum "$work/release.sum"
# The release's module requires no version of its client, which is in the same repository.
go mod edit "-replace=$client=$client@v1.3.0" "$work/release.mod"
cat >>"$work/release.sum" <<END
$client v1.3.0 h1:c8JAHmspuI5w+/IBuspdartuFIZ0LcKOvz6lbHyi7WQ=
$client v1.3.0/go.mod h1:SfK4HVKQdMH5KrffivddAWgX5hl3P5KmnuOTBbDNboU=
END
export CGO_ENABLED=0 GOOS=windows GOARCH=amd64
if [[ $what == program ]]; then
  env -u GOOS -u GOARCH go build -mod=readonly "-modfile=$work/release.mod" -o "$out" "${files[@]}"
  exit
fi
if [[ $what == tests ]]; then
  # Copies the source, because no files may be added to Go's module cache.
  cp -r . "$work/source"
  chmod -R u+w "$work/source"
  [[ -z ${files-} ]] || cp "${files[@]}" "$work/source/integrationtests/"
  cd "$work/source"
  # Without inlining (-l), because the added files may replace functions.
  go test -c -mod=readonly "-modfile=$work/release.mod" -gcflags=-l -ldflags='-s -w' -o "$out" ./integrationtests
  exit
fi
go build -mod=readonly "-modfile=$work/release.mod" "${@:2}" -o "$out" ./cmd/csi-proxy
