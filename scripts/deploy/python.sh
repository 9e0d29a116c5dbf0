#!/usr/bin/env bash
# Prints the path of a Python that has what requirements.txt names.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=build/deploy/python
if ! cmp -s scripts/deploy/requirements.txt "$python/requirements.txt"; then
  rm -rf "$python"
  python3 -m venv "$python"
  "$python/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    -r scripts/deploy/requirements.txt >&2
  cp scripts/deploy/requirements.txt "$python/"
fi
echo "$PWD/$python/bin/python"
