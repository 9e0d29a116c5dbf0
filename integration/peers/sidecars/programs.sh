# To be sourced by run.sh and bench.sh, in the project's directory: makes the programs, in $out.
. integration/support/checks.sh

. integration/support/go.sh

# Of this project, and the tests' own; $program may be another csi-node-sidecars.
build() {
  ninja -C build/release csi-node-sidecars csi-proxy sample_driver >/dev/null
  ln -sf "${program:-$PWD/build/release/client/sidecars/program/csi-node-sidecars}" "$out/ours/csi-node-sidecars"
  ln -sf csi-node-sidecars "$out/ours/csi-node-driver-registrar"
  ln -sf csi-node-sidecars "$out/ours/livenessprobe"
  (cd integration/peers/sidecars && CGO_ENABLED=0 "$go" build -ldflags='-s -w' -o "$out/" ./godriver ./kubelet ./trial)
}

# Upstream's, as its own releases are built. False if the sources cannot be had.
build_upstream() {
  local sources=${CSI_PROXY_UPSTREAM_SIDECARS-} module
  local kept=$HOME/.cache/csi-proxy/sources/upstream-sidecars
  if [[ -z $sources ]]; then
    sources=$kept
    for module in node-driver-registrar@v2.17.0 livenessprobe@v2.20.0; do
      [[ -d $kept/${module%@*} ]] && continue
      local directory
      directory=$(cd / && "$go" mod download -json "github.com/kubernetes-csi/$module" 2>/dev/null | jq -r '.Dir // empty') || return 1
      [[ -n $directory ]] || return 1
      mkdir -p "$kept"
      cp -r --no-preserve=mode "$directory" "$kept/${module%@*}"
    done
  fi
  local command
  for command in node-driver-registrar/cmd/csi-node-driver-registrar livenessprobe/cmd/livenessprobe; do
    module=${command%%/*}
    (cd "$sources/$module" && CGO_ENABLED=0 "$go" build -ldflags '-extldflags "-static"' \
      -o "$out/upstream/" "./${command#*/}") || exit 1
  done
}
