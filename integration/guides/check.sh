#!/usr/bin/env bash
# Follows the pages for drivers' authors, to check that they work.
#
#   integration/guides/check.sh             client/drivers: runs the commands in a module like the driver's, builds that
#                                           and runs it on a simulated node; applies the diffs to the driver's own module
#                                           and builds that for Windows; runs the Helm commands on the driver's own chart.
#                                           integration/drivers/run.sh --changed runs the modules that are only
#                                           built here; integration/guides/new_driver/run.sh follows new-driver.md
#   integration/guides/check.sh --readme    client/README.md, the first program: installs the packages, then builds and
#                                           runs the program as printed there
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD

# first_program DIRECTORY: follows client/README.md's first program.
first_program() {
  local install run
  rm -rf "$1"
  mkdir -p "$1"
  # nth N LANGUAGE: prints the Nth block in that language of the section.
  nth() {
    awk -v n="$1" -v fence="\`\`\`$2" '/^##+ / { here = /^### A first program/ }
      $0 == "```" { inside = 0 }
      inside { print }
      here && $0 == fence { inside = ++seen == n }' client/README.md
  }
  nth 1 cpp >"$1/mount.cc"
  # The same program tests the installed libraries.
  cmp "$1/mount.cc" integration/guides/consumer/newcomer.cc
  # A container may lack sudo, which root does not need.
  if ! command -v sudo >/dev/null; then sudo() { "$@"; }; fi
  # Removed at the end, because other tests need a machine without the packages.
  installed() { dpkg-query -W -f='${Status}' libcsi-proxy2 2>/dev/null | grep -q 'ok installed'; }
  remove() { sudo apt-get remove -y -qq libcsi-proxy-dev libcsi-proxy2 >/dev/null; }
  if ! installed; then trap remove EXIT; fi
  install=$(nth 1 sh)
  run=$(nth 2 sh)
  set -x
  eval "$install"
  cd "$1"
  eval "$run" | tee output
  grep -qF ' is mounted at C:\var\lib\kubelet\plugins\' output
}
case ${1-} in
  "") ;;
  --readme)
    first_program "$root/build/readme"
    exit
    ;;
  *) echo "unknown option $1" >&2; exit 2 ;;
esac

pages=client/drivers
out=$root/build/guides
rm -rf "$out"
mkdir -p "$out"
ninja -C build/release csi_proxy_c >/dev/null
export CSI_PROXY_LIBRARY=$root/build/release/client/c/libcsi_proxy.so.1
export CGO_ENABLED=0

logs=$out
. integration/support/checks.sh
# block LANGUAGE PAGE: prints the blocks in that language. Fails if there are none, because the page would not be
# tested.
block() {
  awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print; any = 1 } $0 == fence { inside = 1 }
    END { exit !any }' "$root/$pages/$2.md"
}

# module NAME FOLDER: makes an empty module with the sources of a folder, beside the repository.
module() {
  mkdir -p "$out/$1/driver"
  ln -sfn "$root" "$out/$1/csi-proxy"
  cp "$root/$2"/*.go "$out/$1/driver/"
  cd "$out/$1/driver"
  go mod init "driver.example/$1"
}
# Calls of the library, in a module that requires it as the driver's does.
library() {
  local commands
  module "$1" integration/wine/double/programs/library
  go mod edit -require=github.com/kubernetes-csi/csi-proxy/v2@v2.0.0-alpha.2 \
    "-replace=csi-proxy.example/drivers/orders=$root/integration/drivers/orders"
  [[ $1 != aws-ebs ]] ||
    go mod edit -replace=github.com/kubernetes-csi/csi-proxy/v2=github.com/kubernetes-csi/csi-proxy/v2@v2.0.0-alpha.1
  commands=$(block sh "$1")
  eval "$commands"
  GOOS=windows go build -o driver.exe .
  go build -o driver .
  CSI_PROXY_SCENARIO=$root/integration/wine/double/programs/scenario.textproto timeout 60 ./driver -documented | tee driver.out
  grep -E ': ([0-9]+) steps, \1 as they should be' driver.out
}
# Builds with the Go package, required as the common page says.
package() {
  local commands
  module package client/go/examples/mount
  commands=$(block sh README)
  eval "$commands"
  go build -o driver .
  timeout 60 ./driver
}
# Builds the driver's own mounter with the diff of its page.
changed() {
  integration/drivers/changed.sh "$1" "$out/$1"
  cd "integration/drivers/$1"
  GOOS=windows GOARCH=amd64 go build -p "${JOBS:-2}" "-modfile=$out/$1/go.mod" -mod=mod -o "$out/$1/program.exe" .
  grep -q csiproxy "$out/$1/change.diff"
}
# Renders the Helm command of a page, because there is no cluster to install it in.
chart() {
  local charts commands driver=$1
  charts=$(cd "integration/drivers/$1" && go list -m -f '{{.Dir}}' "sigs.k8s.io/$1-csi-driver")/charts/latest
  helm() {
    [[ $1 == upgrade && $2 == --install ]] || return 1
    "$helm" template "$3" "$charts/${4#*/}" "${@:5}"
  }
  # A key that the page sets later has no values yet.
  kubectl() {
    local what=$*
    what=${what#*daemonset/}
    "$helm" template x "$charts/$driver-csi-driver" \
      --show-only "templates/csi-$driver-node-windows-hostprocess.yaml" >"$out/$driver.default.yaml"
    [[ "$1 $2" == "set "@(image|env) && $what == *"$driver"* ]]
    grep -q "^  name: ${what%% *}\$" "$out/$driver.default.yaml"
    grep -q "^        - name: $driver\$" "$out/$driver.default.yaml"
  }
  commands=$(block sh "$1")
  eval "$commands" >"$out/$1.yaml"
  grep -F '\\.\pipe\csi-proxy-filesystem-v1' "$out/$1.yaml"
}

check package package
check aws-ebs library aws-ebs
check vsphere library vsphere
for driver in azuredisk azurefile gcp_pd; do check "$driver" changed "$driver"; done
# Go modules contain the charts and Helm.
helm=$HOME/.cache/csi-proxy/helm-v3.18.6/helm
[[ -x $helm ]] || GOBIN=$(dirname "$helm") CGO_ENABLED=0 go install -p "${JOBS:-2}" -ldflags=-s helm.sh/helm/v3/cmd/helm@v3.18.6
for driver in azuredisk azurefile; do check "chart-$driver" chart "$driver"; done
end_checks "drivers' pages"
