// Every released version, as tests reach it: through the generated client, by name.
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
  // Makes a client of the version.
  CallFunction (*open)(std::shared_ptr<Connection> connection);
  // To the hub and back.
  absl::Status (*round_trip)(const pb::Message& in, pb::Message* out);

  // `disk v1`
  std::string name() const { return group + " " + version; }
  const pb::FileDescriptor* file() const { return service->file(); }
};

// All of them, as the build found their files.
const std::vector<Binding>& AllVersions();

// An empty message of a linked type.
std::unique_ptr<pb::Message> NewMessage(const pb::Descriptor* type);

}  // namespace csi_proxy::integration
