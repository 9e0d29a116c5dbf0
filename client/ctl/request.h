// Makes a request of what the command line says.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/ctl/catalog.h"

namespace csi_proxy::ctl {

// One `--name=value`; `has_value` is false for `--name` alone.
struct FieldArgument {
  std::string name;
  std::string value;
  bool has_value = false;
};

// Reads a secret from the file at a path; `-` is standard input.
using ReadSecret = std::function<absl::StatusOr<std::string>(const std::string& path)>;

// Sets fields of `request`. Names are written in any style, those of nested messages after a dot
// (`--target-portal.target-address`); a repeated field is given several times, another once; a
// boolean alone is true; an enum is given by name or number. `--<secret>-file=PATH` takes a secret
// from a file, and a secret's value `-` from standard input. INVALID_ARGUMENT names the field, and
// never repeats a secret.
absl::Status SetFields(const Catalog& catalog, absl::string_view group,
                       const std::vector<FieldArgument>& arguments, const ReadSecret& read_secret,
                       pb::Message* request);

// Sets fields of `request` from protobuf's JSON. INVALID_ARGUMENT says where it is wrong, unless
// the request has secrets that this could show.
absl::Status SetFromJson(const Catalog& catalog, absl::string_view group, const std::string& json,
                         pb::Message* request);

// A field as a flag, with the kind of its value: `--target-portal.target-port=UINT32`.
struct FieldFlag {
  std::string flag;
  const pb::FieldDescriptor* field = nullptr;
};

// The flags that SetFields takes for a message. Maps and lists of messages have none.
std::vector<FieldFlag> FieldsAsFlags(const pb::Descriptor& type);
// Only their texts.
std::vector<std::string> FieldFlags(const pb::Descriptor& type);

}  // namespace csi_proxy::ctl
