# shellcheck shell=bash
# To be sourced: $go is a Go for integration/go.mod.
#
# Since 1.21 a Go that is too old fetches a newer one; for an older Go, as Debian 12 has, that newer
# one is a module like any other.
go=go
if [[ -z $(go env GOTOOLCHAIN) ]]; then
  root=$(go mod download -json "golang.org/toolchain@v0.0.1-go1.26.0.linux-$(go env GOARCH)" | jq -r .Dir)
  chmod -R u+x "$root/bin" "$root/pkg/tool"
  go=$root/bin/go
fi
