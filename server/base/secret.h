// A string that must not be seen: a password or a CHAP secret.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace csi_proxy {

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
  ~Secret() { Wipe(); }

  bool empty() const { return value_.empty(); }
  size_t size() const { return value_.size(); }
  // The secret itself, for the one call that needs it.
  const std::string& Reveal() const { return value_; }

  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  void Wipe() {
    volatile char* p = value_.data();
    for (size_t i = 0; i < value_.size(); ++i) p[i] = 0;
  }

  std::string value_;
};

}  // namespace csi_proxy
