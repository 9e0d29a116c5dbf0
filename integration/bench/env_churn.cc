// Measures NodeGetEnvVars of the sample driver while pods come and go: each has a volume made,
// staged and published, asks for its variables, lives for a while and leaves again, and another
// takes its place. Prints a table for each mode.
//
//   env_churn SAMPLE_DRIVER [PODS [LIFE_MS [SECONDS]]]
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "integration/drivers/sample/csi.grpc.pb.h"
#include "integration/drivers/sample/env.grpc.pb.h"
#include "integration/drivers/sample/env_testing.h"
#include "integration/support/child_process.h"
#include "integration/support/server_process.h"
#include "server/base/testing_posix.h"
#include "server/http/http_testing.h"

namespace csi_proxy::integration {
namespace {

namespace env = experimental::env::v1alpha1;
using http_testing::RawServer;
using sample_driver::AskVault;

constexpr char kProviders[][6] = {"file", "node", "vault"};

void Must(const char* call, const grpc::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %d %s\n", call, status.error_code(), status.error_message().c_str());
  std::exit(1);
}

// A running driver with a source for each provider.
class Driver {
 public:
  Driver(const std::string& program, const std::vector<std::string>& mode) {
    sample_driver::WriteFile(files_.path() + "/db.json", sample_driver::GoodFile());
    sample_driver::WriteFile(files_.path() + "/token", sample_driver::kVaultToken);
    std::vector<std::string> command = {
        program,
        "--endpoint=" + endpoint_,
        "--feature-gates=CSIDirectEnvInjection=true",
        "--env-directory=" + files_.path(),
        absl::StrCat("--vault-address=http://", ToString(vault_.address())),
        "--vault-allow-loopback",
        absl::StrCat("--vault-token-file=", files_.path(), "/token"),
        "--vault-path=secret/data/csi"};
    command.insert(command.end(), mode.begin(), mode.end());
    const std::string log = files_.path() + "/log";
    auto child = ChildProcess::Start(command, log);
    if (child.ok()) child_ = *std::move(child);
    const auto written = [&log] {
      std::ostringstream text;
      text << std::ifstream(log).rdbuf();
      return text.str();
    };
    while (child_ != nullptr && child_->Running() && !absl::StrContains(written(), " serves ")) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    if (child_ != nullptr && child_->Running()) return;
    std::fprintf(stderr, "%s: %s\n", program.c_str(), written().c_str());
    std::exit(1);
  }

  // Its own, as kubelet connects for each call.
  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(endpoint_, grpc::InsecureChannelCredentials(), own);
  }
  int64_t pid() const { return child_->pid(); }

 private:
  const TemporaryDirectory files_;
  const std::string body_ = sample_driver::GoodVaultAnswer();
  const RawServer vault_{
      absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body_.size(), "\r\n\r\n", body_)};
  const std::string endpoint_ = absl::StrCat("unix://", files_.path(), "/csi.sock");
  std::unique_ptr<ChildProcess> child_;
};

// One pod with one volume.
class Pod {
 public:
  Pod(const Driver& driver, const std::string& name) : driver_(driver), name_(name) {}

  void Start() {
    csi::v1::VolumeCapability capability;
    capability.mutable_mount()->set_fs_type("NTFS");
    capability.mutable_access_mode()->set_mode(
        csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
    csi::v1::CreateVolumeRequest create;
    create.set_name(name_);
    create.mutable_capacity_range()->set_required_bytes(int64_t{1} << 30);
    *create.add_volume_capabilities() = capability;
    id_ = Call<csi::v1::Controller>("CreateVolume", &csi::v1::Controller::Stub::CreateVolume,
                                    create, csi::v1::CreateVolumeResponse())
              .volume()
              .volume_id();
    csi::v1::NodeStageVolumeRequest stage;
    stage.set_volume_id(id_);
    stage.set_staging_target_path(Staging());
    *stage.mutable_volume_capability() = capability;
    Call<csi::v1::Node>("NodeStageVolume", &csi::v1::Node::Stub::NodeStageVolume, stage,
                        csi::v1::NodeStageVolumeResponse());
    csi::v1::NodePublishVolumeRequest publish;
    publish.set_volume_id(id_);
    publish.set_staging_target_path(Staging());
    publish.set_target_path(Target());
    *publish.mutable_volume_capability() = capability;
    Call<csi::v1::Node>("NodePublishVolume", &csi::v1::Node::Stub::NodePublishVolume, publish,
                        csi::v1::NodePublishVolumeResponse());
  }

  // Returns how long its variables took, connecting included.
  absl::Duration AskForVariables(const std::string& provider) const {
    env::NodeGetEnvVarsRequest request = sample_driver::GoodRequest();
    if (provider == "vault") AskVault(&request);
    if (provider == "node") {
      auto& context = *request.mutable_volume_context();
      context["env.csi-proxy.example/provider"] = "node";
      context["env.csi-proxy.example/keys"] = "nodeId,biosSerialNumber";
      context.erase("env.csi-proxy.example/file");
      request.mutable_queries(0)->set_key("nodeId");
      request.mutable_queries(1)->set_key("biosSerialNumber");
    }
    request.set_volume_id(id_);
    const absl::Time start = absl::Now();
    const auto response = Call<env::NodeEnv>("NodeGetEnvVars", &env::NodeEnv::Stub::NodeGetEnvVars,
                                             request, env::NodeGetEnvVarsResponse());
    const absl::Duration took = absl::Now() - start;
    const bool right =
        response.results_size() == 2 &&
        (provider == "node" || response.results(1).value() == sample_driver::kSecret);
    if (!right) Must("NodeGetEnvVars", {grpc::StatusCode::INTERNAL, "the values are wrong"});
    return took;
  }

  void End() {
    csi::v1::NodeUnpublishVolumeRequest unpublish;
    unpublish.set_volume_id(id_);
    unpublish.set_target_path(Target());
    Call<csi::v1::Node>("NodeUnpublishVolume", &csi::v1::Node::Stub::NodeUnpublishVolume, unpublish,
                        csi::v1::NodeUnpublishVolumeResponse());
    csi::v1::NodeUnstageVolumeRequest unstage;
    unstage.set_volume_id(id_);
    unstage.set_staging_target_path(Staging());
    Call<csi::v1::Node>("NodeUnstageVolume", &csi::v1::Node::Stub::NodeUnstageVolume, unstage,
                        csi::v1::NodeUnstageVolumeResponse());
    csi::v1::DeleteVolumeRequest remove;
    remove.set_volume_id(id_);
    Call<csi::v1::Controller>("DeleteVolume", &csi::v1::Controller::Stub::DeleteVolume, remove,
                              csi::v1::DeleteVolumeResponse());
  }

 private:
  std::string Staging() const {
    return absl::StrCat(R"(C:\var\lib\kubelet\plugins\sample\)", name_);
  }
  std::string Target() const { return absl::StrCat(R"(C:\var\lib\kubelet\pods\)", name_); }

  template <typename Service, typename Method, typename Request, typename Response>
  Response Call(const char* name, Method method, const Request& request, Response response) const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    const auto stub = Service::NewStub(driver_.Connect());
    Must(name, ((*stub).*method)(&context, request, &response));
    return response;
  }

