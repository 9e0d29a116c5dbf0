#!/usr/bin/env bash
# Brings the nodes of one wave to the newest template of a DaemonSet whose update strategy is
# OnDelete, a few at a time, and stops when nodes do not come back. Nodes that are done already are
# left alone: so the script can be repeated, and after `kubectl rollout undo` it takes a wave back.
#
#   scripts/deploy/wave.sh SELECTOR [--at-once=N] [--failures=N] [--timeout=SECONDS] [--dry-run]
#
#   SELECTOR    which nodes, such as csi-proxy-wave=1
#   --at-once   how many nodes have no csi-proxy at a time; default 5
#   --failures  how many nodes may fail before it stops; default 0
#   --timeout   how long a node may take until its pod is available; default 300
#
# $NAMESPACE and $DAEMONSET: default csi-windows and csi-proxy. Needs kubectl and jq.
set -euo pipefail
namespace=${NAMESPACE:-csi-windows}
daemonset=${DAEMONSET:-csi-proxy}
at_once=5 failures=0 timeout=300 dry_run=no selector=
for argument in "$@"; do
  case $argument in
    --at-once=*) at_once=${argument#*=} ;;
    --failures=*) failures=${argument#*=} ;;
    --timeout=*) timeout=${argument#*=} ;;
    --dry-run) dry_run=yes ;;
    -*) echo "unknown option $argument" >&2; exit 2 ;;
    *) selector=$argument ;;
  esac
done
[[ -n $selector ]] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
kube() { kubectl --namespace="$namespace" "$@"; }

set_=$(kube get daemonset "$daemonset" -o json)
if [[ $(jq -r .spec.updateStrategy.type <<<"$set_") != OnDelete ]]; then
  echo "the update strategy of $daemonset is not OnDelete: its controller replaces pods of all nodes" >&2
  exit 2
fi
if ! jq -e '.status.observedGeneration == .metadata.generation' <<<"$set_" >/dev/null; then
  echo "the controller has not seen the newest $daemonset yet: try again" >&2
  exit 2
fi
uid=$(jq -r .metadata.uid <<<"$set_")
labels=$(jq -r '.spec.selector.matchLabels | to_entries | map("\(.key)=\(.value)") | join(",")' <<<"$set_")
settle=$(jq -r '.spec.minReadySeconds // 0' <<<"$set_")
# An undo makes an old revision the newest.
newest=$(kube get controllerrevisions -l "$labels" -o json | jq -r --arg uid "$uid" '
  [.items[] | select(.metadata.ownerReferences[]?.uid == $uid)] | max_by(.revision)
  | .metadata.labels["controller-revision-hash"]')

# Lines of: node, pod, revision, whether it is available.
pods() {
  kube get pods -l "$labels" -o json | jq -r --arg uid "$uid" --argjson settle "$settle" '
    .items[] | select(.metadata.ownerReferences[]?.uid == $uid and .metadata.deletionTimestamp == null)
    | (.status.conditions // [] | map(select(.type == "Ready" and .status == "True")) | first) as $ready
    | [.spec.nodeName, .metadata.name, .metadata.labels["controller-revision-hash"],
       ($ready != null and (now - ($ready.lastTransitionTime | fromdate)) >= $settle)] | @tsv'
}

mapfile -t nodes < <(kubectl get nodes -l "$selector" -o json | jq -r '
  .items[] | select(any(.status.conditions[]; .type == "Ready" and .status == "True")) | .metadata.name')
left_out=$(kubectl get nodes -l "$selector" -o json | jq -r '
  [.items[] | select(any(.status.conditions[]; .type == "Ready" and .status == "True") | not) | .metadata.name] | join(" ")')
[[ -z $left_out ]] || echo "not ready, and left out: $left_out"

declare -A pod_of revision_of available_on
look() {
  pod_of=() revision_of=() available_on=()
  local node pod revision available
  while IFS=$'\t' read -r node pod revision available; do
    pod_of[$node]=$pod revision_of[$node]=$revision available_on[$node]=$available
  done < <(pods)
}
there() { [[ ${revision_of[$1]:-} == "$newest" && ${available_on[$1]:-} == true ]]; }

look
todo=()
for node in "${nodes[@]}"; do there "$node" || todo+=("$node"); done
echo "$selector: ${#nodes[@]} nodes, ${#todo[@]} of them not at revision $newest"
if [[ $dry_run == yes ]]; then printf '%s\n' "${todo[@]}"; exit 0; fi

failed=()
for ((i = 0; i < ${#todo[@]}; i += at_once)); do
  batch=("${todo[@]:i:at_once}")
  gone=()
  for node in "${batch[@]}"; do
    [[ -z ${pod_of[$node]:-} || ${revision_of[$node]} == "$newest" ]] || gone+=("${pod_of[$node]}")
  done
  [[ ${#gone[@]} -eq 0 ]] || kube delete pod "${gone[@]}" --wait=false >/dev/null
  end=$((SECONDS + timeout))
  while :; do
    look
    missing=()
    for node in "${batch[@]}"; do there "$node" || missing+=("$node"); done
    [[ ${#missing[@]} -gt 0 && $SECONDS -lt $end ]] || break
    sleep 2
  done
  failed+=("${missing[@]}")
  echo "$((i + ${#batch[@]})) of ${#todo[@]} nodes, ${#failed[@]} failed"
  if [[ ${#failed[@]} -gt $failures ]]; then
    echo "stopped: ${failed[*]}" >&2
    exit 1
  fi
done
