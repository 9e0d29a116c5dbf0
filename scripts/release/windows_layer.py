"""Makes layers of a Windows image, as hcsshim reads them: a tar of `Files/`, with a file's attributes and
access list in its PAX header (https://github.com/microsoft/go-winio/blob/main/backuptar/tar.go).
"""

import base64
import io
import struct
import tarfile

# The values of FILE_ALL_ACCESS, FILE_GENERIC_READ + FILE_GENERIC_EXECUTE, KEY_ALL_ACCESS and KEY_READ.
FILE_ALL, FILE_READ, KEY_ALL, KEY_READ = 0x1F01FF, 0x1200A9, 0xF003F, 0x20019
INHERITED_BY_FILES, INHERITED_BY_CONTAINERS = 0x1, 0x2


def _sid(*parts):
    return struct.pack("<BB6s", 1, len(parts), b"\0\0\0\0\0\x05") + struct.pack(
        f"<{len(parts)}I", *parts
    )


SYSTEM = _sid(18)
ADMINISTRATORS = _sid(32, 544)
USERS = _sid(32, 545)


def security_descriptor(all_access, read_access, inheritance=0):
    """Returns O:BAG:SYD: with the given access for Administrators and SYSTEM, and for Users.

    The descriptor is self-relative
    (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/7d4dac05-9cef-4563-a058-f108abecce1d).
    Unlike in BuildKit's layers, Users may not add files to a directory, because SYSTEM runs programs there.
    """
    entries = b""
    for sid, mask in ((ADMINISTRATORS, all_access), (SYSTEM, all_access), (USERS, read_access)):
        entries += struct.pack("<BBHI", 0, inheritance, 8 + len(sid), mask) + sid
    acl = struct.pack("<BBHHH", 2, 0, 8 + len(entries), 3, 0) + entries
    owner, group = ADMINISTRATORS, SYSTEM
    # SE_SELF_RELATIVE | SE_DACL_PRESENT
    header = struct.pack(
        "<BBHIIII", 1, 0, 0x8004, 20, 20 + len(owner), 0, 20 + len(owner) + len(group)
    )
    return header + owner + group + acl


DIRECTORY_SECURITY = security_descriptor(
    FILE_ALL, FILE_READ, INHERITED_BY_FILES | INHERITED_BY_CONTAINERS
)
FILE_SECURITY = security_descriptor(FILE_ALL, FILE_READ)


def layer(files, epoch, parents=(), links=None):
    """Returns the tar of a layer: `files` maps paths below the root of the image, with slashes, to bytes, and
    `links` maps further names at the root to such paths.

    hcsshim requires that a hard link comes after its file, in the same layer or a later one
    (https://github.com/microsoft/hcsshim/blob/main/internal/wclayer/legacy.go, AddLink).

    `parents` are further directories at the top. Each layer above the first has them, empty, such as `Hives`
    (https://github.com/moby/buildkit/blob/master/util/winlayers/differ.go).
    """
    entries = {name: None for name in parents}
    entries["Files"] = None
    for path in sorted(files):
        steps = path.split("/")
        # hcsshim requires the directory of each entry to exist.
        for depth in range(1, len(steps)):
            entries.setdefault("/".join(["Files", *steps[:depth]]), None)
        entries["/".join(["Files", *steps])] = files[path]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.mtime = epoch
            # FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_ARCHIVE
            attributes, security = (
                ("16", DIRECTORY_SECURITY) if content is None else ("32", FILE_SECURITY)
            )
            entry.pax_headers = {
                "LIBARCHIVE.creationtime": f"{epoch}.0",
                "MSWINDOWS.fileattr": attributes,
                "MSWINDOWS.rawsd": base64.b64encode(security).decode(),
            }
            if content is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            else:
                entry.size, entry.mode = len(content), 0o644
                tar.addfile(entry, io.BytesIO(content))
        for name, target in sorted((links or {}).items()):
            entry = tarfile.TarInfo("Files/" + name)
            entry.type, entry.mtime, entry.mode = tarfile.LNKTYPE, epoch, 0o644
            entry.linkname = "Files/" + target
            tar.addfile(entry)
    return out.getvalue()
