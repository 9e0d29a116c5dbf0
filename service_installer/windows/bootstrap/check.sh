#!/usr/bin/env bash
# Checks the PowerShell scripts as far as possible without PowerShell: they must parse by a grammar,
# and the programs must know every flag, rpc and field that they use.
#
#   service_installer/windows/bootstrap/check.sh      the programs are those of build/release, and of build/windows under Wine
set -euo pipefail
cd "$(dirname "$0")/../../.."
proxy=$PWD/build/release/server/csi-proxy
proxy_help=$("$proxy" --help)
service_help=$(integration/wine/run build/windows/service_installer/csi-proxy-service.exe --help)
ctl=$PWD/build/release/client/ctl/csi-proxyctl
ctl_help=$("$ctl" --help)
sidecars_help=$(build/release/client/sidecars/program/csi-node-sidecars --help 2>&1)
cd service_installer/windows/bootstrap
node_check=(../node-check.ps1 ../node-check/*.ps1)
# GitHub's workflows run these.
workflows=(../../../integration/windows/run.ps1 ../../../integration/drivers/steps/machine.ps1)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
problems=0
complain() { echo "$1" >&2; problems=$((problems + 1)); }

# Prints a script without its comments.
code_of() { sed -z 's/<#[^#]*#>//g' "$1" | sed 's/^[[:space:]]*#.*//'; }
# check_proxy_flags SCRIPT TEXT: checks the flags of csi-proxy in a text, in the form of Go's flags.
check_proxy_flags() {
  local flag
  for flag in $(grep -oE -- '["[:space:]]-[a-z][a-z_-]+' <<<"$2" | tr -d '" ' | sort -u); do
    grep -qE -- "--${flag#-}( |\$)" <<<"$proxy_help" || complain "$1: csi-proxy has no flag $flag"
  done
}

# Parses the scripts if npm can fetch the grammar.
modules=$HOME/.cache/csi-proxy/powershell-grammar
if [[ ! -d $modules/node_modules ]] && command -v npm >/dev/null; then
  mkdir -p "$modules"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$modules" \
    web-tree-sitter@0.25.10 tree-sitter-powershell@0.26.4 >/dev/null || rm -rf "$modules"
fi
if [[ -d $modules/node_modules ]]; then
  # Scripts that run as one are parsed as one.
  one() { local IFS=,; echo "$*"; }
  node parse.mjs "$modules" ./*.ps1 "$(one "${node_check[@]}")" "$(one "${workflows[0]}" ../node-check/harness.ps1)" \
    "$(one "${workflows[1]}" ../node-check/{harness,node}.ps1)" || complain "a script is wrong"
  "$ctl" completion powershell >"$built/completion.ps1"
  node parse.mjs "$modules" "$built/completion.ps1" || complain "the completion for PowerShell is wrong"
else
  echo "the scripts were not parsed: npm cannot fetch the grammar" >&2
fi

for script in *.ps1; do
  code=$(code_of "$script")
  # Another user may have put a program of this name into the folder of the installation.
  grep -o '.\{,60\}csi-proxy-service\.exe"' <<<"$code" | grep -v 'Join-Path $PSScriptRoot "csi-proxy-service\.exe"' &&
    complain "$script: the installer is run from another folder than the script's"
  # Flags have two dashes for the installer and one for the service.
  for flag in $(grep -oE -- '--[a-z][a-z-]+' <<<"$code" | sort -u); do
    grep -q -- "$flag" <<<"$service_help" || complain "$script: csi-proxy-service has no flag $flag"
  done
  check_proxy_flags "$script" "$(grep -E 'windows-service|"--" "-' <<<"$code" | sed 's/.* "--" / /; s/.*binPath= / /')"
done

# For each doubt there must be a part of node-check.ps1 or run.ps1, or a step of the selftest, that shows it.
declared=$(grep -ohP '(Test-Part |@\()"\K[a-z0-9-]+' "${node_check[@]}" | sort -u)
for part in $(grep '^| [0-9]' ../../../server/host/doubts.md | cut -d '|' -f 6 | grep -o '`[a-z0-9/-]*`' | tr -d '`'); do
  case $part in
    selftest/*) grep -qF "{\"${part#selftest/}\"," ../../../client/ctl/selftest/steps.cc ;;
    windows/*) grep -qE "\"${part#windows/}\"" "${workflows[0]}" ;;
    *) grep -qxF "$part" <<<"$declared" ;;
  esac || complain "doubts.md: there is no part $part"
done

# upgrade.ps1 must find the service by its program, and no other service.
python3 - "$(grep -oP "^\\\$pattern = '\K.*(?=')" upgrade.ps1)" <<'END' || complain "upgrade.ps1 finds other services than it should"
import re, sys
found = lambda path: (re.match(sys.argv[1], path) or [None, None])[1]
path = r"C:\Program Files\Amazon\EKS\csi-proxy\csi-proxy.exe"
assert found(path) == found(f'"{path}"') == found(f'"{path}" -windows-service') == found(f"{path} -v=2") == path
assert found(r"c:\k\CSI-Proxy.EXE") == r"c:\k\CSI-Proxy.EXE"
for other in (r"C:\k\nssm.exe", r'"C:\k\csi-proxy-service.exe" run', r"C:\k\csi-proxy.exe.old", r'"C:\k\host.exe" C:\k\csi-proxy.exe'):
    assert found(other) is None, other
END
# csi-proxy must accept the command line of Rancher's agent, and the example for EKS must parse.
read -ra wins < <(grep -oP '^    csi-proxy\.exe \K.*' README.md)
"$proxy" "${wins[@]}" --help >/dev/null || complain "csi-proxy does not take the command line of wins"
sed -n '/^  ```powershell$/,/^  ```$/p' README.md | grep -v '```' >"$built/eks.ps1"
grep -q 'upgrade\.ps1' "$built/eks.ps1" || complain "README.md has no example for EKS"
[[ ! -d $modules/node_modules ]] || node parse.mjs "$modules" "$built/eks.ps1" || complain "the example for EKS does not parse"

# The line in README.md that users paste must parse.
sed -n '/^```powershell$/,/^```$/p' README.md | grep -v '^```' >"$built/pasted.ps1"
[[ -s $built/pasted.ps1 ]] || complain "README.md has no line to paste"
[[ ! -d $modules/node_modules ]] || node parse.mjs "$modules" "$built/pasted.ps1" || complain "the line to paste does not parse"
grep -q 'share\\csi-proxy\\node-check.ps1' "$built/pasted.ps1" || complain "the line to paste runs another script"

calls=0
for script in "${node_check[@]}"; do
  code=$(code_of "$script")
  check_proxy_flags "$script" "$(grep -oE '"-[a-z][a-z_-]*=' <<<"$code" | tr -d =)"
  while read -r line; do
    # A line that makes a call: "group", "method", "--field=value".
    if [[ $line =~ \"(disk|filesystem|iscsi|smb|storage|system|volume)\",\ \"([a-z-]+)\" ]]; then
      calls=$((calls + 1))
      known=$("$ctl" describe "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}") ||
        complain "$script: there is no rpc ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
      # The answer must have the fields that the script reads.
      for field in $(grep -oE '"\)\.[A-Za-z_]+(\."[^"]*"\.[a-z_]+)?' <<<"$line" | sed 's/^")//' | grep -oE '\.[A-Za-z_]+' | tr -d .); do
        grep -qE "^ +$field " <<<"$known" || complain "$script: the answer has no field $field: $line"
      done
    else
      known=$ctl_help$'\n'$proxy_help$'\n'$service_help$'\n'$sidecars_help
    fi
    for flag in $(grep -oE -- '--[a-z][a-z.-]+' <<<"$line"); do
      # A secret may also come from a file.
      grep -q -- "$flag" <<<"$known" || flag=${flag%-file}
      grep -qE -- "$flag( |=|\$)" <<<"$known" || complain "$script: there is no flag $flag: $line"
    done
  done < <(grep -E -- '--[a-z]|", "' <<<"$code")
done
flags=0
# The known flags: those of our programs, of the Go tests, and of the only rpc that the scripts call.
known=$proxy_help$'\n'$service_help$'\n'$ctl_help$'\n'$("$ctl" describe filesystem path-exists)
known+=$(sed -nE 's/.*flag\.[A-Za-z0-9]+\((&[a-z.]+, )?"([a-z-]+)".*/\n--\2 /p' ../../../integration/{service/hostile/main,drivers/steps/report,clients/legacy_go/load/main}.go)
# Every Go test program accepts -test.v and -test.run.
known+=$'\n--test '
for script in ../../../integration/windows/run.ps1 ../../../integration/drivers/steps/machine.ps1; do
  for flag in $(code_of "$script" | grep -vE 'docker\.exe|tar\.exe|\$inside = ' | grep -oE -- '"--?[a-z][a-z_-]*[a-z]\b' | tr -d '"' | sort -u); do
    grep -qE -- "--$(sed "s|^-*||" <<<"$flag")( |=|\$)" <<<"$known" || complain "$script: there is no flag $flag"
    flags=$((flags + 1))
  done
done
[[ $flags -gt 10 ]] || complain "only $flags flags were found in what the workflows run"
[[ $calls -gt 30 ]] || complain "only $calls calls of rpcs were found in node-check"
[[ $problems -eq 0 ]]
