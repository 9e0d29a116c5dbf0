#include "integration/wine/double/definition.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"

namespace csi_proxy::node_double {
namespace {

// learn.microsoft.com/windows/win32/wmisdk/--parameters
constexpr char kParameters[] = "__PARAMETERS";

Member ToMember(const wmi::Property& property) {
  return {property.name, property.type, property.is_array, property.is_key, false};
}
Member ToMember(const wmi::Parameter& parameter) {
  return {parameter.name, parameter.type, parameter.is_array, false, parameter.is_required};
}

MethodDefinition ToMethod(const wmi::Class& of, const wmi::Method& method) {
  auto in = std::make_shared<Definition>();
  auto out = std::make_shared<Definition>();
  in->name = out->name = kParameters;
  in->space = out->space = of.space;
  in->is_system = out->is_system = true;
  for (const wmi::Parameter& parameter : method.parameters) {
    (parameter.is_out ? out : in)->members.push_back(ToMember(parameter));
  }
  out->members.push_back({"ReturnValue", cim::Type::kUint32, false, false, false});
  if (in->members.empty()) in = nullptr;
  return {method.name, std::move(in), std::move(out)};
}

DefinitionPtr Define(const wmi::Class& of) {
  auto definition = std::make_shared<Definition>();
  definition->name = of.name;
  definition->space = of.space;
  for (const wmi::Property& property : of.properties) {
    definition->members.push_back(ToMember(property));
  }
  for (const wmi::Method& method : of.methods) definition->methods.push_back(ToMethod(of, method));
  return definition;
}

template <typename Named>
auto FindNamed(const std::vector<Named>& all, absl::string_view name) {
  return std::find_if(all.begin(), all.end(),
                      [&](const Named& one) { return absl::EqualsIgnoreCase(one.name, name); });
}

}  // namespace

std::optional<size_t> Definition::Find(absl::string_view member) const {
  const auto found = FindNamed(members, member);
  if (found == members.end()) return std::nullopt;
  return static_cast<size_t>(found - members.begin());
}

const MethodDefinition* Definition::FindMethod(absl::string_view method) const {
  const auto found = FindNamed(methods, method);
  return found == methods.end() ? nullptr : &*found;
}

DefinitionPtr DefinitionOf(const wmi::Class& of) {
  static const auto* const kDefinitions = [] {
    auto* definitions = new std::map<const wmi::Class*, DefinitionPtr>();
    for (const wmi::Class& one : wmi::Classes()) definitions->emplace(&one, Define(one));
    return definitions;
  }();
  return kDefinitions->at(&of);
}

DefinitionPtr Projected(const wmi::Class& of, const std::vector<const wmi::Property*>& columns,
                        bool locatable) {
  auto definition = std::make_shared<Definition>();
  definition->name = of.name;
  definition->space = of.space;
  for (const wmi::Property* column : columns) {
    // A property that the query names twice is listed once.
    if (!definition->Find(column->name)) definition->members.push_back(ToMember(*column));
  }
  for (const wmi::Property& property : of.properties) {
    if (!locatable || !property.is_key || definition->Find(property.name)) continue;
    definition->members.push_back(ToMember(property));
  }
  return definition;
}

DefinitionPtr ExtendedStatusDefinition() {
  static const auto* const kDefinition = [] {
    auto definition = std::make_shared<Definition>();
    definition->name = "__ExtendedStatus";
    definition->is_system = true;
    for (const char* const text : {"Description", "Operation", "ParameterInfo", "ProviderName"}) {
      definition->members.push_back({text, cim::Type::kString, false, false, false});
    }
    definition->members.push_back({"StatusCode", cim::Type::kUint32, false, false, false});
    return new DefinitionPtr(std::move(definition));
  }();
  return *kDefinition;
}

}  // namespace csi_proxy::node_double
