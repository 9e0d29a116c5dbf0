#include "server/simulator/wmi/session.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"
#include "server/simulator/wmi/instances.h"
#include "server/simulator/wmi/methods.h"
#include "server/simulator/wmi/objects.h"
#include "server/simulator/wmi/schema.h"
#include "server/simulator/wmi/wql.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

constexpr uint32_t kFirstHresult = 0x80000000;

// Returns the name by which fault rules call the instance with the properties of `value_of`. Empty
// unless `value_of` has all properties of the name.
std::string ResourceOf(const Class& of,
                       const std::function<const cim::Value*(const char*)>& value_of) {
  std::vector<std::string> parts;
  for (const char* property : of.resource) {
    const cim::Value* value = value_of(property);
    if (value == nullptr || value->is_null()) return "";
    const absl::StatusOr<std::string> text = value->AsText();
    parts.push_back(text.ok() ? *text : cim::WqlLiteral(*value));
  }
  return absl::StrJoin(parts, ":");
}

std::string ResourceOf(const Class& of, const cim::Properties& properties) {
  return ResourceOf(of, [&](const char* name) {
    const auto found = properties.find(name);
    return found == properties.end() ? nullptr : &found->second;
  });
}

std::string ResourceOf(const Select& select) {
  return ResourceOf(*select.of, [&](const char* name) -> const cim::Value* {
    for (const Condition& condition : select.where) {
      if (condition.is_equal && condition.property->name == absl::string_view(name)) {
        return &condition.value;
      }
    }
    return nullptr;
  });
}

// Returns the values that every instance of the query's answer must have.
Wanted WantedBy(const Select& select) {
  Wanted wanted;
  for (const Condition& condition : select.where) {
    if (condition.is_equal) wanted.emplace(condition.property->name, condition.value);
  }
  return wanted;
}

// Returns the object with the columns that a query asks for, without a path if keys are missing.
cim::Object Projected(cim::Object object, const Select& select) {
  if (!select.columns.has_value()) return object;
  cim::Properties properties;
  for (const Property* column : *select.columns) {
    properties[column->name] = *object.Get(column->name);
  }
  bool has_keys = true;
  for (const Property& property : select.of->properties) {
    if (property.is_key && !properties.contains(property.name)) has_keys = false;
  }
  return cim::Object(object.class_name(), has_keys ? object.path() : "", std::move(properties));
}

// Replaces the embedded objects of a method's answer with null or text if the scenario says so.
void CorruptOutParameters(OutParameters how, const Method& method, cim::MethodResult* answer) {
  if (how == OutParameters::kGiven) return;
  cim::Properties out = answer->out.properties();
  for (const Parameter& parameter : method.parameters) {
    if (!parameter.is_out || parameter.type != cim::Type::kObject) continue;
    out[parameter.name] = how == OutParameters::kNull
                              ? cim::Value::Null(parameter.type, parameter.is_array)
                              : cim::Value::String("odd");
  }
  answer->out = cim::Object(answer->out.class_name(), answer->out.path(), std::move(out));
}

// Converts the failure of a call that did not reach a method. Keeps WMI's own errors and the error
// of a call that has ended, and makes an HRESULT of any other error.
absl::Status AsHresult(absl::string_view operation, const absl::Status& status) {
  if (status.ok() || cim::HresultOf(status).has_value() || absl::IsCancelled(status)) return status;
  const std::optional<uint32_t> error = Win32CodeOf(status);
  if (!error.has_value() && absl::IsDeadlineExceeded(status)) return Prefixed(operation, status);
  const uint32_t code = error.value_or(0);
  if (code == 0) return cim::HresultStatus(cim::hresult::kFailed, operation, status.message());
  if (code < kFirstHresult) return Win32Failure(code, operation, status.message());
  return cim::HresultStatus(code, operation, status.message());
}

}  // namespace

absl::StatusOr<std::vector<cim::Object>> SimulatedSession::DoQuery(const CallContext& context,
                                                                   cim::Namespace space,
                                                                   const std::string& wql) {
  ABSL_ASSIGN_OR_RETURN(const Statement statement, ParseWql(space, wql));
  if (const Select* select = std::get_if<Select>(&statement)) return Run(context, *select);
  return Run(context, std::get<AssociatorsOf>(statement));
}

SimulatedSession::QueryResult SimulatedSession::Run(const CallContext& context,
                                                    const Select& select) {
  const std::string operation = QueryOperation(*select.of);
  Core::FaultEffects effects;
  const auto list = [&](NodeState& state) -> QueryResult {
    std::vector<cim::Object> objects;
    for (cim::Object& object : Instances(state, *select.of, WantedBy(select))) {
      const bool matches =
          std::all_of(select.where.begin(), select.where.end(),
                      [&](const Condition& condition) { return Matches(condition, object); });
      if (matches) objects.push_back(Projected(std::move(object), select));
    }
    return objects;
  };
  QueryResult found = core_.Run(context, operation, ResourceOf(select), list, &effects);
  if (found.ok() && effects.objects == AnsweredObjects::kNone) found->clear();
  if (found.ok() && effects.objects == AnsweredObjects::kEachTwice) {
    const std::vector<cim::Object> others = *found;
    found->insert(found->end(), others.begin(), others.end());
  }
  return CountAnswer(operation, std::move(found));
}

