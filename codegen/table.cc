#include "codegen/table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace csi_proxy::codegen {

Table::Table(const Conversions& c, std::vector<std::string>* errors) {
  for (const auto& row : c.rename_method()) {
    Add("rename_method", row.versions(), {row.method()}, row.hub_method(), nullptr, errors);
  }
  for (const auto& row : c.rename_field()) {
    Add("rename_field", row.versions(), {row.message(), row.field()}, row.hub_field(), nullptr,
        errors);
  }
  for (const auto& row : c.decimal_field()) {
    Add("decimal_field", row.versions(), {row.message(), row.field()}, "decimal", nullptr, errors);
  }
  for (const auto& row : c.widen_field()) {
    Add("widen_field", row.versions(), {row.message(), row.field()}, "widen", nullptr, errors);
  }
  for (const auto& row : c.drop_field()) {
    Add("drop_field", row.versions(), {row.message(), row.field()}, "drop", &row.reason(), errors);
  }
  for (const auto& row : c.absent_field()) {
    Add("absent_field", row.versions(), {row.message(), row.hub_field()}, "absent", &row.reason(),
        errors);
  }
  for (const auto& row : c.override_message()) {
    Add("override_message", row.versions(), {row.message()}, row.hub_message(), &row.reason(),
        errors);
  }
  for (const auto& row : c.absent_enum_value()) {
    Add("absent_enum_value", row.versions(), {row.enum_(), row.hub_value()}, row.send_as(),
        &row.reason(), errors);
  }
}

void Table::Add(absl::string_view kind,
                const google::protobuf::RepeatedPtrField<std::string>& versions,
                std::vector<std::string> path, const std::string& value, const std::string* reason,
                std::vector<std::string>* errors) {
  const std::string joined = absl::StrJoin(path, ".");
  const std::string row = absl::StrCat("conversions: ", kind, " ", joined);
  if (versions.empty()) errors->push_back(absl::StrCat(row, ": names no versions"));
  bool complete = !value.empty();
  for (const std::string& part : path) complete = complete && !part.empty();
  if (!complete) errors->push_back(absl::StrCat(row, ": a field of the row is empty"));
  if (reason != nullptr && reason->empty()) {
    errors->push_back(absl::StrCat(row, ": gives no reason"));
  }
  for (const std::string& version : versions) {
    if (!rows_.emplace(Key{std::string(kind), version, joined}, value).second) {
      errors->push_back(absl::StrCat(row, ": appears twice for ", version));
    }
  }
}

const std::string* Table::Find(absl::string_view kind, const std::string& version,
                               std::vector<absl::string_view> path) {
  const auto found = rows_.find(Key{std::string(kind), version, absl::StrJoin(path, ".")});
  if (found == rows_.end()) return nullptr;
  used_.insert(found->first);
  return &found->second;
}

std::string Table::HubMethod(const std::string& version, absl::string_view method) {
  const std::string* row = Find("rename_method", version, {method});
  return row != nullptr ? *row : "";
}

std::string Table::HubField(const std::string& version, absl::string_view message,
                            absl::string_view field) {
  const std::string* row = Find("rename_field", version, {message, field});
  return row != nullptr ? *row : "";
}

std::string Table::HubMessageOfOverride(const std::string& version, absl::string_view message) {
  const std::string* row = Find("override_message", version, {message});
  return row != nullptr ? *row : "";
}

bool Table::IsDecimal(const std::string& version, absl::string_view message,
                      absl::string_view field) {
  return Find("decimal_field", version, {message, field}) != nullptr;
}

bool Table::IsWidened(const std::string& version, absl::string_view message,
                      absl::string_view field) {
  return Find("widen_field", version, {message, field}) != nullptr;
}

bool Table::IsDropped(const std::string& version, absl::string_view message,
                      absl::string_view field) {
  return Find("drop_field", version, {message, field}) != nullptr;
}

bool Table::IsAbsent(const std::string& version, absl::string_view message,
                     absl::string_view hub_field) {
  return Find("absent_field", version, {message, hub_field}) != nullptr;
}

std::string Table::SendAs(const std::string& version, absl::string_view enum_name,
                          absl::string_view hub_value) {
  const std::string* row = Find("absent_enum_value", version, {enum_name, hub_value});
  return row != nullptr ? *row : "";
}

std::vector<std::string> Table::Unused() const {
  std::vector<std::string> lines;
  for (const auto& [key, value] : rows_) {
    if (used_.contains(key)) continue;
    lines.push_back(absl::StrCat("conversions: ", key.kind, " ", key.path, ": not needed for ",
                                 key.version, "; it matches nothing there"));
  }
  return lines;
}

}  // namespace csi_proxy::codegen
