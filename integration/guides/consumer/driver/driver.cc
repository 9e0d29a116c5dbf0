// Runs a driver with its own CSI code, the sidecars library and a test kubelet in one process, to
// show that other gRPC code works beside the library.
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <thread>

#include "csi.grpc.pb.h"
#include "csi_proxy/sidecars.h"
#include "registration.grpc.pb.h"

namespace {

class Identity final : public csi::v1::Identity::Service {
 public:
  std::atomic<bool> ready = true;

 private:
  grpc::Status GetPluginInfo(grpc::ServerContext*, const csi::v1::GetPluginInfoRequest*,
                             csi::v1::GetPluginInfoResponse* response) override {
    response->set_name("consumer.csi.example");
    response->set_vendor_version("1");
    return grpc::Status::OK;
  }
  grpc::Status Probe(grpc::ServerContext*, const csi::v1::ProbeRequest*,
                     csi::v1::ProbeResponse* response) override {
    response->mutable_ready()->set_value(ready);
    return grpc::Status::OK;
  }
};

void Require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "not so: " << what << "\n";
  std::exit(1);
}

void Await(const char* what, const std::function<bool()>& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Require(condition(), what);
}

sockaddr_in Address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int FreePort() {
  sockaddr_in address = Address(0);
  socklen_t size = sizeof(address);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  Require(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

// Returns the answer to GET /healthz, e.g. `HTTP/1.1 200 OK...`; empty if the connection fails.
std::string Healthz(int port) {
  const sockaddr_in address = Address(port);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET /healthz HTTP/1.0\r\n\r\n";
    Require(write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size()),
            "write");
    char part[4096];
    for (ssize_t n; (n = read(fd, part, sizeof(part))) > 0;) answer.append(part, n);
  }
  close(fd);
  return answer;
}

bool Answers(int port, const std::string& code) {
  return Healthz(port).find(" " + code + " ") != std::string::npos;
}

// Acts as the kubelet on a plugin's socket.
void Register(const std::string& socket, const std::string& endpoint) {
  const auto kubelet = pluginregistration::Registration::NewStub(
      grpc::CreateChannel("unix://" + socket, grpc::InsecureChannelCredentials()));
  pluginregistration::PluginInfo info;
  grpc::ClientContext first, second;
  Require(kubelet->GetInfo(&first, {}, &info).ok(), "GetInfo");
  Require(info.type() == "CSIPlugin" && info.name() == "consumer.csi.example" &&
              info.endpoint() == endpoint && info.supported_versions_size() == 1,
          info.ShortDebugString().c_str());
  pluginregistration::RegistrationStatus status;
  status.set_plugin_registered(true);
  pluginregistration::RegistrationStatusResponse response;
  Require(kubelet->NotifyRegistrationStatus(&second, status, &response).ok(), "Notify");
}

}  // namespace

int main() {
  char pattern[] = "/tmp/csi-proxy-consumer-XXXXXX";
  const std::string directory = mkdtemp(pattern);
  const std::string csi = directory + "/csi.sock";
  const std::string socket = directory + "/consumer.csi.example-reg.sock";
  const int port = FreePort();

  auto sidecars = csi_proxy::Sidecars::Start(
      {.csi_address = "unix://" + csi,
       .registrar = csi_proxy::RegistrarOptions{.kubelet_registration_path = csi,
                                                .plugin_registration_path = directory},
       .livenessprobe =
           csi_proxy::LivenessProbeOptions{.http_endpoint = "127.0.0.1:" + std::to_string(port)}});
  Require(sidecars.ok(), sidecars.status().ToString().c_str());
  Identity identity;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix://" + csi, grpc::InsecureServerCredentials());
  builder.RegisterService(&identity);
  const auto server = builder.BuildAndStart();
  Require(server != nullptr, "the driver serves");

  Await("the registration socket", [&] { return std::filesystem::exists(socket); });
  Register(socket, csi);
  Require((*sidecars)->registered(), "registered");
  Await("/healthz", [&] { return Answers(port, "200"); });
  identity.ready = false;
  Require(Answers(port, "500"), "not ready");
  sidecars->reset();
  Require(!std::filesystem::exists(socket), "the socket is removed");
  server->Shutdown(std::chrono::system_clock::now());
  std::filesystem::remove_all(directory);
  std::cout << "the kubelet has registered the driver, which answers /healthz\n";
}
