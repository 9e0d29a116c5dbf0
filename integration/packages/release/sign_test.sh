#!/usr/bin/env bash
# A release signed with a certificate that is made for this and thrown away.
#
#   integration/packages/release/sign_test.sh VERSION UNSIGNED DIRECTORY
set -euo pipefail
version=$1
unsigned=$2
out=$3
cd "$(dirname "$0")/../../.."
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
cat >"$out/sign_sums" <<SIGN
#!/bin/sh
exec openssl dgst -sha256 -sign "$out/key.pem" -out "\$1.sig" "\$1"
SIGN
chmod +x "$out/sign" "$out/sign_sums"
CSI_PROXY_SIGN="$out/sign" CSI_PROXY_SIGN_SUMS="$out/sign_sums" scripts/release.sh "$version" "$out/dist"

# The sums are signed and tell of every file but their signature; sums that were changed are not taken.
openssl x509 -in "$out/certificate.pem" -pubkey -noout >"$out/public.pem"
genuine() { openssl dgst -sha256 -verify "$out/public.pem" -signature "$out/dist/SHA256SUMS.sig" "$1"; }
genuine "$out/dist/SHA256SUMS"
(cd "$out/dist" && sha256sum --check --quiet SHA256SUMS)
diff <(sed 's/^[^ ]*  //' "$out/dist/SHA256SUMS" | sort) \
  <(cd "$out/dist" && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | sort)
sed 's/0/1/' "$out/dist/SHA256SUMS" >"$out/changed"
if genuine "$out/changed"; then exit 1; fi

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
