// The API as data: the hub.proto and api.proto files of api/, parsed with their comments. The lock
// is made from this data. The folders define the versions, so no list of versions exists.
#pragma once

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::api {

namespace pb = google::protobuf;

// The text of each file, by its path relative to api/, such as `disk/v1/api.proto`.
using Sources = std::map<std::string, std::string>;

// Reads all .proto and .textproto files below `directory`. NOT_FOUND if it cannot be read.
absl::StatusOr<Sources> ReadSources(const std::string& directory);

// Read and write whole files. Errors name the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);
absl::Status WriteFile(const std::string& path, absl::string_view text);

struct Version {
  std::string name;  // `v1beta1`
  const pb::FileDescriptor* file = nullptr;
};

struct Group {
  std::string name;                         // `disk`
  const pb::FileDescriptor* hub = nullptr;  // null if the group has no hub.proto
  std::vector<Version> versions;            // by age: v1alpha1, v1beta1, v1, v2alpha1
};

// The parsed API. Owns the descriptors. Immutable.
class Files {
 public:
  // Returns INVALID_ARGUMENT with file, line and reason of every syntax error.
  static absl::StatusOr<std::unique_ptr<Files>> Parse(Sources sources);
  // Parses the hub and the versions of every group below `directory`.
  static absl::StatusOr<std::unique_ptr<Files>> ParseDirectory(const std::string& directory);
  ~Files();

  // Returns the groups, sorted by name.
  const std::vector<Group>& groups() const { return groups_; }
  const Sources& sources() const { return sources_; }

 private:
  class Tree;
  class Errors;
  explicit Files(Sources sources);
  absl::Status Import();

  const Sources sources_;
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<Errors> errors_;
  std::unique_ptr<pb::compiler::Importer> importer_;
  std::vector<Group> groups_;
};

// Returns true if version `a` is older: v1alpha1 < v1beta1 < v1beta2 < v1 < v2alpha1.
bool IsOlder(const std::string& a, const std::string& b);

// Returns a field's type, such as `uint32`, `repeated string` or `map<string, DiskIDs>`. Omits
// packages.
std::string TypeName(const pb::FieldDescriptor& field);

// Returns the name without its package but with enclosing messages: `Outer.Inner`.
template <typename Descriptor>
std::string LocalName(const Descriptor& descriptor) {
  const std::string& package = descriptor.file()->package();
  return descriptor.full_name().substr(package.empty() ? 0 : package.size() + 1);
}

}  // namespace csi_proxy::api
