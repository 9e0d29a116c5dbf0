#!/usr/bin/env python3
"""Checks the workflows of GitHub beyond what actionlint does, then that the checks would notice mistakes.

What a step runs is a script of this repository that knows the flags it is given; what a job downloads, a job
before it has uploaded; actions are pinned; nobody gets more rights than needed.
"""

import copy
import pathlib
import re
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKFLOWS = ".github/workflows"
# It calls scripts itself.
SCRIPT = "integration/windows/run.ps1"
READ = {"contents": "read"}
# Who may do more than read.
RIGHTS = {("release.yml", "publish"): {"contents": "write", "packages": "write"}}
# In a line that pins an action, its version stands behind.
USES = re.compile(r"^ *(?:- )?uses: +(\S+)(.*)$", re.M)
PINNED = re.compile(r"[\w.-]+/[\w.-]+(?:/[\w.-]+)*@[0-9a-f]{40}")
LONGEST_RUN = 5


def listed(*arguments):
    out = subprocess.run(["git", "ls-files", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return out.stdout.splitlines()


def parameters(text):
    """The parameters of a PowerShell script, and for each the values that it takes, or None."""
    block = re.search(r"^param\((.*?)^\)|^param\((.*)\)$", text, re.M | re.S)
    found, values = {}, None
    for line in (block[1] or block[2]).splitlines():
        if match := re.search(r"ValidateSet\((.*?)\)", line):
            values = set(re.findall(r'"([^"]*)"', match[1]))
        for name in re.findall(r"\]\$(\w+)", line):
            found[name] = values
            values = None
    return found


def flag_complaints(script, words, variables):
    """What a script does not know of the words that it is given; variables has the values of a job's matrix."""
    text = (ROOT / script).read_text()
    if script.endswith(".ps1"):
        known = parameters(text)
        for flag, value in zip(words, [*words[1:], ""]):
            if not flag.startswith("-"):
                continue
            if flag[1:] not in known:
                yield f"{script} has no parameter {flag}"
            elif known[flag[1:]] is not None:
                given = variables.get(value.removeprefix("$env:"), {value})
                for one in sorted(given ^ known[flag[1:]]):
                    yield f"{script} {flag} {one}: is given or known, and not both"
        return
    usage = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    for flag in (word for word in words if word.startswith("-")):
        if not re.search(rf"(^|[^\w-]){re.escape(flag.partition('=')[0])}\b", usage, re.M):
            yield f"{script} tells of no flag {flag}"
    if words and script not in {command.split()[0] for command in re.findall(r"^# +(\S.* [A-Z\[-].*)", text, re.M)}:
        yield f"{script} tells of no arguments"


def call_complaints(script, text):
    """What a PowerShell script calls another one with, and that one does not take."""
    for name, words in re.findall(r"\(Join-Path \$\w+ \"([\w-]+\.ps1)\"\)(.*)", text):
        known = parameters((ROOT / "scripts" / name).read_text())
        for flag in re.findall(r" -([A-Z]\w*)", re.sub(r"\([^()]*\)", "", words)):
            if flag not in known:
                yield f"{script}: {name} has no parameter -{flag}"


def run_complaints(run, tracked, variables):
    lines = [line for line in run.splitlines() if line.strip()]
    if len(lines) > LONGEST_RUN:
        yield f"a run has {len(lines)} lines: {lines[0]}"
    if "${{" in run:
        yield f"a run has an expression, which anybody may have written: {run.strip()}"
    for line in lines:
        words = [word.strip("\"'") for word in line.split()]
        command = words[0].replace("\\", "/").removeprefix("./")
        first = command.partition("/")[0]
        if command.endswith((".sh", ".ps1", ".py")) or first in {path.partition("/")[0] for path in tracked}:
            if command not in tracked:
                yield f"there is no {command}"
            else:
                yield from flag_complaints(command, words[1:], variables)


def artifact(step, which):
    if str(step.get("uses", "")).startswith(f"actions/{which}-artifact@"):
        return step.get("with", {}).get("name")
    return None


def needed(jobs, name):
    needs = jobs[name].get("needs", [])
    for need in [needs] if isinstance(needs, str) else needs:
        yield need
        if need in jobs:
            yield from needed(jobs, need)


def job_complaints(file, jobs, name, tracked):
    job = jobs[name]
    if "timeout-minutes" not in job:
        yield f"{name} has no timeout"
    if job.get("permissions") != RIGHTS.get((file, name), READ):
        yield f"{name} has the permissions {job.get('permissions')}"
    matrix = job.get("strategy", {}).get("matrix", {})
    made = [artifact(step, "upload") for need in needed(jobs, name) for step in jobs.get(need, {}).get("steps", [])]
    for step in job["steps"]:
        variables = {
            variable: set(matrix.get(value.removeprefix("${{ matrix.").removesuffix(" }}"), []))
            for variable, value in step.get("env", {}).items()
        }
        yield from run_complaints(step.get("run", ""), tracked, variables)
        down, up = artifact(step, "download"), artifact(step, "upload")
        if down is not None and down not in made:
            yield f"{name} downloads {down}, which no job before it uploads"
        if up is not None and up not in made and step.get("if") != "always()" and not wanted(jobs, up):
            yield f"{name} keeps {up} only when all went well"
        if str(step.get("uses", "")).startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
            yield f"{name} leaves the token beside the sources"
        for file_ in [value for key, value in step.get("with", {}).items() if key.endswith("-file")]:
            if file_ not in tracked:
                yield f"there is no {file_}"


def wanted(jobs, name):
    """Whether a job downloads the artifact: then it has to be whole."""
    return any(artifact(step, "download") == name for job in jobs.values() for step in job["steps"])


def complaints(texts):
    tracked = set(listed())
    for file, text in texts.items():
        if file.endswith(".ps1"):
            yield from call_complaints(file, text)
            continue
        workflow = yaml.safe_load(text)
        # YAML 1.1 takes the key for a truth value.
        events = workflow[True]
        found = []
        if any(event in {"pull_request_target", "workflow_run"} for event in events):
            found.append("strangers' code would run with our rights")
        if workflow.get("permissions") != {}:
            found.append("the workflow has permissions of its own")
        if "group" not in workflow.get("concurrency", {}):
            found.append("no concurrency")
        for action, behind in USES.findall(text):
            if not PINNED.fullmatch(action):
                found.append(f"{action} is not pinned")
            elif not re.fullmatch(r" # v\d+\.\d+\.\d+", behind):
                found.append(f"{action} has no version behind it")
        for name in workflow["jobs"]:
            found += job_complaints(file, workflow["jobs"], name, tracked)
        yield from (f"{file}: {complaint}" for complaint in found)


# A file, a text in it, what takes its place, and what a complaint then says.
MISTAKES = [
    ("linux.yml", "scripts/test.sh --all", "scripts/tests.sh --all", "there is no scripts/tests.sh"),
    ("linux.yml", "scripts/test.sh --all", "scripts/test.sh --every", "tells of no flag --every"),
    ("linux.yml", "integration/go.mod", "go.mod", "there is no go.mod"),
    ("linux.yml", "  pull_request:", "  pull_request_target:", "with our rights"),
    ("linux.yml", "permissions: {}", "permissions: write-all", "permissions of its own"),
    ("linux.yml", "permissions: {}\n", "", "permissions of its own"),
    ("linux.yml", "      contents: read", "      contents: write", "has the permissions"),
    ("linux.yml", "    timeout-minutes: 350\n", "", "no timeout"),
    ("linux.yml", "        if: always()\n", "", "only when all went well"),
    ("linux.yml", "persist-credentials: false", "persist-credentials: true", "leaves the token"),
    ("linux.yml", "concurrency:\n  group: linux-${{ github.ref }}", "concurrency:\n  other: x", "no concurrency"),
    ("windows.yml", "@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "@v5", "is not pinned"),
    ("windows.yml", "@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "@08c6903", "is not pinned"),
    ("windows.yml", " # v5.0.0", "", "has no version"),
    ("windows.yml", "integration/windows/pack.sh packed", "integration/windows/pack.py packed", "there is no integration"),
    ("windows.yml", "-Packed packed", "-Pack packed", "has no parameter -Pack"),
    ("windows.yml", "service, tests,", "service, test,", "run.ps1 -Part test: "),
    ("windows.yml", "run.ps1 -Part $env:PART", "run.ps1 -Part bench", "run.ps1 -Part container: "),
    ("windows.yml", "          name: packed\n          path: packed\n      - name: run", "          name: parcel\n          path: packed\n      - name: run", "downloads parcel"),
    ("windows.yml", "    needs: build\n", "", "downloads packed"),
    ("windows.yml", "run: scripts\\vcpkg\\build.ps1", "run: echo ${{ github.head_ref }} && scripts\\vcpkg\\build.ps1", "has an expression"),
    ("run.ps1", " -Note $note", " -Notes $note", "node-check.ps1 has no parameter -Notes"),
    ("release.yml", "    needs: make\n", "", "downloads dist"),
    ("release.yml", "      packages: write\n", "      packages: write\n      actions: write\n", "has the permissions"),
    ("release.yml", "scripts/release/publish.sh dist", "scripts/release/publish.sh --force dist", "tells of no flag --force"),
    ("release.yml", "          scripts/install-packages.sh\n", "          date\n          date\n          scripts/install-packages.sh\n", "a run has 6 lines"),
]


def unnoticed(texts):
    for file, old, new, words in MISTAKES:
        changed = copy.copy(texts)
        changed[file] = texts[file].replace(old, new, 1)
        if changed == texts:
            yield f"{file} has no {old!r}"
            continue
        found = list(complaints(changed))
        if not any(words in complaint for complaint in found):
            yield f"{file} with {new!r}: was not noticed as {words!r}, but as {found}"


def main():
    texts = {pathlib.Path(path).name: (ROOT / path).read_text() for path in [*listed(WORKFLOWS), SCRIPT]}
    found = list(complaints(texts)) or list(unnoticed(texts))
    for complaint in found:
        print(complaint, file=sys.stderr)
    print(f"workflows: {len(texts) - 1} files, {len(MISTAKES)} mistakes to notice: {len(found)} problems")
    return 1 if found or len(texts) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
