#!/usr/bin/env bash
# The Go module of a release as a driver's author gets it: by Go, from the files, without a replace
# that names a folder.
#
#   integration/packages/release/go_test.sh VERSION PROXY DIRECTORY
set -euo pipefail
version=$1
proxy=$2
out=$3
cd "$(dirname "$0")/../../.."
root=$PWD
repository=$(sed -nE 's|^project\(.* HOMEPAGE_URL https://([^ )]+).*|\1|p' CMakeLists.txt)
module=$repository/client/go/v2
replace=(go mod edit -replace "github.com/kubernetes-csi/csi-proxy/v2=$module@v$version")
# An earlier run's cache has the same version with other contents.
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
# Modules of others come from the cache if they are there; ours come from the release alone, into a
# cache of their own, for the same version may be made again. Its name tells the contents: Go's
# build cache remembers which files a folder of a module cache has, since a version does not change.
contents=$(sha256sum "$proxy/$module/@v/v$version.zip")
export GOPROXY="file://$proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GOMODCACHE=$out/cache-${contents::12} GOFLAGS=-modcacherw GONOSUMDB="$repository/*" CGO_ENABLED=0
export CSI_PROXY_LIBRARY=$root/build/release/client/c/libcsi_proxy.so.1
export CSI_PROXY_SCENARIO=$root/integration/wine/node/peer/scenario.textproto

# The package, in a driver that does not have the library.
mkdir -p "$out/driver"
cd "$out/driver"
go mod init driver.example
cp "$root/client/go/go.sum" .
cp "$root/client/go/examples/mount/main.go" .
"${replace[@]}"
go mod tidy
grep -F "=> $module v$version" go.mod
go build -o mount .
GOOS=windows go build -o mount.exe .
timeout 60 ./mount

# The module takes the library's place: the driver that uses the library changes one line.
cp -r "$root/integration/wine/node/peer" "$out/library_driver"
cd "$out/library_driver"
"${replace[@]}" -replace "csi-proxy.example/drivers/orders=$root/integration/drivers/orders"
go build -mod=mod -o "$out/driver-v2" ./driver
GOOS=windows go build -mod=mod -o "$out/driver-v2.exe" ./driver
go version -m "$out/driver-v2" | grep -F "$module"
timeout 60 "$out/driver-v2"
