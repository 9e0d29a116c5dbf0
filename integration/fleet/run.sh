#!/usr/bin/env bash
# The commands of scripts/deploy/fleet.md, as they stand there, on a real API server with the real
# controller of DaemonSets and kubectl; nodes and kubelets are a loop (kubelet.py). Not part of
# scripts/test.sh: the first run builds the API server, for a quarter of an hour.
#
#   integration/fleet/run.sh [NODES]      default 60
set -euo pipefail
cd "$(dirname "$0")/../.."
nodes=${1:-60}
out=$PWD/build/fleet
state=$out/state
rm -rf "$state"
mkdir -p "$state"
if [[ ! -x $out/etcd/usr/bin/etcd ]]; then
  # Not installed: Debian would start it.
  (cd "$out" && apt-get download -qq etcd-server 2>/dev/null && dpkg -x etcd-server_*.deb etcd)
fi
if ! cmp -s integration/fleet/requirements.txt "$out/python/requirements.txt"; then
  python3 -m venv "$out/python"
  "$out/python/bin/pip" install --quiet --disable-pip-version-check -r integration/fleet/requirements.txt
  cp integration/fleet/requirements.txt "$out/python/"
fi
export PATH=$out/python/bin:$PATH KUBECONFIG=$state/kubeconfig
(cd integration/fleet && CGO_ENABLED=0 nice go build -p 1 -ldflags='-s -w' -o "$out/cluster" .)

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
etcd=http://127.0.0.1:$(port)
peers=http://127.0.0.1:$(port)
server=$(port)
started=()
trap 'kill "${started[@]}" 2>/dev/null; wait' EXIT
"$out/etcd/usr/bin/etcd" --data-dir "$state/data" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
  --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" >"$state/etcd.log" 2>&1 &
started+=($!)
openssl genrsa -out "$state/accounts.key" 2048 2>/dev/null
echo token,admin,admin,system:masters >"$state/tokens"
# HostProcess pods are privileged ones.
"$out/cluster" --etcd-servers="$etcd" --bind-address=127.0.0.1 --secure-port="$server" --cert-dir="$state/certs" \
  --service-account-key-file="$state/accounts.key" --service-account-signing-key-file="$state/accounts.key" \
  --service-account-issuer=https://fleet.example --token-auth-file="$state/tokens" --authorization-mode=AlwaysAllow \
  --service-cluster-ip-range=10.0.0.0/24 --allow-privileged=true >"$state/server.log" 2>&1 &
started+=($!)
cat >"$KUBECONFIG" <<K
apiVersion: v1
kind: Config
clusters: [{name: fleet, cluster: {server: "https://127.0.0.1:$server", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: token}}]
contexts: [{name: fleet, context: {cluster: fleet, user: admin}}]
current-context: fleet
K
for _ in $(seq 120); do kubectl get --raw /readyz >/dev/null 2>&1 && break; sleep 1; done
"$out/cluster" control "$KUBECONFIG" >"$state/control.log" 2>&1 &
started+=($!)
python3 integration/fleet/kubelet.py "$nodes" "$KUBECONFIG" >"$state/kubelet.log" 2>&1 &
started+=($!)

passed=0
failed=0
check() {
  local name=$1
  shift
  if "$@" >"$state/log" 2>&1; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "$name FAILED:"
    head -20 "$state/log"
  fi
}
# The page's commands: indented, and joined where they go on; then those in its tables.
sed -nE 's/^ {4,}//p' scripts/deploy/fleet.md |
  awk '/(\\|\|)$/ { sub(/\\$/, ""); line = line $0; next } { print line $0; line = "" }' >"$state/commands"
grep -oE '`kubectl [^`]*`' scripts/deploy/fleet.md | tr -d '`' >>"$state/commands"
# page TEXT [SED]: runs the first command of the page with the text in it.
page() {
  local command
  command=$(grep -F -m 1 -e "$1" "$state/commands" | sed -e "${2-}")
  [[ -n $command ]] || { echo "the page has no command with $1"; return 1; }
  (cd scripts/deploy && PATH=$PWD/../..:$PATH && bash -c "${command//scripts\/deploy\//./}")
}
running() {
  local wanted=$1 tag=$2 some
  some=$(kubectl -n csi-windows get pods -l app=csi-proxy -o json |
    jq --arg tag ":$tag" '[.items[] | select(.status.phase == "Running" and (.spec.containers[0].image | endswith($tag)))] | length')
  [[ $some -eq $wanted ]] || { echo "$some of $wanted run $tag"; return 1; }
}
eventually() { for _ in $(seq 60); do "$@" >/dev/null && return; sleep 1; done; "$@"; }
fails() { ! "$@"; }
set_image() { kubectl -n csi-windows set image daemonset/csi-proxy "csi-proxy=registry.example/csi-proxy:$1"; }

