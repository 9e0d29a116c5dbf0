// The machine's serial number, from its SMBIOS tables.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/machine/os.h"

namespace csi_proxy::machine {

// Reads RawSMBIOSData
// (learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable): the
// serial number of the System Information structure (type 1; DMTF DSP0134, section 7.2), which
// Win32_BIOS.SerialNumber shows. Empty when the structure has none. INTERNAL for bytes that are no
// SMBIOS table, NOT_FOUND when there is no type 1.
absl::StatusOr<std::string> ParseSystemSerialNumber(const Bytes& raw_smbios_data);

}  // namespace csi_proxy::machine
