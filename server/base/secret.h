// A string that must not be shown: a password or a CHAP secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace csi_proxy {

// Overwrites memory that held a secret. The optimiser cannot drop the writes.
inline void Wipe(void* data, size_t size) {
  volatile auto* const p = static_cast<volatile char*>(data);
  for (size_t i = 0; i < size; ++i) p[i] = 0;
}

// Overwrites the whole capacity of `text`, because it may have held a longer secret before.
inline void Wipe(std::string& text) {
  text.resize(text.capacity());
  Wipe(text.data(), text.size());
}

// Holds a secret, and wipes its memory on destruction. Has neither stream operator nor conversion.
// Only Reveal() returns the text, so that a review finds each use.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view value) : value_(value) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) {
    // Moving a short string copies it, and leaves its bytes in the source.
    Wipe(other.value_);
    other.value_.clear();
  }
  Secret& operator=(Secret other) noexcept {
    Wipe(value_);
    value_ = std::move(other.value_);
    return *this;
  }
  ~Secret() { Wipe(value_); }

  bool empty() const { return value_.empty(); }
  size_t size() const { return value_.size(); }
  // Returns the secret, for the one call that needs it.
  const std::string& Reveal() const { return value_; }

  // Compares in constant time for secrets of equal length. The length is not protected.
  friend bool operator==(const Secret& a, const Secret& b) {
    if (a.size() != b.size()) return false;
    volatile unsigned char difference = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      difference = static_cast<unsigned char>(difference | (a.value_[i] ^ b.value_[i]));
    }
    return difference == 0;
  }

 private:
  std::string value_;
};

}  // namespace csi_proxy
