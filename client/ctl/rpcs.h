// The rpcs of a running service, by group, name and fields, whatever their version; each is timed.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/ctl/catalog.h"
#include "client/ctl/doctor.h"

namespace csi_proxy::ctl {

// The pipes of the service. Not thread-safe.
class Pipes {
 public:
  virtual ~Pipes() = default;
  virtual bool IsThere(const std::string& group, const std::string& version) = 0;
  virtual PipeReport Examine(const std::string& group, const std::string& version) = 0;
  virtual absl::Status Send(const Method& method, const pb::Message& request,
                            pb::Message* response) = 0;
};

// Those of this machine.
std::unique_ptr<Pipes> NewRemotePipes(const ClientOptions& options, const CallOptions& call);

// An answer. A field is named in any style; one that the answer does not have reads as empty, and
// Rpcs::missing_field() tells.
class Answer {
 public:
  // Empty, of a call that was not made or failed.
  Answer() = default;
  // `missing` is not owned.
  Answer(std::shared_ptr<const pb::Message> message, std::string* missing)
      : message_(std::move(message)), missing_(missing) {}

  bool Flag(absl::string_view field) const;
  // A number, also one in decimal, as the oldest versions have it.
  uint64_t Number(absl::string_view field) const;
  // A string, or an enum's name.
  std::string Text(absl::string_view field) const;
  // A list of strings, or of the names of an enum.
  std::vector<std::string> Texts(absl::string_view field) const;
  // The number of entries in a list.
  int Size(absl::string_view field) const;
  // A list of messages.
  std::vector<Answer> Each(absl::string_view field) const;
  // The value of a map from numbers to messages.
  std::optional<Answer> Entry(absl::string_view field, uint64_t key) const;

 private:
  using Kinds = std::initializer_list<pb::FieldDescriptor::CppType>;
  const pb::FieldDescriptor* Find(absl::string_view field, Kinds kinds, bool repeated) const;

  std::shared_ptr<const pb::Message> message_;
  std::string* missing_ = nullptr;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

// Not thread-safe. Outlives its answers.
class Rpcs {
 public:
  // Neither is owned.
  Rpcs(const Catalog& catalog, Pipes& pipes) : catalog_(catalog), pipes_(pipes) {}

  // Calls a method in the newest version that has it and whose pipe exists. A nested field
  // follows a dot. Errors are the service's own; UNAVAILABLE when there is no such pipe;
  // INVALID_ARGUMENT when there is no such method or field.
  absl::StatusOr<Answer> Call(const std::string& group, const std::string& method,
                              const Fields& fields);

  // By `volume.MountVolume` and version, how long each call took.
  using Times = std::map<std::pair<std::string, std::string>, std::vector<absl::Duration>>;
  const Times& times() const { return times_; }

  // A field that was looked for in an answer and that its type does not have; empty: none.
  const std::string& missing_field() const { return missing_field_; }

  const Catalog& catalog() const { return catalog_; }
  Pipes& pipes() const { return pipes_; }

 private:
  const Catalog& catalog_;
  Pipes& pipes_;
  Times times_;
  std::string missing_field_;
};

}  // namespace csi_proxy::ctl
