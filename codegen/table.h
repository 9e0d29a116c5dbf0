// The conversion table, indexed, and keeping account of which rows were needed.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/conversions.pb.h"

namespace csi_proxy::codegen {

// Not thread-safe.
class Table {
 public:
  // Problems of the table itself (a row without versions, a field left empty, two rows for one
  // thing, a reason missing) go to `errors`, a line each.
  Table(const Conversions& conversions, std::vector<std::string>* errors);

  // Each lookup marks the row as used. An absent row gives an empty string or false.
  std::string HubMethod(const std::string& version, absl::string_view method);
  std::string HubField(const std::string& version, absl::string_view message,
                       absl::string_view field);
  std::string HubMessageOfOverride(const std::string& version, absl::string_view message);
  bool IsDecimal(const std::string& version, absl::string_view message, absl::string_view field);
  bool IsWidened(const std::string& version, absl::string_view message, absl::string_view field);
  bool IsDropped(const std::string& version, absl::string_view message, absl::string_view field);
  bool IsAbsent(const std::string& version, absl::string_view message, absl::string_view hub_field);
  std::string SendAs(const std::string& version, absl::string_view enum_name,
                     absl::string_view hub_value);

  // A line for each row, or part of one, that no lookup asked for.
  std::vector<std::string> Unused() const;

 private:
  // The key of a row for one version: `kind` names the row type, `path` the declaration.
  struct Key {
    std::string kind, version, path;
    auto operator<=>(const Key&) const = default;
  };
  void Add(absl::string_view kind, const google::protobuf::RepeatedPtrField<std::string>& versions,
           std::vector<std::string> path, const std::string& value, const std::string* reason,
           std::vector<std::string>* errors);
  const std::string* Find(absl::string_view kind, const std::string& version,
                          std::vector<absl::string_view> path);

  std::map<Key, std::string> rows_;
  std::set<Key> used_;
};

}  // namespace csi_proxy::codegen
