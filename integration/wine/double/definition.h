// The members of a CIM object: the properties of a class, or the parameters of a method as
// GetMethod and SpawnInstance return them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/machine/cim/value.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::node_double {

namespace wmi = machine::simulator::wmi;

struct Member {
  std::string name;
  cim::Type type = cim::Type::kString;
  bool is_array = false;
  bool is_key = false;
  bool is_required = false;
};

struct Definition;
using DefinitionPtr = std::shared_ptr<const Definition>;

struct MethodDefinition {
  std::string name;
  // Null for a method without in parameters.
  DefinitionPtr in;
  // `ReturnValue` and the out parameters.
  DefinitionPtr out;
};

struct Definition {
  std::string name;
  cim::Namespace space = cim::Namespace::kCimV2;
  // True for system classes (parameters, errors), which exist in every namespace.
  bool is_system = false;
  std::vector<Member> members;
  std::vector<MethodDefinition> methods;

  // Finds a member or method by name, ignoring case. Returns nullopt or null if there is none.
  std::optional<size_t> Find(absl::string_view member) const;
  const MethodDefinition* FindMethod(absl::string_view method) const;
};

DefinitionPtr DefinitionOf(const wmi::Class& of);

// Returns the definition of the objects of a query that names properties: those properties and, if
// `locatable`, the keys.
DefinitionPtr Projected(const wmi::Class& of, const std::vector<const wmi::Property*>& columns,
                        bool locatable);

// Returns the definition of `__ExtendedStatus`, which describes a failed call.
DefinitionPtr ExtendedStatusDefinition();

}  // namespace csi_proxy::node_double
