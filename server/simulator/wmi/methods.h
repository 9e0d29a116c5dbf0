// The methods of the simulated classes. They check arguments as WMI does, call the node's own
// functions, and return the failures of those functions as Windows' numbers.
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

namespace csi_proxy::machine::simulator::wmi {

// A call of a method: on the instance `self` or, if `self` is empty, on the class.
struct Call {
  NodeState& state;
  const Class& of;
  const Method& method;
  const cim::Object& self;
  const cim::Arguments& in;

  // Read arguments; a null argument counts as not given. REQUIRES: CheckArguments() returned OK.
  bool Has(absl::string_view name) const;
  std::string Text(absl::string_view name) const;
  uint64_t Number(absl::string_view name, uint64_t fallback = 0) const;
  bool Flag(absl::string_view name) const;
};

using Outcome = absl::StatusOr<cim::MethodResult>;

// Returns WBEM_E_INVALID_METHOD_PARAMETERS for an unknown argument or a missing required one,
// WBEM_E_TYPE_MISMATCH for a wrong type. No error contains a value.
absl::Status CheckArguments(const Method& method, const cim::Arguments& in,
                            absl::string_view operation);

// Runs the method. Returns 1, Not Supported, for a method that the simulation lacks. Fails if
// StoppedService() returns a service.
Outcome CallMethod(const Call& call);

// The return value of most methods for a feature that is not supported.
inline constexpr uint32_t kNotSupported = 1;
// Returns the result of a method that succeeded. Out parameters beyond `out` are null.
cim::MethodResult Done(const Method& method, cim::Properties out = {});
// Returns the result of a method that failed with `code`; its ExtendedStatus, if the method has
// one, contains `message`. REQUIRES: `code` is not 0.
cim::MethodResult Refused(const Method& method, uint32_t code, absl::string_view message);
// Returns a Win32 error as an HRESULT.
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

}  // namespace csi_proxy::machine::simulator::wmi
