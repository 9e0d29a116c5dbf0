// The rpcs of a running service, by group, name and fields, in any version. Each call is timed.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/ctl/catalog.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::ctl {

// The result of examining one pipe.
struct PipeReport {
  // OK if the service behind the pipe says that it serves, otherwise the reason.
  absl::Status status = absl::OkStatus();
  // The time until the connection was made, and from then to the answer. Zero unless `status` is
  // OK.
  absl::Duration connecting = absl::ZeroDuration(), answering = absl::ZeroDuration();
};

// The pipes of the service. Not thread-safe.
class Pipes {
 public:
  virtual ~Pipes() = default;
  virtual bool Exists(const std::string& group, const std::string& version) = 0;
  virtual PipeReport Examine(const std::string& group, const std::string& version) = 0;
  virtual absl::Status Send(const Method& method, const pb::Message& request,
                            pb::Message* response) = 0;
};

// Returns the pipes of this machine. Names each pipe on `opened`, if not null, when it is opened.
std::unique_ptr<Pipes> NewRemotePipes(const ClientOptions& options, const CallOptions& call,
                                      std::ostream* opened = nullptr);

// An answer. Fields may be named in any style. A field that the answer's type does not have reads
// as empty, and is recorded in Rpcs::missing_field().
class Answer {
 public:
  // The empty answer of a call that failed or was not made.
  Answer() = default;
  // `missing` is not owned and must outlive the answer.
  Answer(std::shared_ptr<const pb::Message> message, std::string* missing)
      : message_(std::move(message)), missing_(missing) {}

  bool Flag(absl::string_view field) const;
  // Returns a number, which the oldest versions send as a decimal string. Returns UINT64_MAX if the
  // string is malformed or the number negative.
  uint64_t Number(absl::string_view field) const;
  // Returns a string, the name of an enum value, or a number of 32 bits in decimal.
  std::string Text(absl::string_view field) const;
  // Returns a list of strings, or of names of enum values.
  std::vector<std::string> Texts(absl::string_view field) const;
  // Returns the number of strings or messages in a list.
  int Size(absl::string_view field) const;
  // Returns a list of messages.
  std::vector<Answer> Each(absl::string_view field) const;
  // Returns the value for a key of a map from numbers to messages.
  std::optional<Answer> Entry(absl::string_view field, uint64_t key) const;

 private:
  using Kinds = std::initializer_list<pb::FieldDescriptor::CppType>;
  const pb::FieldDescriptor* Find(absl::string_view field, Kinds kinds, bool repeated) const;
  // Returns a part of the answer, which keeps the whole alive.
  Answer Within(const pb::Message& part) const { return Answer({message_, &part}, missing_); }

  std::shared_ptr<const pb::Message> message_;
  std::string* missing_ = nullptr;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

// Not thread-safe. Must outlive its answers.
class Rpcs {
 public:
  // `catalog` and `pipes` are not owned and must outlive the object.
  Rpcs(const Catalog& catalog, Pipes& pipes) : catalog_(catalog), pipes_(pipes) {}

  // Calls a method such as `volume.MountVolume` in the most preferred version that has the method
  // and whose pipe exists. Nested fields follow a dot. UNAVAILABLE if there is no such pipe;
  // INVALID_ARGUMENT if there is no such method or field; otherwise the service's error.
  absl::StatusOr<Answer> Call(absl::string_view rpc, const Fields& fields = {});

  // The duration of each call, by `volume.MountVolume` and version.
  using Times = std::map<std::pair<std::string, std::string>, std::vector<absl::Duration>>;
  const Times& times() const { return times_; }

  // A field that was read although the answer's type lacks it; "" if there is none.
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
