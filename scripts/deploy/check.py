"""Checks the manifests, then that the checks would notice. See check.sh."""

import copy
import functools
import json
import sys

import yaml
from kubernetes_validate import utils

import manifests
import rules
import sidecars

# The release in which HostProcess became stable, and the newest one whose schemas there are.
RELEASES = ("1.26", "1.37")

# The first of these releases does not have them yet.
YOUNGER = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

POD = ["spec", "template", "spec"]
# Words at the start of a place in mistakes.tsv stand for these paths.
PLACES = {"first": [], "pod": POD} | {
    name: [*POD, "containers", str(number)] for number, name in enumerate(("driver", "beside", "prober"))
}
NOT_YAML = ["spec:\n  a: 1\n  a: 2\n", "spec: [", "a:\n\tb: 1\n"]
# Texts in sidecars.md, and the mistakes that take their places.
PAGES = [
    ("```diff\n", "```\n"),
    ("memory: 20Mi", "memory: 21Mi"),
    ("+          image: registry.example", "+          image: registry.test"),
]

# The schemas are large, and each is read many times.
utils.schema_contents = functools.lru_cache(maxsize=None)(utils.schema_contents)


def schema_complaints(all_):
    for file, documents in all_.files.items():
        for resource in documents:
            for release in RELEASES[1:] if resource["kind"] in YOUNGER else RELEASES:
                try:
                    used = utils.validate(resource, release, strict=True)
                    if used != release:
                        yield f"{file}: there are no schemas of Kubernetes {release}"
                except utils.ValidationError as error:
                    path = ".".join(str(part) for part in error.path)
                    yield f"{file}: Kubernetes {release}: {resource['kind']}: {path}: {error.message}"
                except utils.SchemaNotFoundError as error:
                    yield f"{file}: {error.message}"


def complaints(all_):
    # The rules rely on what the schemas have made sure of.
    return list(schema_complaints(all_)) or rules.complaints(all_)


def mistakes():
    lines = (manifests.DIRECTORY / "mistakes.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def make(documents, place, value):
    """Puts a value at a place in a file, or takes away what is there."""
    first, *rest = place.split()
    holder = documents[0 if first == "first" else -1]
    *to, last = [*PLACES.get(first, [first]), *rest]
    for step in to:
        holder = holder[int(step) if isinstance(holder, list) else step]
    if not value:
        del holder[last]
    elif not isinstance(holder, list):
        holder[last] = json.loads(value)
    else:
        holder[int(last) : int(last) + 1] = [json.loads(value)]


def unnoticed(all_):
    """The mistakes that the checks would let pass."""
    for file, place, value, words, name in mistakes():
        changed = copy.deepcopy(all_)
        make(changed.files[file], place, value)
        if changed.files == all_.files:
            yield f"{name}: changed nothing"
            continue
        found = complaints(changed)
        if not any(words in complaint for complaint in found):
            yield f"{name}: was not noticed as {words!r}, but as {found}"
    for text in NOT_YAML:
        try:
            manifests.parse(text)
            yield f"{text!r}: was taken"
        except yaml.YAMLError:
            pass
    for old, new in PAGES:
        page, whole = manifests.staged()
        try:
            sidecars.steps(page.replace(old, new, 1), whole)
            yield f"sidecars.md: {new!r} was taken"
        except ValueError:
            pass


def main():
    all_ = manifests.load(*sys.argv[1:])
    found = complaints(all_) or list(unnoticed(all_))
    for complaint in found:
        print(complaint, file=sys.stderr)
    resources = sum(len(documents) for documents in all_.files.values())
    tried = len(mistakes()) + len(NOT_YAML) + len(PAGES)
    print(
        f"manifests: {resources} resources in {len(all_.files)} files, Kubernetes {' and '.join(RELEASES)}, "
        f"{tried} mistakes to notice: {len(found)} problems"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
