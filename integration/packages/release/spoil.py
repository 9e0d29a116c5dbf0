"""spoil.py FROM TO: a program without NX, which wants a function that Windows Server 2019 does not have."""
import sys

import pefile

program = pefile.PE(sys.argv[1], fast_load=True)
program.parse_data_directories([pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_IMPORT"]])
program.OPTIONAL_HEADER.DllCharacteristics &= ~0x100
# Over the name of another, which is as long.
function = next(one for dll in program.DIRECTORY_ENTRY_IMPORT if dll.dll.lower() == b"kernel32.dll"
                for one in dll.imports if one.name and len(one.name) >= len(b"GetTempPath2W"))
program.set_bytes_at_offset(function.name_offset, b"GetTempPath2W\0")
program.write(sys.argv[2])
