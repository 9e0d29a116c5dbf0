// Pairs a group's released versions with its hub. Contains every rule of conversion, and checks the
// .proto files against the table; the printers only print this model.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/conversions.pb.h"

namespace csi_proxy::codegen {

namespace pb = google::protobuf;

// How a value is converted.
enum class Conversion {
  kCopy,     // the same type
  kDecimal,  // string in the version, integer in the hub
  kWiden,    // integers of different ranges
  kMessage,  // by ToHub() and FromHub() of the messages
  kEnum,     // by ToHub() and FromHub() of the enums
};

// Two fields with one meaning. Both must be singular, repeated or maps.
struct FieldPair {
  const pb::FieldDescriptor* version = nullptr;
  const pb::FieldDescriptor* hub = nullptr;
  // The conversion of the value, the element, or the map's value.
  Conversion value = Conversion::kCopy;
  // The conversion of the map's key; kCopy for other fields.
  Conversion key = Conversion::kCopy;
};

struct MessagePair {
  const pb::Descriptor* version = nullptr;
  const pb::Descriptor* hub = nullptr;
  // True if handwritten functions convert the message; the generator only declares them.
  bool is_overridden = false;
  std::vector<FieldPair> fields;
};

struct EnumPair {
  const pb::EnumDescriptor* version = nullptr;
  const pb::EnumDescriptor* hub = nullptr;
  // The hub value of each version value.
  std::vector<std::pair<const pb::EnumValueDescriptor*, const pb::EnumValueDescriptor*>> to_hub;
  // The version value of each hub value. Longer than to_hub if the version lacks values.
  std::vector<std::pair<const pb::EnumValueDescriptor*, const pb::EnumValueDescriptor*>> from_hub;
};

struct MethodPair {
  const pb::MethodDescriptor* version = nullptr;
  const pb::MethodDescriptor* hub = nullptr;
};

// A released version, paired with the hub.
struct Version {
  std::string name;  // `v1beta1`, also its package
  const pb::FileDescriptor* file = nullptr;
  const pb::ServiceDescriptor* service = nullptr;
  std::vector<MethodPair> methods;
  std::vector<MessagePair> messages;
  std::vector<EnumPair> enums;
};

struct Group {
  std::string name;  // `volume`
  const pb::FileDescriptor* hub = nullptr;
  const pb::ServiceDescriptor* service = nullptr;
  std::vector<Version> versions;
};

// Pairs the versions with the hub. `files` must be `<group>/hub.proto` and all
// `<group>/<version>/api.proto`. Returns INVALID_ARGUMENT with a line for each problem found: file,
// message, field and the row to add. A row that matches nothing is also a problem.
absl::StatusOr<Group> BuildGroup(const std::string& group_name,
                                 const std::vector<const pb::FileDescriptor*>& files,
                                 const Conversions& table);

// Returns a key that is equal for equivalent names: `diskID`, `disk_id` and `DiskId`.
std::string NormalisedName(absl::string_view name);

// Returns `kOneWayChap` for `ONE_WAY_CHAP`.
std::string EnumeratorName(absl::string_view name);

// Returns true if `name` is a keyword of C++ and so cannot be a field's name.
bool IsCppKeyword(absl::string_view name);

}  // namespace csi_proxy::codegen
