"""Checks the manifests, then that the checks would notice. See check.sh."""

import copy
import functools
import sys

import yaml
from kubernetes_validate import utils

import manifests
import mutations
import rules
import sidecar_mutations
import sidecars

# The release in which HostProcess became stable, and the newest one whose schemas there are.
RELEASES = ("1.26", "1.37")

MUTATIONS = mutations.MUTATIONS + sidecar_mutations.MUTATIONS

# The schemas are large, and each is read many times.
utils.schema_contents = functools.lru_cache(maxsize=None)(utils.schema_contents)


def schema_complaints(all_):
    for file, documents in all_.files.items():
        for resource in documents:
            for release in RELEASES:
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


def unnoticed(all_):
    """The mistakes that the checks would let pass."""
    for mutation in MUTATIONS:
        changed = copy.deepcopy(all_)
        mutation.apply(changed.files)
        if changed.files == all_.files:
            yield f"{mutation.name}: changed nothing"
            continue
        found = complaints(changed)
        if not any(mutation.words in complaint for complaint in found):
            yield f"{mutation.name}: was not noticed as {mutation.words!r}, but as {found}"
    for text in mutations.NOT_YAML:
        try:
            manifests.parse(text)
            yield f"{text!r}: was taken"
        except yaml.YAMLError:
            pass
    for old, new in sidecar_mutations.PAGES:
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
    mistakes = len(MUTATIONS) + len(mutations.NOT_YAML) + len(sidecar_mutations.PAGES)
    print(
        f"manifests: {resources} resources in {len(all_.files)} files, Kubernetes {' and '.join(RELEASES)}, "
        f"{mistakes} mistakes to notice: {len(found)} problems"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
