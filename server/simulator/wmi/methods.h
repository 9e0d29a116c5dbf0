// The methods of the simulated classes: arguments checked as WMI checks them, then the node's own
// functions, and their failures as the numbers that Windows answers with.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"
#include "server/simulator/state.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulated::wmi {

// A method that is to run: on the instance `self`, or, `self` being empty, on the class.
struct Call {
  NodeState& state;
  const Class& of;
  const Method& method;
  const cim::Object& self;
  const cim::Arguments& in;

  // These read arguments that CheckArguments() has let pass. A null argument was not given.
  bool Has(absl::string_view name) const;
  std::string Text(absl::string_view name) const;
  uint64_t Number(absl::string_view name, uint64_t fallback = 0) const;
  bool Flag(absl::string_view name) const;
};

using Outcome = absl::StatusOr<cim::MethodResult>;

// WBEM_E_INVALID_METHOD_PARAMETERS for an argument the method does not take or one it needs and did
// not get; WBEM_E_TYPE_MISMATCH. No error tells a value.
absl::Status CheckArguments(const Method& method, const cim::Arguments& in,
                            absl::string_view operation);

// Runs the method. A feature that Windows has and the simulation has not returns 1, Not Supported.
Outcome CallMethod(const Call& call);

// A return value of most methods.
inline constexpr uint32_t kNotSupported = 1;
// The result of a method that succeeded, with these out parameters; null for the others.
cim::MethodResult Done(const Method& method, cim::Properties out = {});
// The result of a method that failed and returns `code`, which is not 0; its ExtendedStatus, if the
// method has one, says `message`.
cim::MethodResult Refused(const Method& method, uint32_t code, absl::string_view message);
// A Win32 error as an HRESULT.
absl::Status Win32Failure(uint32_t error, absl::string_view what, absl::string_view detail = "");

struct Implementation {
  const char* class_name;
  const char* method;
  Outcome (*run)(const Call& call);
};
std::span<const Implementation> StorageMethods();
std::span<const Implementation> SmbMethods();
std::span<const Implementation> IscsiMethods();
std::span<const Implementation> ServiceMethods();

}  // namespace csi_proxy::machine::simulated::wmi
