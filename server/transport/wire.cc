#include "server/transport/wire.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace csi_proxy::transport {

void AppendMessage(absl::string_view message, std::string* bytes) {
  bytes->reserve(bytes->size() + kPrefixBytes + message.size());
  bytes->push_back('\0');
  for (const int shift : {24, 16, 8, 0}) {
    bytes->push_back(static_cast<char>(message.size() >> shift));
  }
  bytes->append(message.data(), message.size());
}

MessageReader::Event MessageReader::Take(absl::string_view* bytes) {
  std::string& target = has_prefix_ ? message_ : prefix_;
  const size_t size = has_prefix_ ? length_ : kPrefixBytes;
  const absl::string_view part = bytes->substr(0, size - target.size());
  target.append(part.data(), part.size());
  bytes->remove_prefix(part.size());
  if (target.size() < size) return Event::kNeedsMore;
  if (has_prefix_) return Event::kMessage;
  has_prefix_ = true;
  length_ = 0;
  for (const char byte : absl::string_view(prefix_).substr(1)) {
    length_ = length_ << 8 | static_cast<uint8_t>(byte);
  }
  return Event::kPrefix;
}

std::string MessageReader::TakeMessage() {
  prefix_.clear();
  has_prefix_ = false;
  return std::exchange(message_, {});
}

std::optional<absl::Duration> ParseTimeout(absl::string_view text) {
  constexpr struct {
    char letter;
    absl::Duration unit;
  } kUnits[] = {{'H', absl::Hours(1)},        {'M', absl::Minutes(1)},
                {'S', absl::Seconds(1)},      {'m', absl::Milliseconds(1)},
                {'u', absl::Microseconds(1)}, {'n', absl::Nanoseconds(1)}};
  constexpr size_t kMostDigits = 8;
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  int64_t number = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(digit))) return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  for (const auto& unit : kUnits) {
    if (unit.letter == text.back()) return number * unit.unit;
  }
  return std::nullopt;
}

bool IsGrpcContentType(absl::string_view text) {
  constexpr absl::string_view kGrpc = "application/grpc";
  if (!absl::StartsWithIgnoreCase(text, kGrpc)) return false;
  return text.size() == kGrpc.size() || text[kGrpc.size()] == '+' || text[kGrpc.size()] == ';';
}

std::string EncodeStatusText(absl::string_view text) {
  if (text.size() > kMaxStatusText) {
    size_t end = kMaxStatusText;
    while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  constexpr absl::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char byte : text) {
    if (byte >= ' ' && byte <= '~' && byte != '%') {
      encoded.push_back(byte);
    } else {
      const auto value = static_cast<uint8_t>(byte);
      encoded += {'%', kDigits[value >> 4], kDigits[value & 15]};
    }
  }
  return encoded;
}

}  // namespace csi_proxy::transport
