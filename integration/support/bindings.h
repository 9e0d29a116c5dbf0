// The generated clients of every released version, for tests that call methods by name.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "csi_proxy/call_options.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::integration {

namespace pb = google::protobuf;

// Calls a method of an open client.
using CallFunction =
    std::function<absl::Status(const std::string& method, const pb::Message& request,
                               pb::Message* response, const CallOptions& options)>;

struct Binding {
  std::string group, version;
  const pb::ServiceDescriptor* service;
  // Returns a function that calls a client of this version.
  CallFunction (*open)(std::shared_ptr<Connection> connection);
  // Converts `in` to the hub's message and back.
  absl::Status (*round_trip)(const pb::Message& in, pb::Message* out);

  std::string name() const { return group + " " + version; }
  const pb::FileDescriptor* file() const { return service->file(); }
};

// Returns the bindings of all released versions, in the order in which the build found them.
const std::vector<Binding>& AllVersions();

// Returns an empty message. REQUIRES: the type is linked into the program.
std::unique_ptr<pb::Message> NewMessage(const pb::Descriptor* type);

}  // namespace csi_proxy::integration
