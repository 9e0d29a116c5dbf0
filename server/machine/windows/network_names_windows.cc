#include "server/machine/windows/network_names_windows.h"

#include <winsock2.h>
#include <ws2tcpip.h>
// The header below must follow winsock2.h.
#include <iphlpapi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "server/platform/win32.h"

namespace csi_proxy::machine {
namespace {

// The formats of names. On a node of a cluster, the Physical formats name the node, and the other
// formats name the cluster's virtual server
// (learn.microsoft.com/windows/win32/api/sysinfoapi/ne-sysinfoapi-computer_name_format).
constexpr COMPUTER_NAME_FORMAT kFormats[] = {
    ComputerNameNetBIOS,
    ComputerNameDnsHostname,
    ComputerNameDnsFullyQualified,
    ComputerNamePhysicalNetBIOS,
    ComputerNamePhysicalDnsHostname,
    ComputerNamePhysicalDnsFullyQualified,
};

// The size that the page of GetAdaptersAddresses recommends, in bytes.
constexpr ULONG kAdaptersSize = 15'000;

Bytes AddressOf(const sockaddr* address) {
  const auto bytes = [](const auto& field) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(&field);
    return Bytes(begin, begin + sizeof(field));
  };
  if (address->sa_family == AF_INET) {
    return bytes(reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  }
  if (address->sa_family == AF_INET6) {
    return bytes(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  return {};
}

}  // namespace

absl::StatusOr<NetworkNames> ReadNetworkNames() {
  NetworkNames found;
  for (const COMPUTER_NAME_FORMAT format : kFormats) {
    std::wstring name(256, L'\0');
    for (;;) {
      auto size = static_cast<DWORD>(name.size());
      const bool whole = GetComputerNameExW(format, name.data(), &size) != 0;
      if (!whole && GetLastError() != ERROR_MORE_DATA) return win32::LastError("GetComputerNameEx");
      name.resize(size);
      if (whole) break;
    }
    found.names.push_back(win32::Utf8(name));
  }
  std::vector<std::byte> buffer;
  ULONG size = kAdaptersSize;
  ULONG error = ERROR_BUFFER_OVERFLOW;
  while (error == ERROR_BUFFER_OVERFLOW) {
    buffer.resize(size);
    error = GetAdaptersAddresses(
        AF_UNSPEC, GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER,
        nullptr, reinterpret_cast<IP_ADAPTER_ADDRESSES*>(buffer.data()), &size);
  }
  // ERROR_NO_DATA: the node has no adapter, and so no address.
  if (error == ERROR_NO_DATA) return found;
  if (error != NO_ERROR) return win32::ToStatus(error, "GetAdaptersAddresses");
  for (const auto* adapter = reinterpret_cast<const IP_ADAPTER_ADDRESSES*>(buffer.data());
       adapter != nullptr; adapter = adapter->Next) {
    for (const auto* own = adapter->FirstUnicastAddress; own != nullptr; own = own->Next) {
      found.addresses.push_back(AddressOf(own->Address.lpSockaddr));
    }
  }
  return found;
}

}  // namespace csi_proxy::machine
