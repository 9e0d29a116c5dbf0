#!/usr/bin/env bash
# Generates the Go code of the storage group, which no other module contains, from api/storage/*/api.proto into
# this folder or FOLDER.
#
#   client/go/api/generate.sh [FOLDER]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1-$here}")
# The plugins that fit the module's versions of grpc and protobuf.
go_plugin=google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.0
grpc_plugin=google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.3.0
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
# GOOS and GOARCH are empty, because the plugins run on this machine.
GOOS='' GOARCH='' GOBIN=$bin go install "$go_plugin"
GOOS='' GOARCH='' GOBIN=$bin go install "$grpc_plugin"
cd "$here/../../../api"
module=github.com/kubernetes-csi/csi-proxy/v2/api
mkdir -p "$out"
PATH=$bin:$PATH protoc --go_out="$out" --go_opt="module=$module" --go-grpc_out="$out" \
  --go-grpc_opt="module=$module" storage/*/api.proto
