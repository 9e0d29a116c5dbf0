#include "server/groups/smb/local_shares.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/names/windows_path.h"

namespace csi_proxy::smb {
namespace {

using machine::Bytes;

constexpr absl::string_view kIpv6Suffix = ".ipv6-literal.net";

// Returns the bytes of an IPv4 address of four decimal numbers, or none for any other text.
Bytes ParseIpv4(absl::string_view text) {
  Bytes address;
  for (const absl::string_view part : absl::StrSplit(text, '.')) {
    uint32_t number;
    // Rejects a number with a leading 0, because Windows parses it as octal.
    if (!absl::SimpleAtoi(part, &number) || number > 255 || absl::StrCat(number) != part) return {};
    address.push_back(static_cast<uint8_t>(number));
  }
  return address.size() == 4 ? address : Bytes();
}

bool AppendGroups(absl::string_view text, Bytes* address) {
  if (text.empty()) return true;
  for (const absl::string_view group : absl::StrSplit(text, '-')) {
    uint32_t number;
    if (group.size() > 4 || !absl::SimpleHexAtoi(group, &number)) return false;
    address->push_back(static_cast<uint8_t>(number >> 8));
    address->push_back(static_cast<uint8_t>(number));
  }
  return true;
}

// Returns the bytes of an IPv6 address, or none for any other text. Returns only the last 4 bytes
// of an address in `::/96`, such as `::1`, or in `::ffff:0:0/96`. The text has `-` in place of `:`,
// and `s` or `%` before its zone.
Bytes ParseIpv6(absl::string_view text) {
  text = text.substr(0, text.find_first_of("sS%"));
  Bytes address, rest;
  const size_t gap = text.find("--");
  if (!AppendGroups(text.substr(0, gap), &address)) return {};
  if (gap != absl::string_view::npos) {
    if (!AppendGroups(text.substr(gap + 2), &rest) || address.size() + rest.size() > 14) return {};
    address.resize(16 - rest.size());
    address.insert(address.end(), rest.begin(), rest.end());
  }
  if (address.size() != 16) return {};
  const bool is_zero = std::count(address.begin(), address.begin() + 10, 0) == 10;
  const int prefix = address[10] << 8 | address[11];
  if (is_zero && (prefix == 0 || prefix == 0xFFFF)) {
    address.erase(address.begin(), address.end() - 4);
  }
  return address;
}

// Returns true if Windows may parse the host as an IPv4 address, such as `127.1`, `2130706433` or
// `0x7f.1` (learn.microsoft.com/windows/win32/api/ip2string/nf-ip2string-rtlipv4stringtoaddressw).
bool IsIpv4(absl::string_view host) {
  const absl::string_view last = host.substr(host.rfind('.') + 1);
  return absl::StartsWithIgnoreCase(last, "0x") || absl::c_all_of(last, absl::ascii_isdigit);
}

}  // namespace

bool IsAdministrativeShare(absl::string_view share) {
  for (const absl::string_view name : {"ADMIN$", "FAX$", "PRINT$"}) {
    if (EqualNames(share, name)) return true;
  }
  return share.size() == 2 && absl::ascii_isalpha(static_cast<unsigned char>(share[0])) &&
         share[1] == '$';
}

bool MayBeThisNode(absl::string_view host, const machine::NetworkNames& node) {
  const bool is_ascii = absl::c_all_of(host, absl::ascii_isascii);
  // `..localmachine` is this node:
  // learn.microsoft.com/windows/win32/api/ws2tcpip/nf-ws2tcpip-getaddrinfoexw
  if (!is_ascii || host.front() == '.') return true;
  const bool is_ipv6 = absl::EndsWithIgnoreCase(host, kIpv6Suffix);
  if (is_ipv6 || IsIpv4(host)) {
    const Bytes address =
        is_ipv6 ? ParseIpv6(host.substr(0, host.size() - kIpv6Suffix.size())) : ParseIpv4(host);
    // An address in another notation is refused, because Windows may accept it.
    if (address.empty()) return true;
    if (address.size() == 4 && (address[0] == 0 || address[0] == 127)) return true;
    return absl::c_linear_search(node.addresses, address);
  }
  if (absl::EndsWithIgnoreCase(host, ".localhost")) return true;
  const auto is_own = [&] {
    return EqualNames(host, "localhost") || EqualNames(host, "loopback") ||
           absl::c_any_of(node.names,
                          [&](absl::string_view name) { return EqualNames(name, host); });
  };
  if (is_own()) return true;
  // Multicast DNS also resolves the node's name with the suffix `.local`.
  if (!absl::EndsWithIgnoreCase(host, ".local")) return false;
  host.remove_suffix(6);
  return is_own();
}

}  // namespace csi_proxy::smb
