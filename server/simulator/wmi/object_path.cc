#include "server/simulator/wmi/object_path.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/machine/cim/errors.h"
#include "server/simulator/wmi/literal.h"

namespace csi_proxy::machine::simulator::wmi {
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
    if (!keys.emplace(property->name, *std::move(value)).second) return NoPath("a key is twice");
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
  if (path.ok() && !text.empty()) return NoPath("there is something behind it");
  return path;
}

}  // namespace csi_proxy::machine::simulator::wmi
