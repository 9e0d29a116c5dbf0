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

// Reads the whole of a file; `-` is standard input.
using ReadFunction = std::function<absl::StatusOr<std::string>(const std::string& path)>;

// Sets fields of `request`. Names are written in any style, those of nested messages after a dot
// (`--target-portal.target-address`); a repeated field is given several times; a boolean alone is
// true; an enum is given by name or number. `--<secret>-file=PATH` reads a secret, without its last
// line break, and a secret's value `-` reads standard input. INVALID_ARGUMENT names the field, and
// never repeats a secret.
absl::Status SetFields(const Catalog& catalog, absl::string_view group,
                       const std::vector<FieldArgument>& arguments, const ReadFunction& read,
                       pb::Message* request);

// The names of a message's fields as SetFields takes them, `--target-portal.target-port=UINT32`.
std::vector<std::string> FieldFlags(const pb::Descriptor& type);

}  // namespace csi_proxy::ctl
