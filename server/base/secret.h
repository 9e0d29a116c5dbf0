// A string that must not be shown: a password or a CHAP secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace csi_proxy {

// Overwrites memory that held a secret, even if the optimiser finds that useless.
inline void Wipe(void* data, size_t size) {
  volatile auto* const p = static_cast<volatile char*>(data);
  for (size_t i = 0; i < size; ++i) p[i] = 0;
}

// Overwrites all that the text has room for: a longer one may have been there before.
inline void Wipe(std::string& text) {
  text.resize(text.capacity());
  Wipe(text.data(), text.size());
}

// Holds a secret, wipes its memory when done, and cannot be printed: it has no stream operator and
// no conversion, only Reveal(), which is easy to find in a review.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view value) : value_(value) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) {
    // A short text is not moved but copied.
    Wipe(other.value_);
    other.value_.clear();
  }
  Secret& operator=(Secret other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Secret() { Wipe(value_); }

  bool empty() const { return value_.empty(); }
  size_t size() const { return value_.size(); }
  // The secret itself, for the one call that needs it.
  const std::string& Reveal() const { return value_; }

  // Takes as long wherever they differ; how long they are can be told.
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
