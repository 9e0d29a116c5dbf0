#!/usr/bin/env bash
# Checks this folder's manifests, values for drivers' charts, alerts and dashboard, with the programs
# of build/release, and that each check would notice mistakes.
#
#   scripts/deploy/check.sh manifests   against the schemas of two releases of Kubernetes, and against
#                                       the flags and pipes that the programs have
#   scripts/deploy/check.sh charts      Helm renders the drivers' own charts with the values of helm/
#   scripts/deploy/check.sh alerts      promtool reads each expression and runs the alerts' tests; each
#                                       metric and label is one that csi-proxy serves
#   scripts/deploy/check.sh helm        only installs Helm, and prints its path
set -euo pipefail
cd "$(dirname "$0")/../.."
proxy=$PWD/build/release/server/csi-proxy
ctl=$PWD/build/release/client/ctl/csi-proxyctl
sidecars=$PWD/build/release/client/sidecars/program/csi-node-sidecars

# Runs a Python that has the packages of requirements.txt.
python() {
  local home=build/deploy/python
  if ! cmp -s scripts/deploy/requirements.txt "$home/requirements.txt"; then
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r scripts/deploy/requirements.txt
    cp scripts/deploy/requirements.txt "$home/"
  fi
  "$home/bin/python" -B "$@"
}
# Charts and Helm come as Go modules. The modules of aws-ebs-csi-driver and csi-driver-smb cannot be
# had, so their values are not tried here.
install_helm() {
  local version=v3.18.6
  helm=$HOME/.cache/csi-proxy/helm-$version/helm
  [[ -x $helm ]] || GOBIN=$(dirname "$helm") CGO_ENABLED=0 go install -p "${JOBS:-2}" -ldflags=-s "helm.sh/helm/v3/cmd/helm@$version"
}
# module PROGRAM MODULE: its folder, in the release whose mounter integration/drivers runs.
module() {
  cd "integration/drivers/$1"
  go mod download "$2"
  go list -m -f '{{.Dir}}' "$2"
}

[[ $# -gt 0 ]] || set -- manifests charts alerts
for part in "$@"; do
  case $part in
    manifests)
      # The README quotes the command line of OpenShift's operator.
      read -ra openshift < <(grep -oP '^    C:\\k\\csi-proxy\.exe \K.*' scripts/deploy/README.md)
      "$proxy" "${openshift[@]}" --help >/dev/null
      python scripts/deploy/check.py "$proxy" "$sidecars"
      ;;
    charts)
      install_helm
      azuredisk=$(module azuredisk sigs.k8s.io/azuredisk-csi-driver)
      azurefile=$(module azurefile sigs.k8s.io/azurefile-csi-driver)
      gcp_pd=$(module gcp_pd sigs.k8s.io/gcp-compute-persistent-disk-csi-driver)
      python scripts/deploy/helm/charts.py "$helm" "$sidecars" \
        "azuredisk=$azuredisk/charts/latest/azuredisk-csi-driver" \
        "azurefile=$azurefile/charts/latest/azurefile-csi-driver" \
        "gcp-pd=$gcp_pd/deploy/kubernetes/base/node_windows/node.yaml"
      ;;
    alerts)
      scripts/install-packages.sh --foreign
      python scripts/deploy/monitoring/check.py "$proxy" "$ctl"
      ;;
    helm)
      install_helm
      echo "$helm"
      ;;
    *) echo "unknown part $part" >&2; exit 2 ;;
  esac
done
