#!/usr/bin/env python3
"""Checks the links of every tracked Markdown file to files, folders and headings of the repository,
and that the C++ tests exist that these files name as `Suite.Name` or `Suite.Start*`.

Links to other sites are not followed. A heading's anchor is made as GitHub makes it.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^ *(```|~~~)")


def prose(text):
    """Yields the lines that are not code."""
    inside = False
    for line in text.splitlines():
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line


def links(text):
    # Code contains no links, but a link's text may be code, and may span two lines.
    yield from re.findall(r"\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)", "\n".join(prose(text)))


def slug(heading):
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(text):
    seen = {}
    for line in prose(text):
        if match := re.match(r"#{1,6} +(.*?) *#*$", line):
            name = slug(match[1])
            count = seen.get(name, 0)
            seen[name] = count + 1
            yield f"{name}-{count}" if count else name


def problems(file, tracked):
    for text, target in links(file.read_text()):
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        to = (file.parent / path).resolve() if path else file
        where = f"{file.relative_to(ROOT)}: [{text}]({target})"
        if to != ROOT and str(to.relative_to(ROOT)) not in tracked:
            yield f"{where}: there is no such file"
        elif anchor:
            page = to / "README.md" if to.is_dir() else to
            if page.suffix != ".md" or anchor not in anchors(page.read_text()):
                yield f"{where}: there is no such heading"


def absent_tests(file, tests):
    for name, some in re.findall(r"`([A-Z]\w*(?:Cases|Contract|Test)\.\w*)(\*?)`", file.read_text()):
        if not any(test.startswith(name) if some else test == name for test in tests):
            yield f"{file.relative_to(ROOT)}: there is no test {name}{some}"


def main():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    files = {name for name in listed if name and (ROOT / name).exists()}
    folders = {str(parent) for name in files for parent in pathlib.PurePath(name).parents}
    pages = sorted(name for name in files if name.endswith(".md"))
    found = [p for page in pages for p in problems(ROOT / page, files | folders)]
    sources = "".join((ROOT / name).read_text() for name in sorted(files) if name.endswith("_test.cc"))
    tests = {".".join(test) for test in re.findall(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", sources)}
    found += [p for page in pages for p in absent_tests(ROOT / page, tests)]
    count = sum(len(list(links((ROOT / page).read_text()))) for page in pages)
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"{count} links in {len(pages)} pages: {len(found)} problems")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
