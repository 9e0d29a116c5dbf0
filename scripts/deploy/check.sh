#!/usr/bin/env bash
# Checks this folder's manifests, values for drivers' charts, alerts and dashboard, with the programs
# of build/release, and that each check would notice mistakes.
#
#   scripts/deploy/check.sh manifests   against the schemas of two releases of Kubernetes, and against
#                                       the flags and pipes that the programs have
#   scripts/deploy/check.sh admission   a real API server takes the manifests, admits their pods and refuses those that
#                                       admission.yaml keeps out
#   scripts/deploy/check.sh charts      Helm renders the drivers' own charts with the values of helm/
#   scripts/deploy/check.sh alerts      promtool reads each expression and runs the alerts' tests; each
#                                       metric and label is one that csi-proxy or the sidecars serve
#   scripts/deploy/check.sh wave        wave.sh brings nodes of a cluster, which a stand-in for kubectl
#                                       plays, to the newest revision, and stops at one that fails
#   scripts/deploy/check.sh helm        only installs Helm, and prints its path
set -euo pipefail
cd "$(dirname "$0")/../.."
proxy=$PWD/build/release/server/csi-proxy
ctl=$PWD/build/release/client/ctl/csi-proxyctl
sidecars=$PWD/build/release/client/sidecars/program/csi-node-sidecars
sample_driver=$PWD/build/release/integration/drivers/sample/sample_driver

# Runs a Python that has the packages of requirements.txt.
python() {
  local home=build/deploy/python
  if ! cmp -s scripts/deploy/requirements.txt "$home/requirements.txt"; then
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r scripts/deploy/requirements.txt
    cp scripts/deploy/requirements.txt "$home/"
  fi
  "$home/bin/python" -B "$@"
}
# Charts and Helm come as Go modules. The modules of aws-ebs-csi-driver and csi-driver-smb cannot be
# had, so their values are not tried here.
install_helm() {
  local version=v3.18.6
  helm=$HOME/.cache/csi-proxy/helm-$version/helm
  [[ -x $helm ]] || GOBIN=$(dirname "$helm") CGO_ENABLED=0 go install -p "${JOBS:-2}" -ldflags=-s "helm.sh/helm/v3/cmd/helm@$version"
}
# The API server is built from Go modules, in minutes, and kept for as long as its versions and source stay.
install_apiserver() {
  local here=$PWD version key
  . integration/support/go.sh
  cd integration
  version=$("$go" list -m -f '{{.Version}}' k8s.io/kubernetes)
  key=$("$go" list -m -f '{{.Path}} {{.Version}}' k8s.io/kubernetes go.etcd.io/etcd/server/v3 | cat - peers/apiserver/main.go | sha256sum)
  apiserver=$HOME/.cache/csi-proxy/apiserver-$version-${key::12}/apiserver
  [[ -x $apiserver ]] || CGO_ENABLED=0 "$go" build -p "${JOBS:-2}" -o "$apiserver" \
    -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$version" ./peers/apiserver
  cd "$here"
}
# module PROGRAM MODULE: its folder, in the release whose mounter integration/drivers runs.
module() {
  cd "integration/drivers/$1"
  go mod download "$2"
  go list -m -f '{{.Dir}}' "$2"
}
# A cluster of three nodes, whose pods are at an old revision. The stand-in answers from cluster.json;
# a deleted pod comes back at the new revision, and is not ready on a node that is named broken.
cluster() {
  jq -n --arg strategy "$1" --arg broken "${2-}" '
    {uid: "u"} as $owner | "2026-01-01T00:00:00Z" as $long_ago | {broken: $broken,
     daemonset: {metadata: ($owner + {generation: 2}), status: {observedGeneration: 2},
                 spec: {updateStrategy: {type: $strategy}, selector: {matchLabels: {app: "csi-proxy"}}}},
     controllerrevisions: {items: [["old", 1], ["new", 2]] | map(
       {revision: .[1], metadata: {ownerReferences: [$owner], labels: {"controller-revision-hash": .[0]}}})},
     nodes: {items: ["a", "b", "c"] | map({metadata: {name: .}, status: {conditions: [{type: "Ready", status: "True"}]}})},
     pods: {items: ["a", "b", "c"] | map({metadata: {name: "pod-\(.)", ownerReferences: [$owner], labels: {"controller-revision-hash": "old"}},
       spec: {nodeName: .}, status: {conditions: [{type: "Ready", status: "True", lastTransitionTime: $long_ago}]}})}}' >"$cluster/cluster.json"
}
kubectl_stand_in() {
  cat <<'END'
#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
[[ $1 != --namespace=* ]] || shift
if [[ $1 == get ]]; then exec jq ".${2}" cluster.json; fi
[[ "$1 $2" == "delete pod" ]]
for pod in "${@:3}"; do
  [[ $pod != --* ]] || continue
  jq --arg pod "$pod" '.broken as $broken | (.pods.items[] | select(.metadata.name == $pod)) |= (
    .metadata.labels["controller-revision-hash"] = "new"
    | if .spec.nodeName == $broken then .status.conditions[0].status = "False" else . end)' cluster.json >changed.json
  mv changed.json cluster.json
