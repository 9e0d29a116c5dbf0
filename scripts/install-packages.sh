#!/usr/bin/env bash
# Installs what the build and the tests need from Debian 12. Does nothing when all of it is there.
set -euo pipefail

packages=(
  build-essential ca-certificates ccache cmake git jq lld ninja-build pkg-config
  libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libprotoc-dev
  libabsl-dev libboost-program-options-dev libspdlog-dev prometheus-cpp-dev libcivetweb-dev libgtest-dev libgmock-dev libbenchmark-dev
)
if [[ "${1:-}" == --fuzz ]]; then packages+=(clang libclang-rt-14-dev llvm); fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "Installing ${#missing[@]} packages: ${missing[*]}"
sudo=""
[[ $(id -u) -eq 0 ]] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
