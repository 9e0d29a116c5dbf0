#include "server/simulator/wmi/object_path.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::machine::simulator::wmi {

namespace {

using cim::Value;

std::optional<std::string> TakeText(absl::string_view* text) {
  if (text->empty() || (text->front() != '\'' && text->front() != '"')) return std::nullopt;
  const char quote = text->front();
  std::string value;
  for (size_t i = 1; i < text->size(); ++i) {
    char c = (*text)[i];
    if (c == quote) {
      text->remove_prefix(i + 1);
      return value;
    }
    if (c == '\\') {
      if (++i == text->size()) return std::nullopt;
      c = (*text)[i];
      if (c != '\\' && c != '\'' && c != '"') return std::nullopt;
    }
    value.push_back(c);
  }
  return std::nullopt;
}

uint64_t MaxOf(cim::Type type) {
  switch (type) {
    case cim::Type::kUint8:
      return std::numeric_limits<uint8_t>::max();
    case cim::Type::kUint16:
      return std::numeric_limits<uint16_t>::max();
    case cim::Type::kUint32:
      return std::numeric_limits<uint32_t>::max();
    default:
      return std::numeric_limits<uint64_t>::max();
  }
}

std::optional<uint64_t> TakeNumber(absl::string_view* text) {
  size_t digits = 0;
  while (digits < text->size() && absl::ascii_isdigit((*text)[digits])) ++digits;
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text->substr(0, digits), &value)) return std::nullopt;
  text->remove_prefix(digits);
  return value;
}

}  // namespace

std::optional<absl::string_view> TakeName(absl::string_view* text) {
  size_t length = 0;
  while (length < text->size()) {
    const auto c = static_cast<unsigned char>((*text)[length]);
    if (!absl::ascii_isalpha(c) && c != '_' && (length == 0 || !absl::ascii_isdigit(c))) break;
    ++length;
  }
  if (length == 0) return std::nullopt;
  const absl::string_view name = text->substr(0, length);
  text->remove_prefix(length);
  return name;
}

std::optional<Value> TakeLiteral(absl::string_view* text, cim::Type type) {
  if (cim::IsText(type)) {
    std::optional<std::string> value = TakeText(text);
    if (!value.has_value()) return std::nullopt;
    return Value::Text(type, *std::move(value));
  }
  if (type == cim::Type::kChar16) {
    const std::optional<std::string> value = TakeText(text);
    if (!value.has_value() || value->size() != 1 || !absl::ascii_isascii(value->front())) {
      return std::nullopt;
    }
    return Value::Char16(static_cast<char16_t>(value->front()));
  }
  if (type == cim::Type::kBoolean) {
    const std::optional<absl::string_view> word = TakeName(text);
    if (!word.has_value()) return std::nullopt;
    if (absl::EqualsIgnoreCase(*word, "TRUE")) return Value::Boolean(true);
    if (absl::EqualsIgnoreCase(*word, "FALSE")) return Value::Boolean(false);
    return std::nullopt;
  }
  if (!cim::IsUnsigned(type)) return std::nullopt;
  // Windows also accepts a number in quotes: the Go release asks for `Number = '1'`, and upstream's
  // integration tests pass (pkg/cim/disk.go, QueryDiskByNumber).
  const bool is_quoted = absl::ConsumePrefix(text, "'");
  const std::optional<uint64_t> value = TakeNumber(text);
  if (!value.has_value() || *value > MaxOf(type)) return std::nullopt;
  if (is_quoted && !absl::ConsumePrefix(text, "'")) return std::nullopt;
  return Value::Unsigned(type, *value);
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}
namespace {

absl::Status NoPath(absl::string_view why) {
  return cim::HresultStatus(cim::hresult::kInvalidObjectPath, "object path", why);
}

std::string KeyText(const cim::Value& value) {
  const absl::StatusOr<std::string> text = value.AsText();
  return text.ok() ? Quoted(*text) : cim::WqlLiteral(value);
}

}  // namespace

std::string MakePath(const Class& of, const cim::Properties& keys) {
  std::vector<std::string> parts;
  for (const Property& property : of.properties) {
    if (!property.is_key) continue;
    const auto key = keys.find(property.name);
    const bool given = key != keys.end() && !key->second.is_null();
    parts.push_back(
        absl::StrCat(property.name, "=", given ? KeyText(key->second) : std::string("\"\"")));
  }
  if (parts.empty()) return "";
  return absl::StrCat(of.name, ".", absl::StrJoin(parts, ","));
}

absl::StatusOr<ObjectPath> TakePath(cim::Namespace space, absl::string_view* text) {
  const std::optional<absl::string_view> name = TakeName(text);
  if (!name.has_value()) return NoPath("it begins with no class");
  ObjectPath path;
  path.of = FindClass(space, *name);
  if (path.of == nullptr) return cim::HresultStatus(cim::hresult::kInvalidClass, "object path");
  if (!absl::ConsumePrefix(text, ".")) return path;
  cim::Properties keys;
  do {
    const std::optional<absl::string_view> key = TakeName(text);
    if (!key.has_value() || !absl::ConsumePrefix(text, "=")) return NoPath("a key is malformed");
    const Property* property = path.of->FindProperty(*key);
    if (property == nullptr || !property->is_key) return NoPath("the class has no such key");
    std::optional<cim::Value> value = TakeLiteral(text, property->type);
    if (!value.has_value()) return NoPath("the value of a key is malformed");
    if (!keys.emplace(property->name, *std::move(value)).second) {
      return NoPath("a key appears twice");
    }
  } while (absl::ConsumePrefix(text, ","));
  const auto wanted = std::count_if(path.of->properties.begin(), path.of->properties.end(),
                                    [](const Property& property) { return property.is_key; });
  if (keys.size() != static_cast<size_t>(wanted)) return NoPath("a key is missing");
  path.instance = MakePath(*path.of, keys);
  path.keys = std::move(keys);
  return path;
}

absl::StatusOr<ObjectPath> ParsePath(cim::Namespace space, absl::string_view text) {
  absl::StatusOr<ObjectPath> path = TakePath(space, &text);
  if (path.ok() && !text.empty()) return NoPath("text follows it");
  return path;
}

}  // namespace csi_proxy::machine::simulator::wmi