nodes_there() { [[ $(kubectl get nodes -o name | wc -l) -eq $nodes ]]; }
check "nodes" eventually nodes_there
check "apply" kubectl apply -f scripts/deploy/namespace.yaml -f scripts/deploy/proxy-daemonset.yaml
check "every node has csi-proxy" eventually running "$nodes" 2.0.0
check "install-daemonset.yaml" kubectl apply --dry-run=server -f scripts/deploy/install-daemonset.yaml
# So that the trial takes minutes.
check "hurry" kubectl -n csi-windows patch daemonset csi-proxy --type=merge -p '{"spec": {"minReadySeconds": 3}}'

check "a wave needs OnDelete" fails scripts/deploy/wave.sh kubernetes.io/os=windows
check "hold" page OnDelete
check "metrics" page metrics-patch.yaml
check "wave 0" page csi-proxy-wave=0 's/node-1 node-2/win-1 win-2/'
check "wave 1" page 'shuf -n 20'
check "a note" page change-cause
check "a template" page 'set image'
sleep 3
check "no pod was touched" running "$nodes" 2.0.0
dry() { [[ $(page 'at-once=1 --dry-run' | tail -n +2 | sort | xargs) == "win-1 win-2" ]]; }
check "what wave 0 would do" dry
check "still no pod was touched" running "$nodes" 2.0.0
check "wave 0 goes" page 'wave.sh csi-proxy-wave=0 --at-once=1' 's/ --dry-run//'
check "wave 0 is there" running 2 2.1.0
check "wave 1 goes" page 'wave.sh csi-proxy-wave=1 --at-once=5'
check "wave 1 is there" running 22 2.1.0
twice() { page 'wave.sh csi-proxy-wave=1 --at-once=5' | grep -F "20 nodes, 0 of them"; }
check "a second time there is nothing to do" twice

# A version that does not start on a third of the nodes.
check "a broken template" set_image 2.2.0-broken
sleep 2
first() { scripts/deploy/wave.sh kubernetes.io/os=windows --at-once=6 --timeout=15; }
check "a broken wave stops" fails first
cp "$state/log" "$state/broken"
check "and names the nodes" grep -E "^stopped: win-" "$state/broken"
untouched() { [[ $(kubectl -n csi-windows get pods -l app=csi-proxy -o json | jq '[.items[] | select(.spec.containers[0].image | endswith("-broken"))] | length') -le 6 ]]; }
check "other nodes are left alone" untouched
check "who does not start" page 'status.phase!=Running'
check "mounts that fail" page FailedMount
check "the history" page 'rollout history'
cp "$state/log" "$state/history"
check "the history tells the versions" grep -F "csi-proxy 2.1.0" "$state/history"
before=$(awk '/csi-proxy 2.1.0/ { print $1; exit }' "$state/history")
check "undo" page 'rollout undo' "s/=N\$/=$before/"
sleep 2
check "the wave goes back" scripts/deploy/wave.sh kubernetes.io/os=windows --at-once=20 --failures=5
check "every node has the version before" running "$nodes" 2.1.0

check "the next template" set_image 2.3.0
check "the rest" page '"RollingUpdate"' 's/"2%"/"5%"/'
one() { [[ $(kubectl -n csi-windows get daemonset csi-proxy -o json | jq ".status.updatedNumberScheduled // 0") -gt 3 ]]; }
check "it rolls" eventually one
check "stop" page OnDelete
sleep 5
moved() { kubectl -n csi-windows get daemonset csi-proxy -o json | jq ".status.updatedNumberScheduled // 0"; }
at=$(moved)
sleep 10
check "it has stopped" test "$(moved)" -eq "$at"
check "before its end" test "$at" -lt "$nodes"
check "on" page '"RollingUpdate"' 's/"2%"/"20%"/'
check "to its end" timeout 300 kubectl -n csi-windows rollout status daemonset/csi-proxy
check "every node has the newest" running "$nodes" 2.3.0
echo "fleet: $passed passed, $failed failed"
[[ $failed -eq 0 ]]
