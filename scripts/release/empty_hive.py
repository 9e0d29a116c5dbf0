"""Makes a registry hive that has only a root key, by the specification
(https://github.com/msuhanov/regf/blob/master/Windows%20registry%20file%20format%20specification.md).
"""

import functools
import operator
import struct

import windows_layer

NONE = 0xFFFFFFFF
BLOCK = 4096
# KEY_HIVE_ENTRY | KEY_NO_DELETE | KEY_COMP_NAME
ROOT_FLAGS = 0x2C


def _cell(content):
    """Returns an allocated cell, whose size is negative and a multiple of 8."""
    size = (4 + len(content) + 7) // 8 * 8
    return struct.pack("<i", -size) + content.ljust(size - 4, b"\0")


def hive(name, epoch):
    """Returns the bytes of a hive whose root key is called `name`."""
    filetime = (epoch + 11644473600) * 10_000_000
    key_at = 32
    label = name.encode("ascii")
    key_size = (4 + 76 + len(label) + 7) // 8 * 8
    security_at = key_at + key_size
    # No parent, no subkeys, no values.
    key = struct.pack("<2sHQIIIIIIIIIIIIIIIHH", b"nk", ROOT_FLAGS, filetime, 0, 0, 0, 0, NONE, NONE, 0, NONE,
                      security_at, NONE, 0, 0, 0, 0, 0, len(label), 0) + label
    descriptor = windows_layer.security_descriptor(
        windows_layer.KEY_ALL, windows_layer.KEY_READ, windows_layer.INHERITED_BY_CONTAINERS
    )
    # The list of security descriptors has only this one, so both of its links point to itself.
    security = struct.pack("<2sHIIII", b"sk", 0, security_at, security_at, 1, len(descriptor)) + descriptor
    cells = _cell(key) + _cell(security)
    free = BLOCK - 32 - len(cells)
    bin_ = struct.pack("<4sIIQQI", b"hbin", 0, BLOCK, 0, filetime, 0) + cells + struct.pack("<i", free)
    base = struct.pack("<4sIIQIIIIIII", b"regf", 1, 1, filetime, 1, 3, 0, 1, key_at, BLOCK, 1)
    base += name.encode("utf-16-le").ljust(64, b"\0")
    base = base.ljust(508, b"\0")
    checksum = functools.reduce(operator.xor, struct.unpack("<127I", base))
    return (base + struct.pack("<I", checksum)).ljust(BLOCK, b"\0") + bin_.ljust(BLOCK, b"\0")
