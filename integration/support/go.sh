# shellcheck shell=bash
# To be sourced: sets $go to a Go for integration/go.mod. Returns 1 with a message if there is none.
#
# Go 1.21 and later fetch a newer Go by themselves. For an older one, as in Debian 12, the newer Go is fetched
# as a module.
go=go
if [[ -z $(go env GOTOOLCHAIN) ]]; then
  toolchain=golang.org/toolchain@v0.0.1-go1.26.0.linux-$(go env GOARCH)
  downloaded=$(go mod download -json "$toolchain" 2>&1) || {
    echo "$(go env GOVERSION) is too old for integration/go.mod, and the newer one is a Go module that cannot be fetched:" \
      "$(jq -r '.Error // empty' <<<"$downloaded" 2>/dev/null || echo "$downloaded")" >&2
    return 1
  }
  root=$(jq -r .Dir <<<"$downloaded")
  chmod -R u+x "$root/bin" "$root/pkg/tool"
  go=$root/bin/go
fi
