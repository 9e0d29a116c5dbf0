#!/usr/bin/env bash
# Renders the drivers' own charts with the values here, by Helm itself, and checks what comes of it:
# that the chart knows every key, that the pods mount pipes that csi-proxy serves, and that
# csi-node-sidecars takes the command lines of the sidecars in these pods and in those that the chart
# makes by default. Charts and Helm come as Go modules, from the cache of modules or through the
# module proxy; the modules of aws-ebs-csi-driver and csi-driver-smb are not to be had, so their
# values are not tried here.
set -euo pipefail
cd "$(dirname "$0")/../../.."
python=build/deploy/python/bin/python
[[ -x $python ]] || { echo "run scripts/deploy/check.sh first" >&2; exit 2; }

ninja -C build/release csi-node-sidecars >/dev/null
version=v3.18.6
helm=$HOME/.cache/csi-proxy/helm-$version/helm
[[ -x $helm ]] || GOBIN=$(dirname "$helm") CGO_ENABLED=0 go install -p "${JOBS:-2}" -ldflags=-s "helm.sh/helm/v3/cmd/helm@$version"

# In the releases whose mounters integration/drivers runs.
module() {
  cd "integration/drivers/$1"
  go mod download "$2"
  go list -m -f '{{.Dir}}' "$2"
}
azuredisk=$(module azuredisk sigs.k8s.io/azuredisk-csi-driver)
azurefile=$(module azurefile sigs.k8s.io/azurefile-csi-driver)
gcp_pd=$(module gcp_pd sigs.k8s.io/gcp-compute-persistent-disk-csi-driver)
"$python" -B scripts/deploy/helm/charts.py "$helm" \
  build/release/client/sidecars/program/csi-node-sidecars \
  "azuredisk=$azuredisk/charts/latest/azuredisk-csi-driver" \
  "azurefile=$azurefile/charts/latest/azurefile-csi-driver" \
  "gcp-pd=$gcp_pd/deploy/kubernetes/base/node_windows/node.yaml"
