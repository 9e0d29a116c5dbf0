#!/usr/bin/env python3
"""The load configuration and the imports of our Windows programs.

load_config.py enter PROGRAM.exe   enters the configuration of server/platform/program_windows.cc into the
                                   program's header, as Microsoft's linker does and GCC's does not
load_config.py check PROGRAM.exe ...   DLLs come from System32, and are those this script knows
"""
import struct
import sys

MARK = b"csi-proxy load\0\0"
LOAD_CONFIG, IMPORTS = 10, 1  # entries of the table of directories
DEPENDENT_LOAD_FLAGS_AT = 78
LOAD_LIBRARY_SEARCH_SYSTEM32 = 0x800

# The DLLs that our programs may be linked with. Windows keeps the first kind mapped, whatever lies
# beside a program; their list is HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\KnownDLLs
# (https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-search-order). Only the load
# configuration makes the second kind come from System32.
KNOWN_DLLS = {"advapi32.dll", "kernel32.dll", "msvcrt.dll", "ntdll.dll", "ole32.dll", "oleaut32.dll",
              "user32.dll", "ws2_32.dll"}
OTHER_DLLS = {"bcrypt.dll", "dbghelp.dll", "iphlpapi.dll", "mswsock.dll"}


class Program:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        header = struct.unpack_from("<I", self.bytes, 0x3C)[0]
        if self.bytes[header:header + 4] != b"PE\0\0":
            sys.exit(f"{path}: is not a PE file")
        sections, optional_size = struct.unpack_from("<H12xH", self.bytes, header + 6)
        optional = header + 24
        if struct.unpack_from("<H", self.bytes, optional)[0] != 0x20B:
            sys.exit(f"{path}: is not a 64-bit program")
        self.checksum_at = optional + 64
        self.directories = optional + 112
        # Address in memory, size in the file, offset in the file.
        self.sections = [struct.unpack_from("<III", self.bytes, optional + optional_size + 40 * i + 12)
                         for i in range(sections)]

    def directory(self, index):
        return struct.unpack_from("<II", self.bytes, self.directories + 8 * index)

    def offset(self, address):
        for start, size, at in self.sections:
            if start <= address < start + size:
                return at + address - start
        sys.exit(f"{self.path}: nothing of the file is at {address:#x}")

    def address(self, offset):
        for start, size, at in self.sections:
            if at <= offset < at + size:
                return start + offset - at
        sys.exit(f"{self.path}: offset {offset:#x} is in no section")

    def imports(self):
        at = self.offset(self.directory(IMPORTS)[0])
        while name := struct.unpack_from("<12xI", self.bytes, at)[0]:
            start = self.offset(name)
            yield self.bytes[start:self.bytes.index(b"\0", start)].decode().lower()
            at += 20

    def dependent_load_flags(self):
        address, size = self.directory(LOAD_CONFIG)
        if address == 0:
            return 0
        at = self.offset(address)
        # Windows ignores a configuration whose own size differs.
        if struct.unpack_from("<I", self.bytes, at)[0] != size or size < DEPENDENT_LOAD_FLAGS_AT + 2:
            return 0
        return struct.unpack_from("<H", self.bytes, at + DEPENDENT_LOAD_FLAGS_AT)[0]

    def enter(self):
        at = self.bytes.find(MARK)
        if at < 0 or self.bytes.find(MARK, at + 1) >= 0:
            sys.exit(f"{self.path}: the load configuration is not there, or there twice")
        at += len(MARK)
        size = struct.unpack_from("<I", self.bytes, at)[0]
        struct.pack_into("<II", self.bytes, self.directories + 8 * LOAD_CONFIG, self.address(at), size)
        # Only drivers and boot programs must have one.
        struct.pack_into("<I", self.bytes, self.checksum_at, 0)
        with open(self.path, "wb") as file:
            file.write(self.bytes)

    def problems(self):
        if self.dependent_load_flags() != LOAD_LIBRARY_SEARCH_SYSTEM32:
            yield "DLLs may come from the program's folder: the load configuration does not say System32"
        for name in self.imports():
            if name not in KNOWN_DLLS | OTHER_DLLS:
                yield f"it is linked with {name}, which is not one of the DLLs it may be linked with"


def main(action, *paths):
    if action == "enter":
        for path in paths:
            Program(path).enter()
        return 0
    found = [f"{path}: {problem}" for path in paths for problem in Program(path).problems()]
    print("\n".join(found) or f"{len(paths)} programs: DLLs come from System32, and are known")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
