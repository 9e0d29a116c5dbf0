#!/usr/bin/env bash
# Checks the manifests, and that the check would notice: against the schemas of two releases of
# Kubernetes, and against what csi-proxy serves and takes, and csi-node-sidecars.
#
#   scripts/deploy/check.sh CSI_PROXY CSI_NODE_SIDECARS
set -euo pipefail
proxy=$(realpath "$1")
sidecars=$(realpath "$2")
cd "$(dirname "$0")/../.."

# The command line of OpenShift's operator, where the README quotes it.
read -ra openshift < <(grep -oP '^    C:\\k\\csi-proxy\.exe \K.*' scripts/deploy/README.md)
"$proxy" "${openshift[@]}" --help >/dev/null

exec "$(scripts/deploy/python.sh)" -B scripts/deploy/check.py "$proxy" "$sidecars"
