// The place of an object in a namespace: `Class.Key="value"`, as WMI's `__RELPATH` has it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulated::wmi {

// The path of an instance with these keys, in the order the class has them; empty for a class
// without keys, whose instances have no path. Keys that are not given are empty text.
std::string MakePath(const Class& of, const cim::Properties& keys);

struct ObjectPath {
  const Class* of = nullptr;
  // The path in MakePath()'s spelling; empty when it names the class itself.
  std::string instance;
  // By property, as in the path.
  cim::Properties keys;
};

// A relative path, all of it. WBEM_E_INVALID_OBJECT_PATH when it is none, or its keys are not
// those of the class; WBEM_E_INVALID_CLASS when there is no such class.
absl::StatusOr<ObjectPath> ParsePath(cim::Namespace space, absl::string_view text);

// Takes the path from the front of `text` and leaves what is behind it.
absl::StatusOr<ObjectPath> TakePath(cim::Namespace space, absl::string_view* text);

}  // namespace csi_proxy::machine::simulated::wmi
