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

// Holds a secret, wipes its memory when done, and cannot be printed: it has no stream operator and
// no conversion, only Reveal(), which is easy to find in a review.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view value) : value_(value) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : value_(std::exchange(other.value_, {})) {}
  Secret& operator=(Secret other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Secret() { Wipe(value_.data(), value_.size()); }

  bool empty() const { return value_.empty(); }
  size_t size() const { return value_.size(); }
  // The secret itself, for the one call that needs it.
  const std::string& Reveal() const { return value_; }

  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string value_;
};

}  // namespace csi_proxy
