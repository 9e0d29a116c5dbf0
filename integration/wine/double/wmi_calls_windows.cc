#include "integration/wine/double/wmi_calls_windows.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "integration/wine/double/call_record_windows.h"
#include "integration/wine/double/error_info_windows.h"
#include "server/machine/cim/errors.h"
#include "server/simulator/wmi/object_path.h"
#include "server/simulator/wmi/wql.h"

namespace csi_proxy::node_double {
namespace {

using cim::ComPtr;

// Removes `\\server\` from the front of a path. Returns false if it names another computer.
bool TakeServer(absl::string_view* path) {
  if (!absl::ConsumePrefix(path, "\\\\")) return true;
  const size_t end = path->find('\\');
  if (end == absl::string_view::npos) return false;
  const absl::string_view server = path->substr(0, end);
  path->remove_prefix(end + 1);
  return server == "." || absl::EqualsIgnoreCase(server, ServerName());
}

// Returns the relative path of `path`, which may be `\\server\namespace:Class.Key="value"`.
absl::StatusOr<std::string> RelativePath(cim::Namespace space, absl::string_view path) {
  if (!absl::StartsWith(path, "\\\\")) return std::string(path);
  const size_t colon = path.find(':');
  if (colon == absl::string_view::npos) {
    return cim::HresultStatus(cim::hresult::kInvalidObjectPath, "object path");
  }
  if (ParseNamespace(path.substr(0, colon)) != space) {
    return cim::HresultStatus(cim::hresult::kInvalidNamespace, "object path");
  }
  return std::string(path.substr(colon + 1));
}

absl::StatusOr<wmi::ObjectPath> ParsePath(cim::Namespace space, absl::string_view path) {
  const absl::StatusOr<std::string> relative = RelativePath(space, path);
  if (!relative.ok()) return relative.status();
  return wmi::ParsePath(space, *relative);
}

// Returns a query for the whole objects of a statement. It applies only the `=` conditions, so it
// may find too many.
cim::Query WholeQuery(const wmi::Select& select) {
  cim::Query query(select.of->name);
  for (const wmi::Condition& condition : select.where) {
    if (condition.is_equal) query.Where(condition.property->name, condition.value);
  }
  return query;
}

// Returns true if the statement selects an object that its WholeQuery() found.
bool Selects(const wmi::Select& select, const cim::Object& object) {
  return std::all_of(
      select.where.begin(), select.where.end(),
      [&](const wmi::Condition& condition) { return wmi::Matches(condition, object); });
}

std::string ResultOf(const absl::Status& status) {
  if (status.ok()) return "ok";
  return absl::StrFormat("0x%08X", static_cast<uint32_t>(HresultOf(status)));
}

// Returns the object's properties that are in the definition.
cim::Properties Shown(const Definition& definition, const cim::Object& object) {
  cim::Properties properties;
  for (const auto& [name, value] : object.properties()) {
    if (definition.Find(name).has_value()) properties.emplace(name, value);
  }
  return properties;
}

// Reads the client's parameters. Fails unless they are those of the method.
absl::StatusOr<cim::Arguments> ArgumentsOf(const MethodDefinition& method,
                                           const ComPtr<WmiObject>& in) {
  const auto invalid = [&](absl::string_view why) {
    return cim::HresultStatus(cim::hresult::kInvalidMethodParameters, method.name, why);
  };
  if (!in) return cim::Arguments();
  if (method.in == nullptr) return invalid("the method takes none");
  if (in->definition() != method.in) return invalid("they are those of another method");
  return in->ToObject().properties();
}

}  // namespace

std::optional<cim::Namespace> ParseNamespace(absl::string_view name) {
  const std::string with_backslashes = absl::StrReplaceAll(name, {{"/", "\\"}});
  absl::string_view path = with_backslashes;
  if (!TakeServer(&path)) return std::nullopt;
  for (const cim::Namespace space :
       {cim::Namespace::kCimV2, cim::Namespace::kSmb, cim::Namespace::kStorage}) {
    if (absl::EqualsIgnoreCase(path, cim::NamespaceName(space))) return space;
  }
  return std::nullopt;
}

absl::StatusOr<Objects> Wmi::Query(const CallContext& context, absl::string_view wql,
                                   bool locatable) const {
  absl::StatusOr<Objects> found = Find(context, wql, locatable);
  RecordCall("query", cim::NamespaceName(space), wql, "",
             found.ok() ? absl::StrCat(found->size(), " objects") : ResultOf(found.status()));
  return found;
}

absl::StatusOr<Objects> Wmi::Find(const CallContext& context, absl::string_view wql,
                                  bool locatable) const {
  const absl::StatusOr<wmi::Statement> statement = wmi::ParseWql(space, wql);
  if (!statement.ok()) return statement.status();
  absl::StatusOr<std::vector<cim::Object>> found = absl::UnknownError("");
  DefinitionPtr definition;
  if (const auto* select = std::get_if<wmi::Select>(&*statement)) {
    definition = select->columns.has_value() ? Projected(*select->of, *select->columns, locatable)
                                             : DefinitionOf(*select->of);
    found = session.Query(context, space, WholeQuery(*select));
    if (found.ok()) {
      std::erase_if(*found, [&](const cim::Object& object) { return !Selects(*select, object); });
    }
  } else {
    const auto& associators = std::get<wmi::AssociatorsOf>(*statement);
    definition = DefinitionOf(*associators.result);
    found = session.Associators(context, space, associators.of.instance,
                                {associators.association->name, associators.result->name,
                                 associators.result_role->name, associators.role->name});
  }
  if (!found.ok()) return found.status();
  Objects objects;
  for (const cim::Object& object : *found) {
    absl::StatusOr<ComPtr<WmiObject>> made = WmiObject::OfInstance(
        definition, Shown(*definition, object), locatable ? object.path() : "");
    if (!made.ok()) return made.status();
    objects.push_back(*std::move(made));
  }
  return objects;
}

absl::StatusOr<ComPtr<WmiObject>> Wmi::Get(const CallContext& context,
                                           absl::string_view path) const {
  const absl::StatusOr<wmi::ObjectPath> found = ParsePath(space, path);
  RecordCall("object", found.ok() ? found->of->name : "",
             found.ok() && found->instance.empty() ? "class" : "instance", "",
             ResultOf(found.status()));
  // GetObject reports a missing class as WBEM_E_NOT_FOUND, unlike a query.
  if (cim::HresultOf(found.status()) == cim::hresult::kInvalidClass) {
    return cim::HresultStatus(cim::hresult::kNotFound, "object path", "there is no such class");
  }
  if (!found.ok()) return found.status();
  if (found->instance.empty()) return WmiObject::OfClass(DefinitionOf(*found->of));
  const absl::StatusOr<cim::Object> object = session.Get(context, space, found->instance);
  if (!object.ok()) return object.status();
  return WmiObject::OfInstance(space, *object);
}

absl::StatusOr<ComPtr<WmiObject>> Wmi::Invoke(const CallContext& context, absl::string_view path,
                                              absl::string_view method,
                                              const ComPtr<WmiObject>& in) const {
  const absl::StatusOr<wmi::ObjectPath> found = ParsePath(space, path);
  if (!found.ok()) return found.status();
  const MethodDefinition* called = DefinitionOf(*found->of)->FindMethod(method);
  if (called == nullptr) return cim::HresultStatus(cim::hresult::kInvalidMethod, method);
  const absl::StatusOr<cim::Arguments> arguments = ArgumentsOf(*called, in);
  if (!arguments.ok()) return arguments.status();
  const std::string target = found->instance.empty() ? found->of->name : found->instance;
  const absl::StatusOr<cim::MethodResult> result =
      session.Invoke(context, space, target, called->name, *arguments);
  absl::StatusOr<ComPtr<WmiObject>> answer = absl::UnknownError("");
  if (!result.ok()) {
    answer = result.status();
  } else {
    cim::Properties out = result->out.properties();
    out["ReturnValue"] = cim::Value::Uint32(result->return_value);
    answer = WmiObject::OfInstance(called->out, out, "");
  }
  RecordCall("method", found->of->name, called->name, in ? in->ToTypes() : "",
             answer.ok()
                 ? absl::StrCat("returned ", result->return_value, ": ", (*answer)->ToTypes())
                 : ResultOf(answer.status()));
  return answer;
}

}  // namespace csi_proxy::node_double