SimulatedSession::QueryResult SimulatedSession::Run(const CallContext& context,
                                                    const AssociatorsOf& associators) {
  const std::string operation = AssociatorsOperation(*associators.result);
  const std::string resource = ResourceAt(associators.of);
  QueryResult found = core_.Run(context, operation, resource, [&](NodeState& state) -> QueryResult {
    const absl::Status there = FindInstance(state, associators.of).status();
    if (!there.ok()) return there;
    return FindAssociated(state, associators.of, *associators.role, *associators.association,
                          *associators.result_role, *associators.result);
  });
  return CountAnswer(operation, std::move(found));
}

SimulatedSession::QueryResult SimulatedSession::CountAnswer(absl::string_view operation,
                                                            QueryResult found) {
  if (!found.ok()) return AsHresult(operation, found.status());
  core_.CountObjects(found->size());
  return found;
}

absl::StatusOr<cim::Object> SimulatedSession::Get(const CallContext& context, cim::Namespace space,
                                                  const std::string& text) {
  using Result = absl::StatusOr<cim::Object>;
  ABSL_ASSIGN_OR_RETURN(const ObjectPath path, ParsePath(space, text));
  if (path.instance.empty()) {
    return cim::HresultStatus(cim::hresult::kInvalidObjectPath, "object path", "it names a class");
  }
  const std::string operation = GetOperation(*path.of);
  Result object = core_.Run(context, operation, ResourceAt(path),
                            [&](NodeState& state) -> Result { return FindInstance(state, path); });
  if (!object.ok()) return AsHresult(operation, object.status());
  return object;
}

absl::StatusOr<cim::MethodResult> SimulatedSession::DoInvoke(const CallContext& context,
                                                             cim::Namespace space,
                                                             const std::string& text,
                                                             const std::string& name,
                                                             const cim::Arguments& arguments) {
  using Result = absl::StatusOr<cim::MethodResult>;
  ABSL_ASSIGN_OR_RETURN(const ObjectPath path, ParsePath(space, text));
  const Method* method = path.of->FindMethod(name);
  if (method == nullptr) return cim::HresultStatus(cim::hresult::kInvalidMethod, path.of->name);
  const std::string operation = InvokeOperation(*path.of, *method);
  // A static method may also be called on an instance.
  const bool on_class = path.instance.empty();
  if (on_class && !method->is_static) {
    return cim::HresultStatus(cim::hresult::kInvalidMethod, operation, "not of the class itself");
  }
  const absl::Status valid = CheckArguments(*method, arguments, operation);
  if (!valid.ok()) return valid;
  bool ran = false;
  // `run` must hold copies, because the method may run after the caller has left.
  const auto run = [path, method, on_class, arguments](NodeState& state) -> Result {
    ABSL_ASSIGN_OR_RETURN(const cim::Object self,
                          on_class ? cim::Object() : FindInstance(state, path));
    Result answer = CallMethod({state, *path.of, *method, self, arguments});
    if (answer.ok()) CorruptOutParameters(state.behaviour.out_parameters, *method, &*answer);
    return answer;
  };
  Core::FaultEffects effects;
  const Result result = core_.Run(
      context, operation, on_class ? ResourceOf(*path.of, arguments) : ResourceAt(path),
      [&](NodeState& state) {
        ran = true;
        return run(state);
      },
      &effects);
  if (!ran && !context.Check().ok() && effects.goes_on_at != SteadyTime::InfiniteFuture()) {
    // Windows locks the object when the method starts. The double instead drops the method if
    // another call changes the object before the method does its work.
    const auto self = core_.Change([&](NodeState& state) { return FindInstance(state, path); });
    core_.RunLater(effects.goes_on_at, [run, path, self](NodeState& state) {
      const auto now = FindInstance(state, path);
      const bool is_same = self.ok() && now.ok() && self->properties() == now->properties();
      if (is_same) (void)run(state);
    });
  }
  if (result.ok()) return result;
  // A fault may make the method return an error.
  const uint32_t error = Win32CodeOf(result.status()).value_or(0);
  if (!ran && error != 0 && error < kFirstHresult) {
    return Refused(*method, error, result.status().message());
  }
  return AsHresult(operation, result.status());
}

std::string SimulatedSession::ResourceAt(const ObjectPath& path) {
  return core_.Change([&](NodeState& state) {
    const absl::StatusOr<cim::Object> object = FindInstance(state, path);
    return object.ok() ? ResourceOf(*path.of, object->properties()) : std::string();
  });
}

std::unique_ptr<SimulatedSession> NewSimulatedSession(Core* core) {
  return std::make_unique<SimulatedSession>(core);
}

}  // namespace csi_proxy::machine::simulator::wmi
