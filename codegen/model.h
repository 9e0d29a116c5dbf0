// The pairing of a group's released versions with its hub: where every rule of conversion and every
// error of the generator lives. The printers only write down the model.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/conversions.pb.h"

namespace csi_proxy::codegen {

namespace pb = google::protobuf;

// The conversion of one value into the other.
enum class Conversion {
  kCopy,     // the same type
  kDecimal,  // string in the version, integer in the hub
  kWiden,    // integers of different range
  kMessage,  // by the pair's ToHub and FromHub
  kEnum,     // likewise
};

// Two fields that mean the same. Singular, repeated and map fields only meet their like.
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
  // Converted by hand: declared, not defined.
  bool is_overridden = false;
  std::vector<FieldPair> fields;
};

struct EnumPair {
  const pb::EnumDescriptor* version = nullptr;
  const pb::EnumDescriptor* hub = nullptr;
  // Version value -> hub value.
  std::vector<std::pair<const pb::EnumValueDescriptor*, const pb::EnumValueDescriptor*>> to_hub;
  // Hub value -> version value; more than to_hub where the version lacks values.
  std::vector<std::pair<const pb::EnumValueDescriptor*, const pb::EnumValueDescriptor*>> from_hub;
};

struct MethodPair {
  const pb::MethodDescriptor* version = nullptr;
  const pb::MethodDescriptor* hub = nullptr;
};

// One released version against the hub.
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

// Pairs everything. `files` are `<group>/hub.proto` and `<group>/<version>/api.proto` of one group;
// versions that only exist in the table are errors. INVALID_ARGUMENT lists every problem, a line
// each, naming file, message and field, and the row that would settle it.
absl::StatusOr<Group> BuildGroup(const std::string& group_name,
                                 const std::vector<const pb::FileDescriptor*>& files,
                                 const Conversions& table);

}  // namespace csi_proxy::codegen
