#!/usr/bin/env bash
# Signs the sums of a release that scripts/release.sh has made, and publishes it on GitHub: the files as a release
# of the tag, the images in the package registry. Run by .github/workflows/release.yml, with its variables
# GITHUB_REF_NAME, GITHUB_REPOSITORY, GITHUB_ACTOR and GH_TOKEN.
#
#   scripts/release/publish.sh DIRECTORY
#
#   CSI_PROXY_SIGNING_KEY    a private key of gpg's, armored and without a passphrase
set -euo pipefail
dist=${1:?usage: scripts/release/publish.sh DIRECTORY}
: "${GH_TOKEN:?}" "${GITHUB_ACTOR:?}" "${CSI_PROXY_SIGNING_KEY:?there is no key to sign with}"
tag=${GITHUB_REF_NAME:?}
repository=${GITHUB_REPOSITORY:?}
version=${tag#v}
images=csi-proxy-$version-oci.tar
cd "$dist"
[[ $tag == v* && -f $images ]] || { echo "$dist has no release of the tag $tag" >&2; exit 2; }
sha256sum --check --strict --quiet SHA256SUMS

GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'rm -rf "$GNUPGHOME"' EXIT
gpg --batch --quiet --import <<<"$CSI_PROXY_SIGNING_KEY"
unset CSI_PROXY_SIGNING_KEY
gpg --batch --yes --armor --detach-sign SHA256SUMS
gpg --batch --quiet --verify SHA256SUMS.asc SHA256SUMS

# GitHub has no folders in a release.
tar --create --gzip --file="$GNUPGHOME/csi-proxy-$version-go-module-proxy.tar.gz" go
mapfile -t files < <(find . -maxdepth 1 -type f -printf '%P\n' | sort)
# Images first, because the release names them.
export REGISTRY_AUTH_FILE=$GNUPGHOME/auth.json
skopeo login ghcr.io --username "$GITHUB_ACTOR" --password-stdin <<<"$GH_TOKEN"
for image in "$version"{,-sidecars}; do
  # A registry accepts only lower case.
  skopeo copy --all --preserve-digests "oci-archive:$images:$image" "docker://ghcr.io/${repository,,}:$image"
done
gh release create "$tag" --repo "$repository" --verify-tag --title "CSI Proxy $version" --notes-file RELEASE_NOTES.md \
  "${files[@]}" "$GNUPGHOME/csi-proxy-$version-go-module-proxy.tar.gz"
