"""check_programs.py VERSION PROGRAM ...: checks that each Windows program or DLL has the version, random addresses,
no executable data, guarded return addresses, and only imports that Windows Server 2019 has (exports.txt)."""
import pathlib
import sys

import pefile

SERVER_2019 = (10, 0, 17763)
# https://learn.microsoft.com/windows/win32/debug/pe-format#dll-characteristics
FLAGS = {"HIGH_ENTROPY_VA": 0x20, "DYNAMIC_BASE": 0x40, "NX_COMPAT": 0x100}
IMAGE_FILE_RELOCS_STRIPPED = 1


def exports():
    """Returns the first version of Windows that has each function, by the names of DLL and function."""
    known = {}
    for line in (pathlib.Path(__file__).parent / "exports.txt").read_text().splitlines():
        words = line.split()
        if line.startswith(" "):
            known.update({(dll, function): first for function in words})
        elif not line.startswith("#"):
            dll, first = words
    return known


def problems(path, version, known):
    program = pefile.PE(path, fast_load=True)
    program.parse_data_directories([pefile.DIRECTORY_ENTRY[f"IMAGE_DIRECTORY_ENTRY_{name}"]
                                    for name in ("IMPORT", "DELAY_IMPORT", "RESOURCE")])
    relocations = program.OPTIONAL_HEADER.DATA_DIRECTORY[pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_BASERELOC"]]
    for name, flag in FLAGS.items():
        if not program.OPTIONAL_HEADER.DllCharacteristics & flag:
            yield f"has no {name}"
    # DYNAMIC_BASE has no effect without relocations.
    if program.FILE_HEADER.Characteristics & IMAGE_FILE_RELOCS_STRIPPED or not relocations.Size:
        yield "has no relocations"
    for section in program.sections:
        if section.IMAGE_SCN_MEM_EXECUTE and section.IMAGE_SCN_MEM_WRITE:
            yield f"section {section.Name} is writable and executable"
    if program.FILE_HEADER.TimeDateStamp:
        yield "tells when it was linked"

    # `mov ecx, FAST_FAIL_STACK_COOKIE_CHECK_FAILURE; int 0x29`: present if functions with stack guards call it.
    if b"\xb9\x02\x00\x00\x00\xcd\x29" not in pathlib.Path(path).read_bytes():
        yield "has no guards of return addresses"

    strings = {key: value for info in getattr(program, "FileInfo", [[]])[0] if info.Key == b"StringFileInfo"
               for table in info.StringTable for key, value in table.entries.items()}
    wanted = {b"FileVersion": version, b"ProductVersion": version, b"ProductName": "CSI Proxy",
              b"OriginalFilename": pathlib.Path(path).name}
    for key, value in wanted.items():
        if strings.get(key) != value.encode():
            yield f"its version resource has {key.decode()} {strings.get(key)}, not {value}"
    if not strings.get(b"FileDescription"):
        yield "its version resource does not describe it"

    if hasattr(program, "DIRECTORY_ENTRY_DELAY_IMPORT"):
        yield "delays imports, which this check does not look at"
    for dll in program.DIRECTORY_ENTRY_IMPORT:
        for function in dll.imports:
            key = dll.dll.decode().lower(), (function.name or b"by ordinal").decode()
            first = known.get(key)
            if key[0] == "msvcrt.dll":
                continue
            if first is None:
                yield f"imports {key[1]} of {key[0]}, which exports.txt does not know: see its requirements at learn.microsoft.com"
            elif tuple(map(int, first.split("."))) > SERVER_2019:
                yield f"imports {key[1]} of {key[0]}, which Windows has since {first} only"


def main(version, *paths):
    known = exports()
    found = [f"{path}: {problem}" for path in paths for problem in problems(path, version, known)]
    print("\n".join(found) or f"{len(paths)} programs: versions, flags and imports as they should be")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
