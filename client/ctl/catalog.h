// Every released rpc with its documentation, from descriptors that are built into the program.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::ctl {

namespace pb = google::protobuf;

// The group of the simulated node's admin service. Its only version has no name.
inline constexpr char kSimulatedGroup[] = "sim";
// The pipe of the simulated node's admin service.
inline constexpr char kAdminPipe[] = "csi-proxy-admin";

// One rpc of one version.
struct Method {
  std::string group;
  std::string version;  // Empty for kSimulatedGroup.
  const pb::MethodDescriptor* descriptor = nullptr;

  // Returns `/v1.Volume/MountVolume`.
  std::string path() const;
};

// Immutable and thread-safe.
class Catalog {
 public:
  Catalog();

  // Returns the released groups in alphabetical order, without kSimulatedGroup.
  std::vector<std::string> Groups() const;
  // Returns the versions of a group, preferred first: stable versions, alphas of the next
  // generation, betas, other alphas; newer before older.
  std::vector<std::string> Versions(absl::string_view group) const;
  std::vector<Method> Methods(absl::string_view group, absl::string_view version) const;
  // Returns the group and version of each released pipe, sorted like Groups() and Versions().
  std::vector<std::pair<std::string, std::string>> Pipes() const;
  // Returns the methods of all groups and versions, with those of kSimulatedGroup.
  const std::vector<Method>& AllMethods() const { return methods_; }

  // Returns the preferred version, to call instead of `version`. Empty if `version` is the
  // preferred version, is of a later generation, or does not exist.
  std::string Successor(absl::string_view group, absl::string_view version) const;

  // Returns `version` if it exists, or all versions, preferred first, if `version` is empty. The
  // text of INVALID_ARGUMENT lists the existing names and suggests a similar name.
  absl::StatusOr<std::vector<std::string>> VersionsFor(absl::string_view group,
                                                       absl::string_view version) const;

  // Finds a method by name, ignoring case, dashes and underscores. An empty version stands for the
  // most preferred version that has the method. The text of INVALID_ARGUMENT lists the existing
  // names and suggests a similar name.
  absl::StatusOr<Method> Find(absl::string_view group, absl::string_view method,
                              absl::string_view version) const;

  // Returns the hub's method of that name, or null, for example if the method has been renamed.
  const pb::MethodDescriptor* Hub(const Method& method) const;
  // Returns true if the API promises that a call changes nothing.
  bool ChangesNothing(const Method& method) const;

  // Makes an empty message.
  std::unique_ptr<pb::Message> New(const pb::Descriptor* type) const;

  // Returns true if the hub, or this catalog for `sim` and `selftest`, marks the name as a secret.
  bool IsSecret(absl::string_view group, const pb::FieldDescriptor& field) const;
  // Returns true if a message, or one nested in it, has a secret field.
  bool HoldsSecret(absl::string_view group, const pb::Descriptor& type) const;

 private:
  pb::DescriptorPool pool_;
  mutable pb::DynamicMessageFactory factory_{&pool_};  // Thread-safe.
  std::vector<Method> methods_;  // Sorted by group, and the versions by preference.
  std::vector<std::pair<std::string, std::string>> secrets_;  // Group and Plain() field name.
};

// Returns the name in lower case without `-` and `_`: `diskNumber` and `disk-number` are equal.
std::string Plain(absl::string_view name);

// Returns get-volume-id-from-target-path for `GetVolumeIDFromTargetPath`, disk-ids for `diskIDs`.
std::string KebabCase(absl::string_view name);

// Returns `; did you mean X?` with the candidate most similar to `name`, or "" if none is similar.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates);

// Returns INVALID_ARGUMENT with the text of the parts.
template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Returns the fields of a message type.
std::vector<const pb::FieldDescriptor*> FieldsOf(const pb::Descriptor& type);
// Returns the number of a field's values: one for a singular field.
int CountValues(const pb::Message& message, const pb::FieldDescriptor* field);
// Return the value at `index`, which is ignored for a singular field. ScalarText() returns a
// string, the name of an enum's value, or a number in decimal.
std::string ScalarText(const pb::Message& message, const pb::FieldDescriptor* field, int index = 0);
const pb::Message& InnerMessage(const pb::Message& message, const pb::FieldDescriptor* field,
                                int index = 0);
// Returns the names of an enum's values.
std::vector<std::string> ValueNames(const pb::EnumDescriptor& type);

// Returns the comment above a descriptor on one line, or "".
std::string CommentText(const pb::SourceLocation& location);
template <typename Descriptor>
std::string Comment(const Descriptor& descriptor) {
  pb::SourceLocation location;
  return descriptor.GetSourceLocation(&location) ? CommentText(location) : "";
}

// Returns the comment at the top of a file.
std::string FileComment(const pb::FileDescriptor& file);

}  // namespace csi_proxy::ctl
