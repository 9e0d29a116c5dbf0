#!/usr/bin/env bash
# Installs the Debian 12 packages that the build and the tests need. Does nothing if all are installed.
#
#   scripts/install-packages.sh              the Linux build and its tests
#   scripts/install-packages.sh --foreign    also other projects' tools, which are tested with the service
#   scripts/install-packages.sh --fuzz       also the fuzzers
#   scripts/install-packages.sh --lint       also the checks of style
#   scripts/install-packages.sh --nodejs     also Node.js, unless it is installed
#   scripts/install-packages.sh --oci        also the tools that read the images
#   scripts/install-packages.sh --release    also the test of signing a release
#   scripts/install-packages.sh --windows    also the Windows build and its tests under Wine
set -euo pipefail

packages=(
  build-essential ca-certificates ccache cmake file git jq lld ninja-build pkg-config python3-venv
  libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libprotoc-dev
  libabsl-dev libboost-program-options-dev libspdlog-dev libgtest-dev libgmock-dev libbenchmark-dev
  libnghttp2-dev prometheus-cpp-dev
)
# Any Go works, Debian's too.
command -v go >/dev/null || packages+=(golang-go)
for group in "$@"; do
  case $group in
    # For promtool and the manifests. Debian's package also starts the Prometheus server.
    --foreign) packages+=(prometheus python3-yaml) ;;
    --fuzz) packages+=(clang libclang-rt-14-dev llvm) ;;
    --lint) packages+=(clang-format clang-tidy shellcheck) ;;
    --nodejs) command -v npm >/dev/null || packages+=(nodejs npm) ;;
    --oci) packages+=(skopeo umoci libhivex-bin) ;;
    --release) packages+=(gnupg openssl osslsigncode python3-pefile) ;;
    --windows)
      packages+=(g++-mingw-w64-x86-64-posix libz-mingw-w64-dev xz-utils wine wine64)
      ;;
    *) echo "unknown option $group" >&2; exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "Installing ${#missing[@]} packages: ${missing[*]}"
sudo=""
[[ $(id -u) -eq 0 ]] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
if ! { $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }; then
  echo "Debian's packages ${missing[*]} are missing and cannot be installed from the package sources of this machine." >&2
  echo "What is built already runs without them: ctest --preset release. See scripts/install-packages.sh for what each group is for." >&2
  exit 1
fi
