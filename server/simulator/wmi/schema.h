// The WMI classes that the simulated node offers, as Windows defines them: names, CIM types, keys,
// methods with their parameters, associations with their roles.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::machine::simulator::wmi {

struct Property {
  const char* name;
  cim::Type type;
  bool is_array = false;
  bool is_key = false;
  // The class of the object that a reference names; empty for other types. A property with this
  // class is a role of an association.
  const char* class_name = "";
};

struct Parameter {
  const char* name;
  cim::Type type;
  bool is_array = false;
  bool is_out = false;
  // True for an in parameter that must be given.
  bool is_required = false;
  // The class of an embedded object; empty for other types.
  const char* class_name = "";
};

// A method. Besides its out parameters, every method returns a uint32.
struct Method {
  const char* name;
  // True if the method may be called on the class itself.
  bool is_static = false;
  std::vector<Parameter> parameters;

  // Returns an in parameter by name, ignoring case, or null.
  const Parameter* FindIn(absl::string_view parameter) const;
};

struct Class {
  cim::Namespace space;
  const char* name;
  std::vector<Property> properties;
  std::vector<Method> methods;
  // The properties that name an instance to a fault rule: the FaultRule::resource is their values,
  // joined by `:`. For a static method, the parameters with these names.
  std::vector<const char*> resource;
  // The abstract base class, or empty. Queries may name the base class too.
  const char* base = "";

  // Returns a property by name, ignoring case, or null.
  const Property* FindProperty(absl::string_view property) const;
  const Method* FindMethod(absl::string_view method) const;
};

// Returns all classes, associations included.
const std::vector<Class>& Classes();
// Returns a class by its name or its base's name, ignoring case, or null. Every base has only one
// class here.
const Class* FindClass(cim::Namespace space, absl::string_view name);

// Return the operations that a fault rule can name: `wmi.Query/<Class>`, `wmi.Get/<Class>`,
// `wmi.Invoke/<Class>.<Method>` and `wmi.Associators/<class of the result>`, in the classes' own
// spelling.
std::string QueryOperation(const Class& of);
std::string GetOperation(const Class& of);
std::string InvokeOperation(const Class& of, const Method& method);
std::string AssociatorsOperation(const Class& result);
// Returns the operations of all classes, each once.
std::vector<std::string> SchemaOperations();

}  // namespace csi_proxy::machine::simulator::wmi
