#include "server/http/host_port.h"

#include <boost/asio/ip/address.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace csi_proxy {

absl::StatusOr<HostPort> HostPort::Parse(absl::string_view option, absl::string_view text) {
  HostPort address;
  const size_t colon = text.rfind(':');
  const absl::string_view port = colon == absl::string_view::npos ? "" : text.substr(colon + 1);
  // SimpleAtoi() would accept signs and spaces.
  if (port.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(port, &address.port) || address.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, ": \"", text, "\" is neither HOST:PORT nor :PORT, with a port from 0 to 65535"));
  }
  absl::string_view host = text.substr(0, colon);
  const bool brackets = absl::ConsumePrefix(&host, "[");
  if (brackets != absl::ConsumeSuffix(&host, "]") ||
      brackets != (host.find(':') != absl::string_view::npos) ||
      host.find_first_of(",+/ ") != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": \"", text, "\" has no valid host; IPv6 is written [::1]:PORT"));
  }
  address.host = std::string(host);
  return address;
}

std::string ToString(const HostPort& address) {
  const bool brackets = address.host.find(':') != std::string::npos;
  return absl::StrCat(brackets ? "[" : "", address.host, brackets ? "]" : "", ":", address.port);
}

bool IsLoopback(const HostPort& address) {
  boost::system::error_code error;
  const auto host = boost::asio::ip::make_address(address.host, error);
  return !error && host.is_loopback();
}

}  // namespace csi_proxy
