#include "server/simulator/wmi/methods.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"
#include "server/simulator/wmi/instances.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

const Value* Given(const cim::Arguments& in, absl::string_view name) {
  const auto found = in.find(name);
  return found == in.end() || found->second.is_null() ? nullptr : &found->second;
}

}  // namespace

bool Call::Has(absl::string_view name) const { return Given(in, name) != nullptr; }

std::string Call::Text(absl::string_view name) const {
  const Value* value = Given(in, name);
  return value == nullptr ? "" : value->AsText().value_or("");
}

uint64_t Call::Number(absl::string_view name, uint64_t fallback) const {
  const Value* value = Given(in, name);
  return value == nullptr ? fallback : value->AsUint64().value_or(fallback);
}

bool Call::Flag(absl::string_view name) const {
  const Value* value = Given(in, name);
  return value != nullptr && value->AsBoolean().value_or(false);
}

absl::Status CheckArguments(const Method& method, const cim::Arguments& in,
                            absl::string_view operation) {
  for (const auto& [name, value] : in) {
    const Parameter* parameter = method.FindIn(name);
    if (parameter == nullptr) {
      return cim::HresultStatus(cim::hresult::kInvalidMethodParameters, operation,
                                absl::StrCat("it takes no ", name));
    }
    if (value.is_null()) continue;
    if (value.type() != parameter->type || value.is_array() != parameter->is_array) {
      return cim::HresultStatus(cim::hresult::kTypeMismatch, operation, parameter->name);
    }
  }
  for (const Parameter& parameter : method.parameters) {
    if (parameter.is_required && Given(in, parameter.name) == nullptr) {
      return cim::HresultStatus(cim::hresult::kInvalidMethodParameters, operation,
                                absl::StrCat(parameter.name, " is missing"));
    }
  }
  return absl::OkStatus();
}

Outcome CallMethod(const Call& call) {
  if (const char* const service = StoppedService(call.state, call.of); service != nullptr) {
    return Win32Failure(win32_error::kServiceNotActive,
                        absl::StrCat(call.of.name, ".", call.method.name),
                        absl::StrCat("the service ", service, " does not run"));
  }
  for (const auto methods : {StorageMethods(), SmbMethods(), IscsiMethods(), ServiceMethods()}) {
    for (const Implementation& one : methods) {
      if (one.class_name == absl::string_view(call.of.name) &&
          one.method == absl::string_view(call.method.name)) {
        return one.run(call);
      }
    }
  }
  return Refused(call.method, kNotSupported, "the simulated node cannot do that");
}

cim::MethodResult Done(const Method& method, cim::Properties out) {
  for (const Parameter& parameter : method.parameters) {
    if (parameter.is_out) {
      out.emplace(parameter.name, Value::Null(parameter.type, parameter.is_array));
    }
  }
  return {0, cim::Object("__PARAMETERS", "", std::move(out))};
}

cim::MethodResult Refused(const Method& method, uint32_t code, absl::string_view message) {
  constexpr char kExtendedStatus[] = "ExtendedStatus";
  cim::Properties out;
  for (const Parameter& parameter : method.parameters) {
    if (parameter.is_out && parameter.name == absl::string_view(kExtendedStatus)) {
      out[kExtendedStatus] = Value::Embedded(
          MakeObject(parameter.class_name, {{"Message", Value::String(std::string(message))}}));
    }
  }
  cim::MethodResult result = Done(method, std::move(out));
  result.return_value = code;
  return result;
}

absl::Status Win32Failure(uint32_t error, absl::string_view what, absl::string_view detail) {
  return cim::HresultStatus(0x80070000 | (error & 0xFFFF), what, detail);
}

}  // namespace csi_proxy::machine::simulator::wmi
