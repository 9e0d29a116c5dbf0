// Queries of WMI, built from values, so that no content of a value can change their meaning.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::cim {

// Returns a value as a WQL literal. Text and characters are in single quotes. Each `\`, `'` and `"`
// in them gets a backslash, because WQL, unlike SQL, does not escape a quote by doubling it
// (learn.microsoft.com/windows/win32/wmisdk/where-clause). Arrays, objects and nulls become `NULL`,
// because WQL cannot express them.
std::string WqlLiteral(const Value& value);

// Builds `SELECT * FROM class WHERE a = 1 AND b = 'x'`. Selects all properties, because an object
// with only some may lack its path, and methods and associations need the path.
class Query {
 public:
  // Names are not escaped. REQUIRES: class and properties are named by constants.
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

// An association from an object that plays `role` to objects of `result_class` that play
// `result_role`.
struct Association {
  const char* association_class;
  const char* result_class;
  const char* result_role;
  const char* role;

  // Returns `ASSOCIATORS OF {path} WHERE ...`. REQUIRES: `path` is the Object::path() of an object
  // that WMI returned.
  std::string ToWql(absl::string_view path) const;
};

}  // namespace csi_proxy::cim
