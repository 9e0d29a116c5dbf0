#!/usr/bin/env python3
"""make_zip.py PARENT NAME ARCHIVE: makes a ZIP of PARENT/NAME that depends only on the files' names and bytes.

Entries are sorted; all have the time SOURCE_DATE_EPOCH and the same mode.
"""
import os
import pathlib
import sys
import time
import zipfile


def main(parent, name, archive):
    moment = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    parent = pathlib.Path(parent)
    files = sorted((path for path in (parent / name).rglob("*") if path.is_file()), key=lambda path: path.as_posix())
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(parent).as_posix(), moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            out.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
