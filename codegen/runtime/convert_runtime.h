// Helpers of generated converters. Errors name the field. Header only; must use Abseil only.
#pragma once

#include <charconv>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::codegen::runtime {

// The maximum number of bytes from the beginning and the end of a value in an error or an audit
// line. The end of a path names the volume: the kubelet's last components are 64 digits and
// `globalmount`.
inline constexpr size_t kQuotedBegin = 32;
inline constexpr size_t kQuotedEnd = 96;

inline std::string Quote(absl::string_view text) {
  if (text.size() <= kQuotedBegin + kQuotedEnd)
    return absl::StrCat("\"", absl::CEscape(text), "\"");
  return absl::StrCat("\"", absl::CEscape(text.substr(0, kQuotedBegin)), "...",
                      absl::CEscape(text.substr(text.size() - kQuotedEnd)), "\"");
}

// Parses digits only: returns INVALID_ARGUMENT for a sign, a space or an empty string.
template <typename T>
absl::Status DecimalToHub(absl::string_view field, absl::string_view text, T* out) {
  const bool digits = !text.empty() && (text[0] >= '0' && text[0] <= '9');
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  if (digits && error == std::errc() && stop == end) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", Quote(text),
                                                 " is not a decimal number from 0 to ",
                                                 std::numeric_limits<T>::max()));
}

template <typename T>
void DecimalFromHub(T value, std::string* out) {
  static_assert(std::is_unsigned_v<T>, "DecimalToHub() refuses a sign");
  char digits[std::numeric_limits<T>::digits10 + 1];
  const auto [stop, error] = std::to_chars(digits, digits + sizeof(digits), value);
  out->assign(digits, stop);
}

// Converts `value` to a type of another range. Returns `code` if the value does not fit:
// INVALID_ARGUMENT for a caller's request, INTERNAL for the node's answer.
template <typename From, typename To>
absl::Status Narrow(absl::StatusCode code, absl::string_view field, From value, To* out) {
  if (!std::in_range<To>(value)) {
    return absl::Status(
        code, absl::StrCat(field, ": ", value, " is not from ", std::numeric_limits<To>::min(),
                           " to ", std::numeric_limits<To>::max()));
  }
  *out = static_cast<To>(value);
  return absl::OkStatus();
}

inline absl::Status UnknownEnum(absl::StatusCode code, absl::string_view enum_name, int value) {
  return absl::Status(code, absl::StrCat(value, " is not a value of ", enum_name));
}

inline absl::Status DuplicateKey(absl::string_view field, absl::string_view key) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": the key ", Quote(key), " appears twice"));
}

// Returns the error with its field's name in front: `target_portal.target_port: ...`.
inline absl::Status InField(absl::string_view field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(field, ": ", status.message()));
}

}  // namespace csi_proxy::codegen::runtime
