#include <google/protobuf/empty.pb.h>

#include <mutex>
#include <thread>
#include <vector>

#include "api/released.h"
#include "client/cpp/remote_channel.h"
#include "server/base/released_names.h"
#include "service_installer/installer.h"

namespace csi_proxy::installer {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(3);

bool Answers(const api::ReleasedVersion& version) {
  ClientOptions options;
  options.mode = Mode::kRemote;
  options.connect_timeout = kTimeout;
  const auto channel = client::RemoteChannel::Open(options, version.group, version.version);
  if (!channel.ok()) return false;
  // An empty request asks about the whole server, and only the status of the call matters.
  google::protobuf::Empty request, response;
  return (*channel)
      ->Call("/grpc.health.v1.Health/Check", client::MakeCallContext({.timeout = kTimeout}, {}),
             request, &response)
      .ok();
}

}  // namespace

std::set<std::string> AnsweringPipes() {
  std::mutex mutex;
  std::set<std::string> answering;
  std::vector<std::thread> threads;
  for (const api::ReleasedVersion& version : api::kReleasedVersions) {
    threads.emplace_back([&] {
      if (!Answers(version)) return;
      std::lock_guard lock(mutex);
      answering.insert(PipeName(version.group, version.version));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return answering;
}

}  // namespace csi_proxy::installer
