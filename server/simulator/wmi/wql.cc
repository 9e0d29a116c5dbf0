#include "server/simulator/wmi/wql.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"
#include "server/names/windows_path.h"
#include "server/simulator/wmi/object_path.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

absl::Status InvalidQuery(absl::string_view why) {
  return cim::HresultStatus(cim::hresult::kInvalidQuery, "query", why);
}

class Parser {
 public:
  Parser(cim::Namespace space, absl::string_view wql) : space_(space), rest_(wql) {}

  absl::StatusOr<Statement> Parse() {
    if (TakeWord("SELECT")) return ParseSelect();
    if (TakeWord("ASSOCIATORS") && TakeWord("OF")) return ParseAssociators();
    return InvalidQuery("neither SELECT nor ASSOCIATORS OF");
  }

 private:
  absl::StatusOr<Statement> ParseSelect() {
    Select select;
    std::vector<absl::string_view> columns;
    if (!TakeMark("*")) {
      select.columns.emplace();
      do {
        const std::optional<absl::string_view> column = Name();
        if (!column.has_value()) return InvalidQuery("a property is missing");
        columns.push_back(*column);
      } while (TakeMark(","));
    }
    if (!TakeWord("FROM")) return InvalidQuery("FROM is missing");
    ABSL_ASSIGN_OR_RETURN(const Class* const of, TakeClass());
    select.of = of;
    for (const absl::string_view column : columns) {
      // Every object has the system properties, so these properties need no column.
      if (absl::StartsWith(column, "__")) continue;
      select.columns->push_back(select.of->FindProperty(column));
      if (select.columns->back() == nullptr) return InvalidQuery("no such property");
    }
    if (AtEnd()) return select;
    if (!TakeWord("WHERE")) return InvalidQuery("WHERE is missing");
    do {
      ABSL_ASSIGN_OR_RETURN(Condition condition, ParseCondition(*select.of));
      select.where.push_back(std::move(condition));
    } while (TakeWord("AND"));
    if (!AtEnd()) return InvalidQuery("text follows the conditions");
    return select;
  }

  absl::StatusOr<Condition> ParseCondition(const Class& of) {
    Condition condition;
    const std::optional<absl::string_view> name = Name();
    condition.property = name.has_value() ? of.FindProperty(*name) : nullptr;
    if (condition.property == nullptr) return InvalidQuery("no such property");
    // Arrays cannot be compared.
    if (condition.property->is_array) return InvalidQuery("the property is an array");
    condition.is_equal = !TakeMark("<>");
    if (condition.is_equal && !TakeMark("=")) return InvalidQuery("= or <> is missing");
    SkipSpace();
    std::optional<cim::Value> value = TakeLiteral(&rest_, condition.property->type);
    if (!value.has_value()) return InvalidQuery("no literal of the property's type");
    condition.value = *std::move(value);
    return condition;
  }

  absl::StatusOr<Statement> ParseAssociators() {
    AssociatorsOf associators;
    if (!TakeMark("{")) return InvalidQuery("{ is missing");
    ABSL_ASSIGN_OR_RETURN(ObjectPath of, TakePath(space_, &rest_));
    associators.of = std::move(of);
    if (!absl::ConsumePrefix(&rest_, "}")) return InvalidQuery("} is missing");
    if (associators.of.instance.empty()) return InvalidQuery("a class has no associators");
    if (!TakeWord("WHERE")) return InvalidQuery("WHERE is missing");

    static constexpr absl::string_view kClauses[] = {"AssocClass", "ResultClass", "ResultRole",
                                                     "Role"};
    std::optional<absl::string_view> values[std::size(kClauses)];
    for (size_t i = 0; i < std::size(kClauses); ++i) {
      const std::optional<absl::string_view> clause = Name();
      size_t which = 0;
      while (which < std::size(kClauses) && clause.has_value() &&
             !absl::EqualsIgnoreCase(*clause, kClauses[which])) {
        ++which;
      }
      if (!clause.has_value() || which == std::size(kClauses) || values[which].has_value()) {
        return InvalidQuery("AssocClass, ResultClass, ResultRole and Role are each asked for once");
      }
      if (!TakeMark("=")) return InvalidQuery("= is missing");
      values[which] = Name();
      if (!values[which].has_value()) return InvalidQuery("a name is missing");
    }
    if (!AtEnd()) return InvalidQuery("text follows the clauses");

    associators.association = FindClass(space_, *values[0]);
    associators.result = FindClass(space_, *values[1]);
    if (associators.association == nullptr || associators.result == nullptr) {
      return cim::HresultStatus(cim::hresult::kInvalidClass, "query");
    }
    // WMI would return no objects for an unknown role. The double refuses such a role, because it
    // must be a typing error.
    const auto role_of = [&](absl::string_view name, const Class& end) -> const Property* {
      const Property* role = associators.association->FindProperty(name);
      return role != nullptr && role->class_name == absl::string_view(end.name) ? role : nullptr;
    };
    associators.result_role = role_of(*values[2], *associators.result);
    associators.role = role_of(*values[3], *associators.of.of);
    if (associators.result_role == nullptr || associators.role == nullptr) {
      return InvalidQuery("the association has no such roles for these classes");
    }
    return associators;
  }

  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }
  std::optional<absl::string_view> Name() {
    SkipSpace();
    return TakeName(&rest_);
  }
  bool TakeMark(absl::string_view mark) {
    SkipSpace();
    return absl::ConsumePrefix(&rest_, mark);
  }
  bool TakeWord(absl::string_view word) {
    SkipSpace();
    absl::string_view rest = rest_;
    const std::optional<absl::string_view> name = TakeName(&rest);
    if (!name.has_value() || !absl::EqualsIgnoreCase(*name, word)) return false;
    rest_ = rest;
    return true;
  }
  absl::StatusOr<const Class*> TakeClass() {
    const std::optional<absl::string_view> name = Name();
    if (!name.has_value()) return InvalidQuery("a class is missing");
    const Class* of = FindClass(space_, *name);
    if (of == nullptr) return cim::HresultStatus(cim::hresult::kInvalidClass, "query");
    return of;
  }

  const cim::Namespace space_;
  absl::string_view rest_;
};

}  // namespace

absl::StatusOr<Statement> ParseWql(cim::Namespace space, absl::string_view wql) {
  return Parser(space, wql).Parse();
}

bool Matches(const Condition& condition, const cim::Object& object) {
  const absl::StatusOr<cim::Value> value = object.Get(condition.property->name);
  if (!value.ok() || value->is_null()) return false;
  const bool equals = cim::IsText(condition.property->type)
                          ? absl::EqualsIgnoreCase(*value->AsText(), *condition.value.AsText())
                          : *value == condition.value;
  return equals == condition.is_equal;
}

}  // namespace csi_proxy::machine::simulator::wmi
