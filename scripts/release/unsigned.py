#!/usr/bin/env python3
"""unsigned.py PROGRAM ...: prints the SHA-256 of each program without its signature, if it has one, so that
a signed program can be compared with another build.

Signing appends the signature, enters its place into the header, and changes the header's checksum
(https://learn.microsoft.com/windows/win32/debug/pe-format#process-for-generating-the-authenticode-pe-image-hash),
which this program therefore sets to 0.
"""
import hashlib
import pathlib
import struct
import sys

CERTIFICATES = 4  # the entry of the table of directories


def unsigned(data):
    data = bytearray(data)
    optional = struct.unpack_from("<I", data, 0x3C)[0] + 24
    entry = optional + 112 + 8 * CERTIFICATES
    at, size = struct.unpack_from("<II", data, entry)
    if at:
        del data[at:at + size]
    struct.pack_into("<I", data, optional + 64, 0)
    struct.pack_into("<II", data, entry, 0, 0)
    return bytes(data)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(hashlib.sha256(unsigned(pathlib.Path(path).read_bytes())).hexdigest(), path, sep="  ")
