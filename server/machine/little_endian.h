// Reads and writes little-endian numbers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "server/machine/os.h"

namespace csi_proxy::machine {

// Reads fields in order. A field past the end is zero and sets ok() to false, so a caller may read
// a whole layout and check once.
class LittleEndianReader {
 public:
  explicit LittleEndianReader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  template <std::unsigned_integral Number>
  Number Read() {
    uint64_t value = 0;
    int shift = 0;
    for (const uint8_t byte : Take(sizeof(Number))) {
      value |= uint64_t{byte} << shift;
      shift += 8;
    }
    return static_cast<Number>(value);
  }

  std::span<const uint8_t> Take(size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  bool ok() const { return ok_; }
  // Returns the unread bytes.
  std::span<const uint8_t> rest() const { return rest_; }

 private:
  std::span<const uint8_t> rest_;
  bool ok_ = true;
};

template <std::unsigned_integral Number>
void AppendLittleEndian(Number value, Bytes* out) {
  for (size_t i = 0; i < sizeof(Number); ++i) {
    out->push_back(static_cast<uint8_t>(uint64_t{value} >> (8 * i)));
  }
}

}  // namespace csi_proxy::machine
