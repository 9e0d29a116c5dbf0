#!/usr/bin/env bash
# The service's life with programs from elsewhere, as those of a release: installed, upgraded, removed.
#
#   integration/packages/release/life_test.sh DIRECTORY
set -euo pipefail
directory=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
ninja -C build/windows service_life_test unstoppable_service
trap 'integration/wine/run --session-stop' EXIT
integration/wine/run --session-start
export CSI_PROXY_TEST_PROGRAMS=$directory
timeout 600 integration/wine/run build/windows/integration/wine/service_life_test.exe | tee build/release-test/life.out
grep -F "testing $directory" build/release-test/life.out
