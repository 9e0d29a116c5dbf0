// A machine that breaks its own rules, to test the host over it.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/host/testing.h"
#include "server/machine/little_endian.h"
#include "server/machine/os_wrapper_testing.h"
#include "server/machine/reparse_point.h"
#include "server/names/unicode.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/layouts_encode.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::host {

// The simulated WMI. It returns another value, or no value, for one property of a class or one
// out-parameter of a method.
class OddSession final : public machine::simulator::wmi::SimulatedSession {
 public:
  using Property = std::pair<std::string, std::string>;

  // Adds to `given` each property that an answer contains.
  OddSession(Machine& node, Property odd, std::optional<cim::Value> value,
             std::set<Property>* given)
      : SimulatedSession(node.core()),
        odd_(std::move(odd)),
        value_(std::move(value)),
        given_(*given) {}

  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override {
    auto objects = SimulatedSession::DoQuery(context, space, wql);
    if (!objects.ok()) return objects;
    for (cim::Object& object : *objects) object = Changed(object, object.class_name());
    return objects;
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override {
    auto result = SimulatedSession::DoInvoke(context, space, path, method, arguments);
    if (result.ok()) result->out = Changed(result->out, method);
    return result;
  }

 private:
  cim::Object Changed(const cim::Object& object, const std::string& of) {
    cim::Properties properties;
    for (const auto& [name, value] : object.properties()) {
      given_.emplace(of, name);
      if (Property(of, name) != odd_) {
        properties[name] = value;
      } else if (value_.has_value()) {
        properties[name] = *value_;
      }
    }
    return cim::Object(object.class_name(), object.path(), std::move(properties));
  }

  const Property odd_;
  const std::optional<cim::Value> value_;
  std::set<Property>& given_;
};

// A file of the simulated Win32. Each reparse point read from the file, or from an entry opened in
// it, has the bytes `link`.
class OddFile final : public machine::FileWrapper<> {
 public:
  OddFile(std::unique_ptr<machine::File> file, machine::Bytes link)
      : FileWrapper(std::move(file)), link_(std::move(link)) {}

  absl::StatusOr<machine::Bytes> ReadReparsePoint() override {
    const absl::Status read = FileWrapper::ReadReparsePoint().status();
    if (!read.ok()) return read;
    return link_;
  }

 private:
  std::unique_ptr<machine::File> Wrap(std::unique_ptr<machine::File> file) override {
    return std::make_unique<OddFile>(std::move(file), link_);
  }

  const machine::Bytes link_;
};

// The simulated Win32. Either one answer (of a device, or the firmware's table) or all reparse
// points have other bytes.
class OddOs : public machine::OsWrapper<> {
 public:
  explicit OddOs(Machine& node) : OddOs(node, -1, {}) {}
  // Changes only one answer. Before it, `others` answers stay unchanged.
  OddOs(Machine& node, int others, machine::Bytes odd)
      : OsWrapper(machine::simulator::NewSimulatedOs(node.core())),
        others_(others),
        odd_(std::move(odd)) {}
  // Gives all reparse points these bytes.
  OddOs(Machine& node, machine::Bytes link) : OddOs(node) { link_ = std::move(link); }
  bool answered() const { return others_ < 0; }

  // After so many questions for the number of a disk's device path, the paths belong to disk 99.
  int right_numbers = std::numeric_limits<int>::max();

  absl::StatusOr<machine::Bytes> Control(const std::string& device, machine::DeviceAccess access,
                                         uint32_t code, const machine::Bytes& input,
                                         size_t max_output) override {
    const bool asks = code == machine::control::kGetDeviceNumber &&
                      machine::simulator::DiskNumberOfPath(device).has_value();
    if (asks && right_numbers-- <= 0) {
      return machine::MakeDeviceNumber({.device_number = 99, .partition_number = 0});
    }
    return Changed(OsWrapper::Control(device, access, code, input, max_output));
  }
  absl::StatusOr<machine::Bytes> GetSmbiosTable() override {
    return Changed(OsWrapper::GetSmbiosTable());
  }

 private:
  std::unique_ptr<machine::File> Wrap(std::unique_ptr<machine::File> file) override {
    if (link_.empty()) return file;
    return std::make_unique<OddFile>(std::move(file), link_);
  }
  absl::StatusOr<machine::Bytes> Changed(absl::StatusOr<machine::Bytes> bytes) {
    return bytes.ok() && others_-- == 0 ? odd_ : bytes;
  }

  int others_;
  const machine::Bytes odd_;
  machine::Bytes link_;
};

// Returns the reparse data of a symbolic link with any target, like one from another program.
inline machine::Bytes SymlinkTo(absl::string_view target, bool is_relative = false) {
  const std::vector<uint8_t> name = ToUtf16Le(target);
  const auto size = static_cast<uint16_t>(name.size());
  machine::Bytes data;
  machine::AppendLittleEndian(machine::kReparseTagSymlink, &data);
  machine::AppendLittleEndian(static_cast<uint16_t>(size + 12), &data);
  for (const uint16_t number : {0, 0, int{size}, int{size}, 0, int{is_relative}, 0}) {
    machine::AppendLittleEndian(number, &data);
  }
  data.insert(data.end(), name.begin(), name.end());
  return data;
}

}  // namespace csi_proxy::host
