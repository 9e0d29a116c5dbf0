// A CSI plugin that uses csi-proxy's C++ clients: parses flags, creates the services and serves
// them.
#include <grpcpp/grpcpp.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "csi_proxy/sidecars.h"
#include "csi_proxy/testing/node.h"
#include "integration/sample/cloud.h"
#include "integration/sample/env/service.h"
#include "integration/sample/services.h"
#include "server/base/status_macros.h"
#include "server/http/http_server.h"

namespace csi_proxy::sample {
namespace {

namespace po = boost::program_options;

// Flags of the experiment with environment variables.
struct EnvFlags {
  std::string directory, imds_address, metrics_address;
  VaultOptions vault;
};

struct SidecarsFlags {
  std::string plugin_sockets, http_endpoint;
};

struct Flags {
  std::string endpoint, mode, node_id, serve_directories, feature_gates;
  EnvFlags env;
  int64_t capacity = 0;
  bool env_vars = false;
  ClientOptions client;
  SidecarsFlags sidecars;
};

void AddEnvFlags(EnvFlags* flags, po::options_description* described) {
  described->add_options()(
      "env-directory", po::value(&flags->directory),
      "with CSIDirectEnvInjection: the directory of the files with values for pods")(
      "imds-address", po::value(&flags->imds_address)->default_value("169.254.169.254:80"),
      "with CSIDirectEnvInjection: where EC2's instance metadata service is")(
      "vault-address", po::value(&flags->vault.address),
      "with CSIDirectEnvInjection: where Vault, or its agent, serves HTTP on this machine, as "
      "http://127.0.0.1:8200")("vault-token-file", po::value(&flags->vault.token_file),
                               "with --vault-address: the protected file of the token for it")(
      "vault-path", po::value(&flags->vault.path),
      "with --vault-address: where the secrets of pods are, as secret/data/csi")(
      "vault-allow-loopback", po::bool_switch(&flags->vault.allow_loopback),
      "with --vault-address: send the token to whichever process listens on that port")(
      "env-metrics-address", po::value(&flags->metrics_address),
      "with CSIDirectEnvInjection: where /metrics of it are served, as 127.0.0.1:9810");
}

void AddSidecarsFlags(SidecarsFlags* flags, po::options_description* described) {
  described->add_options()(
      "register-with-kubelet", po::value(&flags->plugin_sockets),
      "the kubelet's directory of sockets of plugins: register there, and answer /healthz, without "
      "node-driver-registrar and livenessprobe")(
      "http-endpoint", po::value(&flags->http_endpoint)->default_value("127.0.0.1:9808"),
      "with --register-with-kubelet: where /healthz and metrics are served");
}

// Parses --feature-gates, which has one gate. Fails if an experimental flag is set but the gate is
// off.
absl::Status CheckEnvFlags(const std::string& gates, const po::variables_map& values, bool* on) {
  *on = gates == "CSIDirectEnvInjection=true";
  if (*on) return absl::OkStatus();
  if (!gates.empty() && gates != "CSIDirectEnvInjection=false") {
    return absl::InvalidArgumentError(
        "--feature-gates: must be CSIDirectEnvInjection=true or CSIDirectEnvInjection=false");
  }
  for (const char* flag : {"env-directory", "imds-address", "vault-address", "vault-token-file",
                           "vault-path", "env-metrics-address"}) {
    if (values.count(flag) != 0 && !values[flag].defaulted()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, ": needs --feature-gates=CSIDirectEnvInjection=true"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  po::options_description described("sample_driver [flags]", 100);
  described.add_options()("endpoint", po::value(&flags.endpoint)->required(),
                          "where to serve CSI, as unix:///run/csi/csi.sock")(
      "mode", po::value(&flags.mode)->default_value("auto"),
      "how to reach the node: remote (csi-proxy's pipes), embedded (in this process), or auto: as "
      "the "
      "environment variable CSI_PROXY_MODE says, else remote when the pipes are there")(
      "socket-dir", po::value(&flags.client.socket_dir), "where csi-proxy's sockets are")(
      "node-id", po::value(&flags.node_id)->default_value("sample-node"),
      "what the node is called")("capacity",
                                 po::value(&flags.capacity)->default_value(int64_t{1} << 40),
                                 "how many bytes all volumes together may have")(
      "serve-directories", po::value(&flags.serve_directories),
      "for tests of embedded mode: a directory for a socket where csi-proxyctl sees the node's "
      "directories")("feature-gates", po::value(&flags.feature_gates),
                     "experiments, which are off by default, as CSIDirectEnvInjection=true");
  AddEnvFlags(&flags.env, &described);
  AddSidecarsFlags(&flags.sidecars, &described);
  po::variables_map values;
  try {
    po::store(po::parse_command_line(argc, argv, described), values);
    po::notify(values);
  } catch (const po::error& error) {
    std::ostringstream usage;
    usage << error.what() << "\n" << described;
    return absl::InvalidArgumentError(usage.str());
  }
  ABSL_RETURN_IF_ERROR(CheckEnvFlags(flags.feature_gates, values, &flags.env_vars));
  static const std::map<std::string, Mode> kModes = {
      {"auto", Mode::kAuto}, {"remote", Mode::kRemote}, {"embedded", Mode::kEmbedded}};
  const auto mode = kModes.find(flags.mode);
  if (mode == kModes.end()) {
    return absl::InvalidArgumentError(absl::StrCat("--mode: there is no mode ", flags.mode));
  }
  flags.client.mode = mode->second;
  return flags;
}

// Returns null if `address` is empty.
absl::StatusOr<std::unique_ptr<HttpServer>> ServeMetrics(const std::string& address,
                                                         const EnvService* env_vars) {
  constexpr char kFlag[] = "--env-metrics-address";
  if (address.empty()) return nullptr;
  ABSL_ASSIGN_OR_RETURN(HostPort endpoint, HostPort::Parse(kFlag, address));
  // Binds to the loopback by default, because there is no authentication.
  if (endpoint.host.empty()) endpoint.host = "127.0.0.1";
  auto server =
      HttpServer::Listen(endpoint, {{"/metrics", [env_vars] { return env_vars->Metrics(); }}});
  if (server.ok()) return server;
  return absl::InvalidArgumentError(absl::StrCat(kFlag, ": ", server.status().message()));
}

// Registers the driver with the kubelet and answers for its health, without sidecar containers.
// Returns null without --register-with-kubelet. `on_failed` is called when the sidecars cannot
// continue.
absl::StatusOr<std::unique_ptr<Sidecars>> StartSidecars(
    const SidecarsFlags& flags, const std::string& endpoint,
    std::function<void(const absl::Status& why)> on_failed) {
  if (flags.plugin_sockets.empty()) return nullptr;
  return Sidecars::Start(
      {.csi_address = endpoint,
       // The driver does not run in a container, so the kubelet finds its socket at the same path.
       .registrar = RegistrarOptions{.kubelet_registration_path =
                                         std::string(absl::StripPrefix(endpoint, "unix://")),
                                     .plugin_registration_path = flags.plugin_sockets},
       .livenessprobe = LivenessProbeOptions{.http_endpoint = flags.http_endpoint},
       .on_failed = std::move(on_failed)});
}

absl::Status Serve(Flags flags, const sigset_t& stop_signals) {
  // The cloud and embedded clients must use the same node. On Windows SimulatedNode has no node, so
  // that clients act on this machine.
  const absl::StatusOr<SimulatedNode> simulated = SimulatedNode::Create();
  if (!simulated.ok()) return simulated.status();
  flags.client.node = simulated->node();

  const absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(flags.client);
  if (!connection.ok()) return connection.status();
  // The cloud attaches disks to the node that the connection uses.
  flags.client.mode = (*connection)->mode();
  const std::unique_ptr<Cloud> cloud = Cloud::Of(flags.client, *simulated);
  Mounter mounter(*connection);
  VolumeLocks locks;
  const std::unique_ptr<grpc::Service> services[] = {
      NewIdentityService(&mounter),
      NewControllerService(cloud.get(), &locks, flags.node_id, flags.capacity),
      NewNodeService(&mounter, &locks, flags.node_id)};

  grpc::ServerBuilder builder;
  builder.AddListeningPort(flags.endpoint, grpc::InsecureServerCredentials());
  for (const std::unique_ptr<grpc::Service>& service : services) {
    builder.RegisterService(service.get());
  }
  std::unique_ptr<EnvService> env_vars;
  std::unique_ptr<HttpServer> env_metrics;
  if (flags.env_vars) {
    ABSL_ASSIGN_OR_RETURN(env_vars, EnvService::Create({.directory = flags.env.directory,
                                                        .imds_address = flags.env.imds_address,
                                                        .vault = flags.env.vault}));
    ABSL_ASSIGN_OR_RETURN(env_metrics, ServeMetrics(flags.env.metrics_address, env_vars.get()));
    builder.RegisterService(env_vars.get());
  }
  std::unique_ptr<grpc::Service> directories;
  if (!flags.serve_directories.empty()) {
    directories = NewFilesystemPipe(filesystem::v1::Client(*connection));
    builder.AddListeningPort(
        absl::StrCat("unix:", flags.serve_directories, "/csi-proxy-filesystem-v1.sock"),
        grpc::InsecureServerCredentials());
    builder.RegisterService(directories.get());
  }
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return absl::UnavailableError(absl::StrCat("--endpoint: cannot listen on ", flags.endpoint));
  }
  std::cerr << absl::StrCat("sample_driver serves ", flags.endpoint, "\n");
  // Set by the sidecars' callback before it sends the signal that ends the wait.
  absl::Status failure;
  absl::StatusOr<std::unique_ptr<Sidecars>> sidecars =
      StartSidecars(flags.sidecars, flags.endpoint, [&failure](const absl::Status& why) {
        failure = why;
        kill(getpid(), SIGTERM);
      });
  if (!sidecars.ok()) return sidecars.status();

  int signal = 0;
  sigwait(&stop_signals, &signal);
  // Ends the registration with the kubelet before the server stops.
  sidecars->reset();
  constexpr absl::Duration kGrace = absl::Seconds(5);
  server->Shutdown(absl::ToChronoTime(absl::Now() + kGrace));
  return failure;
}

int Main(int argc, char** argv) {
  // Blocks the signals in every thread, because only sigwait may receive them.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  absl::StatusOr<Flags> flags = ParseFlags(argc, argv);
  const absl::Status status = flags.ok() ? Serve(*std::move(flags), stop_signals) : flags.status();
  if (status.ok()) return 0;
  std::cerr << "sample_driver: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace
}  // namespace csi_proxy::sample

int main(int argc, char** argv) { return csi_proxy::sample::Main(argc, argv); }
