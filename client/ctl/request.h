// Makes a request from the command line.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/ctl/catalog.h"

namespace csi_proxy::ctl {

// A field's flag: `--name=value`, or `--name` alone, for which `has_value` is false.
struct FieldArgument {
  std::string name;
  std::string value;
  bool has_value = false;
};

// Returns the secret in the file at a path; `-` is standard input.
using ReadSecret = std::function<absl::StatusOr<std::string>(const std::string& path)>;

// Sets fields of `request`. Names may be written in any style; nested fields follow a dot
// (`--target-portal.target-address`). A repeated field may be given several times, any other field
// once. A boolean without a value is true. An enum is given by name or number.
// `--<secret>-file=PATH` reads a secret from a file, and the value `-` from standard input.
// INVALID_ARGUMENT names the field and never quotes a secret.
absl::Status SetFields(const Catalog& catalog, absl::string_view group,
                       const std::vector<FieldArgument>& arguments, const ReadSecret& read_secret,
                       pb::Message* request);

// Sets fields of `request` from protobuf's JSON. INVALID_ARGUMENT says where the JSON is wrong,
// unless that could show a secret.
absl::Status SetFromJson(const Catalog& catalog, absl::string_view group, const std::string& json,
                         pb::Message* request);

// Returns the field whose name is `name` in any style; null if there is none.
const pb::FieldDescriptor* FindField(const pb::Descriptor& type, absl::string_view name);

// A field as a flag, with the type of its value: `--target-portal.target-port=UINT32`.
struct FieldFlag {
  std::string flag;
  const pb::FieldDescriptor* field = nullptr;
};

// Returns the flags that SetFields() accepts for a message. Maps and lists of messages have none.
std::vector<FieldFlag> FieldsAsFlags(const pb::Descriptor& type);
// Returns the texts of FieldsAsFlags().
std::vector<std::string> FieldFlags(const pb::Descriptor& type);

}  // namespace csi_proxy::ctl
