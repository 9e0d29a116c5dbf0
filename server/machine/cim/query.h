// Queries of WMI. They are built from values, not by joining text, so that no content of a value
// can change the meaning of a query.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::cim {

// A value in WQL: numbers and booleans as they are, text in single quotes with `\` and both
// quotes escaped by a backslash (learn.microsoft.com/windows/win32/wmisdk/where-clause; doubled
// quotes, as in SQL, are not WQL). Arrays, objects and nulls cannot be written: `NULL`.
std::string WqlLiteral(const Value& value);

// `SELECT * FROM class WHERE a = 1 AND b = 'x'`. All properties are selected: an object made from a
// list of some may lack its path, and then neither a method nor an association works on it.
class Query {
 public:
  // `class_name` and the names below are the program's own constants.
  explicit Query(absl::string_view class_name) : class_name_(class_name) {}

  Query& Where(absl::string_view property, const Value& value) & {
    conditions_.push_back(absl::StrCat(property, " = ", WqlLiteral(value)));
    return *this;
  }
  Query&& Where(absl::string_view property, const Value& value) && {
    return std::move(Where(property, value));
  }

  std::string ToWql() const;

 private:
  std::string class_name_;
  std::vector<std::string> conditions_;
};

// The end of an association: `result_class` in the role `result_role`, seen from the `role`.
struct Association {
  const char* association_class;
  const char* result_class;
  const char* result_role;
  const char* role;

  // `ASSOCIATORS OF {path} WHERE ...`. `path` is an Object's own, as WMI gave it.
  std::string ToWql(absl::string_view path) const;
};

}  // namespace csi_proxy::cim
