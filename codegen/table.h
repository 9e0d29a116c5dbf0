// The conversion table. It records the rows that were used.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/conversions.pb.h"

namespace csi_proxy::codegen {

// Indexes the rows by version and declaration. Not thread-safe.
class Table {
 public:
  // Appends a line to `errors` for each problem of the table: a row without versions, reason or a
  // field's value, or two rows for one thing.
  Table(const Conversions& conversions, std::vector<std::string>* errors);

  // Look up a row and mark it as used. Return "" or false if the table lacks the row.
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

  // Returns a line for each row, or version of a row, that was not used.
  std::vector<std::string> Unused() const;

 private:
  // A row for one version: `kind` is the row's type, `path` the declaration.
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
