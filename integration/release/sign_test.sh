#!/usr/bin/env bash
# A release signed with a certificate that is made for this and thrown away.
#
#   integration/release/sign_test.sh VERSION UNSIGNED DIRECTORY
set -euo pipefail
version=$1
unsigned=$2
out=$3
cd "$(dirname "$0")/../.."
mkdir -p "$out"
out=$(cd "$out" && pwd)
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj "/CN=CSI Proxy test" -addext extendedKeyUsage=codeSigning \
  -keyout "$out/key.pem" -out "$out/certificate.pem"
cat >"$out/sign" <<SIGN
#!/bin/sh
set -e
osslsigncode sign -certs "$out/certificate.pem" -key "$out/key.pem" -h sha256 -n "CSI Proxy" -in "\$1" -out "\$1.signed"
mv "\$1.signed" "\$1"
SIGN
chmod +x "$out/sign"
CSI_PROXY_SIGN="$out/sign" scripts/release.sh "$version" "$out/dist"

name=csi-proxy-$version-windows-amd64
for release in "$unsigned" "$out/dist"; do
  mkdir -p "$out/unpacked/$(basename "$release")"
  (cd "$out/unpacked/$(basename "$release")" && cmake -E tar xf "$release/$name.zip" --format=zip)
done
before=$out/unpacked/$(basename "$unsigned")/$name/bin
after=$out/unpacked/dist/$name/bin
for program in "$before"/*; do
  file=${program##*/}
  osslsigncode verify -CAfile "$out/certificate.pem" -in "$after/$file"
  # A program without a signature is not taken, nor one that was changed behind it.
  if osslsigncode verify -CAfile "$out/certificate.pem" -in "$program"; then exit 1; fi
  # Beneath the signature is the same program, and that is what the statement of provenance names.
  read -r hash _ <<<"$(scripts/release/unsigned.py "$program")"
  grep -F "$hash  " <<<"$(scripts/release/unsigned.py "$after/$file")"
  if cmp "$program" "$after/$file"; then exit 1; fi
  jq -e --arg name "$name/bin/$file, unsigned" --arg hash "$hash" \
    '.predicate.runDetails.byproducts[] | select(.name == $name) | .digest.sha256 == $hash' \
    "$out/dist/csi-proxy-$version.provenance.json"
done
cp "$after/csi-proxy.exe" "$out/changed.exe"
printf 'x' | dd of="$out/changed.exe" bs=1 seek=65536 conv=notrunc
if osslsigncode verify -CAfile "$out/certificate.pem" -in "$out/changed.exe"; then exit 1; fi
grep -F "programs for Windows are signed" "$out/dist/RELEASE_NOTES.md"
# The rest is as it was.
for file in "$unsigned"/*.deb; do cmp "$file" "$out/dist/${file##*/}"; done