  const Driver& driver_;
  const std::string name_;
  std::string id_;
};

class Times {
 public:
  void Add(const std::string& provider, absl::Duration took) {
    const absl::MutexLock lock(&mutex_);
    for (const std::string& row : {provider, std::string("all")}) {
      times_[row].push_back(absl::ToDoubleMilliseconds(took));
    }
  }
  void Print(const std::string& mode, absl::Duration length, int64_t pid) {
    const absl::MutexLock lock(&mutex_);
    for (auto& [provider, times] : times_) {
      std::sort(times.begin(), times.end());
      std::printf("%-10s %-6s %8zu %8.1f %8.1f %8.1f %8.1f\n", mode.c_str(), provider.c_str(),
                  times.size(), static_cast<double>(times.size()) / absl::ToDoubleSeconds(length),
                  times[times.size() / 2], times[times.size() * 99 / 100], times.back());
    }
    std::printf("%-10s driver: %.1f MiB, %ld threads\n", mode.c_str(),
                static_cast<double>(ProcessStatus(pid, "VmRSS")) / 1024,
                static_cast<long>(ProcessStatus(pid, "Threads")));
    std::fflush(stdout);
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, std::vector<double>> times_;
};

void Run(const Driver& driver, const std::string& mode, int pods, absl::Duration life,
         absl::Duration length) {
  Times times;
  std::atomic<bool> stop = false;
  std::vector<std::thread> places;
  const absl::Time start = absl::Now();
  for (int place = 0; place < pods; ++place) {
    places.emplace_back([&, place] {
      std::mt19937 random(static_cast<unsigned>(place));
      // Half to one and a half of the life that was asked for, so that they do not move as one.
      std::uniform_real_distribution<double> part(0.5, 1.5);
      absl::SleepFor(life * (part(random) - 0.5));
      for (int round = 0; !stop; ++round) {
        Pod pod(driver, absl::StrCat("pod-", place, "-", round));
        pod.Start();
        const std::string provider = kProviders[(place + round) % 3];
        times.Add(provider, pod.AskForVariables(provider));
        absl::SleepFor(life * part(random));
        pod.End();
      }
    });
  }
  absl::SleepFor(length);
  stop = true;
  for (std::thread& place : places) place.join();
  times.Print(mode, absl::Now() - start, driver.pid());
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: env_churn SAMPLE_DRIVER [PODS [LIFE_MS [SECONDS]]]\n");
    return 2;
  }
  const int pods = argc > 2 ? std::atoi(argv[2]) : 100;
  const absl::Duration life = absl::Milliseconds(argc > 3 ? std::atoi(argv[3]) : 2000);
  const absl::Duration length = absl::Seconds(argc > 4 ? std::atoi(argv[4]) : 30);
  double load[1] = {0};
  getloadavg(load, 1);
  std::printf("%d pods, each for %s; load average %.1f\n", pods, absl::FormatDuration(life).c_str(),
              load[0]);
  std::printf("%-10s %-6s %8s %8s %8s %8s %8s\n", "", "", "requests", "/s", "p50, ms", "p99, ms",
              "max, ms");
  {
    const auto service = ServerProcess::Start();
    if (!service.ok()) {
      std::fprintf(stderr, "%s\n", service.status().ToString().c_str());
      return 1;
    }
    const Driver driver(argv[1], {"--mode=remote", "--socket-dir=" + (*service)->directory()});
    Run(driver, "remote", pods, life, length);
  }
  const Driver driver(argv[1], {"--mode=embedded"});
  Run(driver, "embedded", pods, life, length);
  return 0;
}

}  // namespace
}  // namespace csi_proxy::integration

int main(int argc, char** argv) { return csi_proxy::integration::Main(argc, argv); }