done
END
}
revisions() { jq -r '[.pods.items[].metadata.labels["controller-revision-hash"]] | join(" ")' "$cluster/cluster.json"; }
# expect NAME IS SHOULD_BE
expect() { [[ $2 == "$3" ]] || { printf '%s: "%s", not "%s"\n' "$1" "$2" "$3" >&2; exit 1; }; }
# wave ARGUMENT...: the exit code; the output is in the file output.
wave() { PATH=$cluster:$PATH scripts/deploy/wave.sh role=windows "$@" >"$cluster/output" 2>&1 && echo 0 || echo $?; }

[[ $# -gt 0 ]] || set -- manifests admission charts alerts wave
for part in "$@"; do
  case $part in
    manifests)
      # The README quotes the command line of OpenShift's operator.
      read -ra openshift < <(grep -oP '^    C:\\k\\csi-proxy\.exe \K.*' scripts/deploy/README.md)
      "$proxy" "${openshift[@]}" --help >/dev/null
      python scripts/deploy/check.py "$proxy" "$sidecars"
      ;;
    admission)
      install_apiserver
      python scripts/deploy/admission.py "$apiserver" "$proxy" "$sidecars"
      ;;
    charts)
      install_helm
      azuredisk=$(module azuredisk sigs.k8s.io/azuredisk-csi-driver)
      azurefile=$(module azurefile sigs.k8s.io/azurefile-csi-driver)
      gcp_pd=$(module gcp_pd sigs.k8s.io/gcp-compute-persistent-disk-csi-driver)
      python scripts/deploy/helm/charts.py "$helm" "$sidecars" \
        "azuredisk=$azuredisk/charts/latest/azuredisk-csi-driver" \
        "azurefile=$azurefile/charts/latest/azurefile-csi-driver" \
        "gcp-pd=$gcp_pd/deploy/kubernetes/base/node_windows/node.yaml"
      ;;
    alerts)
      scripts/install-packages.sh --foreign
      python scripts/deploy/monitoring/check.py "$proxy" "$ctl" "$sidecars" "$sample_driver"
      ;;
    wave)
      cluster=$(mktemp -d)
      trap 'rm -rf "$cluster"' EXIT
      kubectl_stand_in >"$cluster/kubectl"
      chmod +x "$cluster/kubectl"
      cluster OnDelete
      expect "a dry run's code" "$(wave --dry-run)" 0
      expect "the nodes that a dry run lists" "$(tail -3 "$cluster/output" | xargs)" "a b c"
      expect "revisions after a dry run" "$(revisions)" "old old old"
      expect "a wave's code" "$(wave --at-once=2)" 0
      expect "revisions after a wave" "$(revisions)" "new new new"
      cluster OnDelete b
      expect "the code of a wave with a broken node" "$(wave --at-once=1 --timeout=1)" 1
      expect "the node that is named" "$(tail -1 "$cluster/output")" "stopped: b"
      expect "revisions after a wave that stopped" "$(revisions)" "new new old"
      cluster RollingUpdate
      expect "the code with another strategy" "$(wave)" 2
      expect "revisions with another strategy" "$(revisions)" "old old old"
      echo "wave: 0 problems"
      ;;
    helm)
      install_helm
      echo "$helm"
      ;;
    *) echo "unknown part $part" >&2; exit 2 ;;
  esac
done
