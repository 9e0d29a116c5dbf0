#!/usr/bin/env bash
# Checks the manifests, and that the check would notice: against the schemas of two releases of
# Kubernetes, and against what csi-proxy serves and takes.
#
#   scripts/deploy/check.sh CSI_PROXY
set -euo pipefail
proxy=$(realpath "$1")
cd "$(dirname "$0")/../.."

# The command line of OpenShift's operator, where the README quotes it.
read -ra openshift < <(grep -oP '^    C:\\k\\csi-proxy\.exe \K.*' scripts/deploy/README.md)
"$proxy" "${openshift[@]}" --help >/dev/null

python=build/deploy/python
if ! cmp -s scripts/deploy/requirements.txt "$python/requirements.txt"; then
  rm -rf "$python"
  python3 -m venv "$python"
  "$python/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    -r scripts/deploy/requirements.txt
  cp scripts/deploy/requirements.txt "$python/"
fi
exec "$python/bin/python" -B scripts/deploy/check.py "$proxy"
