#include "server/machine/cim/query.h"

#include "absl/strings/str_join.h"
#include "server/names/unicode.h"

namespace csi_proxy::cim {

std::string WqlLiteral(const Value& value) {
  if (value.is_null() || value.is_array() || value.type() == Type::kObject) return "NULL";
  if (value.type() == Type::kBoolean) return *value.AsBoolean() ? "TRUE" : "FALSE";
  if (IsSigned(value.type())) return absl::StrCat(*value.AsSint64());
  if (IsUnsigned(value.type()) && value.type() != Type::kChar16) {
    return absl::StrCat(*value.AsUint64());
  }
  std::string text;
  if (value.type() == Type::kChar16) {
    // WQL compares a char16 with quoted text. 0 becomes an empty literal.
    const uint64_t unit = *value.AsUint64();
    if (unit != 0) AppendUtf8(static_cast<char32_t>(unit), &text);
  } else if (IsText(value.type())) {
    text = *value.AsText();
  } else {
    return absl::StrCat(*value.AsReal());
  }
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'' || c == '"') literal.push_back('\\');
    literal.push_back(c);
  }
  literal.push_back('\'');
  return literal;
}

std::string Query::ToWql() const {
  std::string wql = absl::StrCat("SELECT * FROM ", class_name_);
  if (!conditions_.empty()) {
    absl::StrAppend(&wql, " WHERE ", absl::StrJoin(conditions_, " AND "));
  }
  return wql;
}

std::string Association::ToWql(absl::string_view path) const {
  return absl::StrCat("ASSOCIATORS OF {", path, "} WHERE AssocClass = ", association_class,
                      " ResultClass = ", result_class, " ResultRole = ", result_role,
                      " Role = ", role);
}

}  // namespace csi_proxy::cim
