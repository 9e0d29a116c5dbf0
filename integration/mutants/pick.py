#!/usr/bin/env python3
"""Picks one mutant: pick.py MUTATE TREE BUILD FOLDERS SEED INDEX OUT

SEED and INDEX decide which line, and which of the mutants that `MUTATE` (universalmutator's program)
makes of it. Writes the mutated file into the folder OUT and prints its path, the file's, its
object's ("-" for a header), the line and what was changed, separated by tabs; nothing if the line
has no mutant.
"""

import json
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

# A header costs a build of everything that includes it.
HEADER_SHARE = 0.05
NOT_SHIPPED = re.compile(r"(_test|_windows|testing\w*|hostile_paths|real_files\w*|win32|condition)\.(cc|h)$|/testing/")
TEMPLATE = re.compile(r"\w<[\w:<>, *]+>")
REFERENCE = re.compile(r"[\w>][&*]+ ")
# An operator without a left operand, an argument that is not there, an `if` without a body, half a
# string, a declaration negated or with its parameters turned round.
BROKEN = re.compile(r"[(,=]\s*[/%|+,]|,\s*\)|\([01]==1\);$|\w\"\"|!\((const|auto|absl::S\w+) |"
                    r"\w \( (const|std::unique)\b")
STATEMENT = re.compile(r"\s*[*\w].*;$")
DECLARATION = re.compile(r"\s*(return\b|(const|auto|static|constexpr|virtual|explicit|using)\b|"
                         r"[\w:]+(<.*>)?[&*]* \w+\W)")
ANGLES = re.compile(r"[<>=!]+")
NOT_CODE = re.compile(r"\s*(//.*|#.*|[{}()\[\];]*|}  // namespace.*|(namespace|using|class|struct)\b.*|"
                      r"(public|protected|private):)\s*$")


def objects_of(build):
    """The object of each file that the build compiles."""
    objects = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        objects[pathlib.Path(entry["file"])] = words[words.index("-o") + 1]
    return objects


def sources(tree, folders, objects):
    for folder in folders:
        for path in sorted((tree / folder).rglob("*")):
            built = path in objects if path.suffix == ".cc" else path.suffix == ".h"
            if built and not NOT_SHIPPED.search(path.relative_to(tree).as_posix()):
                yield path


def lines_of(path):
    text = path.read_text().splitlines()
    return [i for i, line in enumerate(text, 1) if not NOT_CODE.match(line)]


def hopeless(old, new, words):
    """Whether `new` cannot compile, as far as a look at it tells; compiling costs more."""
    if re.search(r"/\*.*\*/", new):
        return not STATEMENT.match(old) or bool(DECLARATION.match(old))
    if any(new.count(a) - new.count(b) != old.count(a) - old.count(b) for a, b in ("()", "{}", "[]")):
        return True
    if TEMPLATE.search(old) and ANGLES.findall(new) != ANGLES.findall(old):
        return True
    if REFERENCE.search(old) and any(new.count(a) < old.count(a) for a in "&*"):
        return True
    if BROKEN.search(new):
        return True
    return any(not word.isdigit() and word not in words for word in re.findall(r"\w+", new))


def mutants(mutate, path, line, folder):
    """(mutated text, what was changed) of each mutant of the line."""
    original = path.read_text().splitlines()
    words = set(re.findall(r"\w+", path.read_text())) | {"min", "max", "begin", "end"}
    only = folder / "lines"
    only.write_text(f"{line}\n")
    subprocess.run([mutate, str(path), "cpp", "--noCheck", "--lines", str(only), "--mutantDir",
                    str(folder)], stdout=subprocess.DEVNULL, check=True)
    for made in sorted(folder.glob(f"{path.stem}.mutant.*")):
        text = made.read_text()
        changed = text.splitlines()
        new = changed[line - 1:line + len(changed) - len(original)]
        # What ends a loop hardly ever compiles elsewhere.
        if new[-1].strip() in ("break;", "continue;"):
            continue
        if hopeless(original[line - 1], "\n".join(new), words):
            continue
        yield text, f"{original[line - 1].strip()}  ->  {' '.join(n.strip() for n in new)}"


def main():
    mutate, tree, build, folders, seed, index, out = sys.argv[1:]
    tree = pathlib.Path(tree)
    objects = objects_of(pathlib.Path(build))
    chance = random.Random(f"{seed}:{index}")
    found = {path: lines_of(path) for path in sources(tree, folders.split(), objects)}
    headers = chance.random() < HEADER_SHARE
    lines = [(path, line) for path, of in found.items() for line in of
             if (path.suffix == ".h") == headers]
    if not lines:
        return
    path, line = chance.choice(lines)
    with tempfile.TemporaryDirectory() as scratch:
        made = list(mutants(mutate, path, line, pathlib.Path(scratch)))
    if not made:
        return
    text, what = chance.choice(made)
    mutant = pathlib.Path(out) / f"mutant{path.suffix}"
    mutant.write_text(text)
    print(mutant, path.relative_to(tree).as_posix(), objects.get(path, "-"), line,
          what.replace("\t", " "), sep="\t")


if __name__ == "__main__":
    main()
