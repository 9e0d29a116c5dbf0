// The classes of WMI that the simulated node offers, as Windows defines them: names, CIM types,
// keys, methods with their parameters, associations with their roles.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::machine::simulated::wmi {

struct Property {
  const char* name;
  cim::Type type;
  bool is_array = false;
  bool is_key = false;
  // The class that a reference refers to. The property is then a role of an association.
  const char* class_name = "";
};

struct Parameter {
  const char* name;
  cim::Type type;
  bool is_array = false;
  bool is_out = false;
  // An in parameter that must be given.
  bool is_required = false;
  // The class of an object.
  const char* class_name = "";
};

// Every method returns a uint32 besides.
struct Method {
  const char* name;
  // Callable on the class itself.
  bool is_static = false;
  std::vector<Parameter> parameters;

  // Without case; null when there is none.
  const Parameter* FindIn(absl::string_view parameter) const;
};

struct Class {
  cim::Namespace space;
  const char* name;
  std::vector<Property> properties;
  std::vector<Method> methods;
  // The properties, or parameters of a static method, that name an instance to a fault rule: of a
  // disk its number. Several are joined by `:`.
  std::vector<const char*> resource;
  // The abstract class above it, by which instances can be queried too.
  const char* base = "";

  // Without case; null when there is none.
  const Property* FindProperty(absl::string_view property) const;
  const Method* FindMethod(absl::string_view method) const;
};

// All of them, associations among them.
const std::vector<Class>& Classes();
// Without case; null when there is none. The name of a base leads to its only class here.
const Class* FindClass(cim::Namespace space, absl::string_view name);

// The operations that a fault rule can strike: `wmi.Query/<Class>`, `wmi.Get/<Class>`,
// `wmi.Invoke/<Class>.<Method>` and `wmi.Associators/<class of what is found>`, in the classes' own
// spelling.
std::string QueryOperation(const Class& of);
std::string GetOperation(const Class& of);
std::string InvokeOperation(const Class& of, const Method& method);
std::string AssociatorsOperation(const Class& result);

}  // namespace csi_proxy::machine::simulated::wmi
