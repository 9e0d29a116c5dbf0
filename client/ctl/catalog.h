// The catalog of all that can be called: every released rpc, with its documentation, from the
// descriptors of the API files that are built into the program.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::ctl {

namespace pb = google::protobuf;

// The group under which the simulated node's admin service goes. It has one version without a name.
inline constexpr char kSimulatedGroup[] = "sim";
// The pipe of the simulated node's admin service.
inline constexpr char kAdminPipe[] = "csi-proxy-admin";

// One rpc of one version.
struct Method {
  std::string group;
  std::string version;  // empty for kSimulatedGroup
  const pb::MethodDescriptor* descriptor = nullptr;

  // `/v1.Volume/MountVolume`
  std::string path() const;
};

// Immutable and thread-safe.
class Catalog {
 public:
  Catalog();

  // The released groups in alphabetical order; kSimulatedGroup is not among them.
  std::vector<std::string> Groups() const;
  // Versions of a group, the preferred first: stable before alpha of the next, before beta, before
  // alpha; newer before older.
  std::vector<std::string> Versions(absl::string_view group) const;
  std::vector<Method> Methods(absl::string_view group, absl::string_view version) const;

  // The version of a group that is to be called instead of this one; empty when this is the
  // preferred one or of a later generation, or not a version at all.
  std::string Successor(absl::string_view group, absl::string_view version) const;

  // The versions to look at when `version` was asked for: that one, or all of them in order of
  // preference when it is empty. INVALID_ARGUMENT lists what there is and the nearest name.
  absl::StatusOr<std::vector<std::string>> VersionsFor(absl::string_view group,
                                                       absl::string_view version) const;

  // The method of that name, written in any case and with or without dashes. An empty version is
  // the preferred one that has it. INVALID_ARGUMENT lists what there is and the nearest name.
  absl::StatusOr<Method> Find(absl::string_view group, absl::string_view method,
                              absl::string_view version) const;

  // The hub's method of the same name; null when there is none, as for one that was renamed since.
  const pb::MethodDescriptor* Hub(const Method& method) const;
  // Tells whether the API promises that a call changes nothing.
  bool ChangesNothing(const Method& method) const;

  // A message of the type, empty.
  std::unique_ptr<pb::Message> New(const pb::Descriptor* type) const;

  // Tells whether a field carries a secret, by the hub's mark on the field of that name.
  bool IsSecret(absl::string_view group, const pb::FieldDescriptor& field) const;
  // Tells whether a message or one inside it has such a field.
  bool HoldsSecret(absl::string_view group, const pb::Descriptor& type) const;

 private:
  pb::SimpleDescriptorDatabase database_;
  std::unique_ptr<pb::DescriptorPool> pool_;
  std::unique_ptr<pb::DynamicMessageFactory> factory_;
  std::vector<Method> methods_;
  std::vector<std::pair<std::string, std::string>> secrets_;  // group, normalised field name
};

// Lower case, without `-` and `_`: `--disk-number`, `disk_number` and `diskNumber` are one.
std::string Plain(absl::string_view name);

// `GetVolumeIDFromTargetPath` is get-volume-id-from-target-path, `diskIDs` disk-ids.
std::string KebabCase(absl::string_view name);

// The one of `candidates` that is most like `name`; empty when none is.
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

// The comment above a descriptor, on one line; empty when there is none.
std::string CommentText(const pb::SourceLocation& location);
template <typename Descriptor>
std::string Comment(const Descriptor& descriptor) {
  pb::SourceLocation location;
  return descriptor.GetSourceLocation(&location) ? CommentText(location) : "";
}

// The comment at the top of a file.
std::string FileComment(const pb::FileDescriptor& file);

}  // namespace csi_proxy::ctl
