#include "server/host/windows/cim/query.h"

#include "absl/strings/str_join.h"

namespace csi_proxy::cim {

std::string WqlLiteral(const Value& value) {
  if (value.is_null() || value.is_array() || value.type() == Type::kObject) return "NULL";
  if (value.type() == Type::kBoolean) return *value.AsBoolean() ? "TRUE" : "FALSE";
  if (IsSigned(value.type())) return absl::StrCat(*value.AsSint64());
  // A char16 is compared with its character.
  if (value.type() == Type::kChar16) {
    const uint64_t unit = *value.AsUint64();
    const bool plain = unit >= 'A' && unit <= 'Z';
    return plain ? absl::StrCat("'", std::string(1, static_cast<char>(unit)), "'") : "''";
  }
  if (IsUnsigned(value.type())) return absl::StrCat(*value.AsUint64());
  if (!IsText(value.type())) return absl::StrCat(*value.AsReal());
  const absl::StatusOr<std::string> text = value.AsText();
  std::string literal = "'";
  for (const char c : *text) {
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
