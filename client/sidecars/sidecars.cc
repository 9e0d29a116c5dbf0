#include "csi_proxy/sidecars.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/sidecars/driver.h"
#include "client/sidecars/metrics.h"
#include "client/sidecars/registrar.h"
#include "client/sidecars/socket.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"
#include "server/http/http_server.h"

namespace csi_proxy {
namespace {

using sidecars::Metrics;
using sidecars::Registrar;
using sidecars::SocketChannel;

// How long one request for the driver's name may take; a stop waits for it. The time doubles after
// a timeout, because a driver may be slow to start.
constexpr absl::Duration kFirstAttempt = absl::Seconds(1);
constexpr absl::Duration kLongestAttempt = absl::Seconds(4);
// The pause between attempts.
constexpr absl::Duration kPause = absl::Milliseconds(200);
// How long the first connection is kept after the start. The first calls come within this time.
constexpr absl::Duration kFirstCalls = absl::Seconds(1);
// The pause before a component that could not start is started again.
constexpr absl::Duration kRetry = absl::Seconds(1);
// How often the log says that the driver does not answer.
constexpr absl::Duration kStillWaiting = absl::Seconds(30);

constexpr absl::Duration kLongest = absl::Hours(24);

constexpr char kSilent[] = "the driver has not answered yet";

constexpr char kHealthz[] = "/healthz";
constexpr char kRegistrarsHealthz[] = "/healthz/node-driver-registrar";

using Paths = std::map<std::string, HttpHandler, std::less<>>;
using Endpoints = std::map<HostPort, Paths>;

absl::Status CheckDuration(absl::string_view option, absl::Duration duration) {
  if (duration > absl::ZeroDuration() && duration <= kLongest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", absl::FormatDuration(duration),
                                                 " is not above 0 and up to ",
                                                 absl::FormatDuration(kLongest)));
}

absl::Status Required(absl::string_view option, absl::string_view value) {
  if (!value.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, ": it is required"));
}

absl::StatusOr<std::string> SocketOf(const SidecarsOptions& options) {
  absl::StatusOr<std::string> path = sidecars::SocketPath(options.csi_address);
  if (path.ok()) return path;
  return absl::InvalidArgumentError(absl::StrCat("csi_address: ", path.status().message()));
}

// Checks everything that does not need the driver.
absl::Status Check(const SidecarsOptions& options) {
  // Keeps the first error.
  absl::Status status = SocketOf(options).status();
  if (!options.registrar && !options.livenessprobe) {
    status.Update(absl::InvalidArgumentError("registrar, livenessprobe: at least one must be set"));
  }
  std::vector<std::pair<const char*, std::string>> endpoints;
  if (!options.driver_name.empty()) status.Update(sidecars::CheckDriverName(options.driver_name));
  if (const auto& registrar = options.registrar) {
    status.Update(
        Required("registrar.kubelet_registration_path", registrar->kubelet_registration_path));
    status.Update(
        Required("registrar.plugin_registration_path", registrar->plugin_registration_path));
    status.Update(CheckDuration("registrar.timeout", registrar->timeout));
    if (registrar->registration_timeout != absl::ZeroDuration()) {
      status.Update(
          CheckDuration("registrar.registration_timeout", registrar->registration_timeout));
    }
    endpoints.emplace_back("registrar.http_endpoint", registrar->http_endpoint);
  }
  if (const auto& probe = options.livenessprobe) {
    status.Update(Required("livenessprobe.http_endpoint", probe->http_endpoint));
    status.Update(CheckDuration("livenessprobe.probe_timeout", probe->probe_timeout));
    endpoints.emplace_back("livenessprobe.http_endpoint", probe->http_endpoint);
    endpoints.emplace_back("livenessprobe.metrics_address", probe->metrics_address);
    if (!probe->metrics_path.starts_with('/') || probe->metrics_path == kHealthz ||
        probe->metrics_path == kRegistrarsHealthz) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat("livenessprobe.metrics_path: \"", probe->metrics_path,
                       "\" does not begin with / or is taken")));
    }
  }
  for (const auto& [option, endpoint] : endpoints) {
    if (!endpoint.empty()) status.Update(HostPort::Parse(option, endpoint).status());
  }
  return status;
}

// Returns a log that cuts lines at kLongestLine and writes at most kMostLines a minute to `log`,
// then the number of dropped lines. The limits are needed because drivers choose the length of
// their errors, and clients of /healthz how often they occur.
LogFunction LimitedLog(LogFunction log) {
  static constexpr size_t kLongestLine = 2048;
  static constexpr uint64_t kMostLines = 60;
  struct Minute {
    Mutex mutex;
    SteadyTime end ABSL_GUARDED_BY(mutex) = SteadyTime::InfinitePast();
    uint64_t lines ABSL_GUARDED_BY(mutex) = 0;
  };
  return [log = std::move(log), minute = std::make_shared<Minute>()](Severity severity,
                                                                     const LogText& line) {
    uint64_t left_out = 0;
    {
      const MutexLock lock(minute->mutex);
      if (const SteadyTime now = SteadyTime::Now(); now >= minute->end) {
        left_out = minute->lines - std::min(minute->lines, kMostLines);
        minute->lines = 0;
        minute->end = now + absl::Minutes(1);
      }
      if (++minute->lines > kMostLines) return;
    }
    if (left_out > 0) {
      log(Severity::kWarning, absl::StrCat(left_out, " more lines were left out within a minute"));
    }
    if (line.text.size() <= kLongestLine) return log(severity, line);
    log(severity,
        LogText(absl::StrCat(line.text.substr(0, kLongestLine), "..."), line.file, line.line));
  };
}

class Running final : public Sidecars {
 public:
  Running(SidecarsOptions options, std::string socket)
      : options_(std::move(options)), socket_(std::move(socket)), starter_([this] { Run(); }) {}

  ~Running() override {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    stop_.NotifyAll();
    starter_.join();
    // Withdraws the registration before it stops the HTTP servers, because a server stops only
    // after the answer to a probe under way.
    if (registrar_ != nullptr) registrar_->Withdraw();
    // Destroys the servers before the members that their handlers use.
    servers_.clear();
  }

  bool registered() const override {
    const MutexLock lock(mutex_);
    return registrar_ != nullptr && registrar_->registered();
  }

 private:
  void Run() {
    // gRPC ends its threads when it has no connection and no server, and starting them again takes
    // milliseconds. The first connection is kept, so that the first calls find gRPC's threads.
    std::unique_ptr<SocketChannel> driver;
    const absl::Status status = StartAll(&driver);
    if (status.ok()) {
      const MutexLock lock(mutex_);
      if (!stopping_) stop_.WaitFor(mutex_, kFirstCalls);
    } else if (!absl::IsCancelled(status)) {
      options_.log(Severity::kError, status.message());
      if (options_.on_failed) options_.on_failed(status);
    }
  }

  absl::Status StartAll(std::unique_ptr<SocketChannel>* driver) {
    Endpoints endpoints = AllEndpoints();
    // Listens before the driver answers, so that a probe can tell a slow driver from no sidecars.
    const absl::Status listening = Listen(&endpoints);
    if (!listening.ok() && !options_.independent) return listening;
    ABSL_ASSIGN_OR_RETURN(const std::string name, DriverName(driver));
    metrics_ = std::make_unique<Metrics>(name);
    std::string said;
    while (true) {
      absl::Status failed = StartRegistrar(name);
      {
        const MutexLock lock(mutex_);
        silence_.clear();
      }
      failed.Update(Listen(&endpoints));
      if (failed.ok() || !options_.independent) return failed;
      if (said != failed.message()) {
        said = std::string(failed.message());
        options_.log(Severity::kError, absl::StrCat(said, "; trying again"));
      }
      const MutexLock lock(mutex_);
      if (!stopping_) stop_.WaitFor(mutex_, kRetry);
      if (stopping_) return absl::CancelledError();
    }
  }

  absl::Status StartRegistrar(const std::string& name) {
    if (!options_.registrar) return absl::OkStatus();
    {
      const MutexLock lock(mutex_);
      if (registrar_ != nullptr) return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(auto registrar,
                          Registrar::Start(name, *options_.registrar, metrics_.get(),
                                           options_.on_refused, options_.registrar->log));
    const MutexLock lock(mutex_);
    registrar_ = std::move(registrar);
    return absl::OkStatus();
  }

  // Listens at each of `endpoints` and removes it on success, so that a repeated call tries only
  // the remaining endpoints. Returns the first error.
  absl::Status Listen(Endpoints* endpoints) {
    absl::Status failed;
    std::erase_if(*endpoints, [&](const auto& one) {
      auto server = HttpServer::Listen(one.first, one.second);
      failed.Update(server.status());
      if (!server.ok()) return false;
      options_.log(Severity::kInfo, absl::StrCat("serving HTTP on ", ToString(one.first)));
      servers_.push_back(*std::move(server));
      return true;
    });
    return failed;
  }

  // Returns `answer()`, or 500 until the driver has answered.
  HttpAnswer OnceDriverAnswers(const HttpHandler& answer) {
    {
      const MutexLock lock(mutex_);
      if (!silence_.empty()) return {.code = 500, .body = silence_};
    }
    return answer();
  }

  HttpAnswer RegistrarHealth() {
    const Registrar* registrar;
    {
      const MutexLock lock(mutex_);
      registrar = registrar_.get();
    }
    if (registrar != nullptr) return registrar->Health();
    return {.code = 500, .body = "the registration socket cannot be made yet"};
  }

  std::string WhySilent(const absl::Status& failed) const {
    const std::string missing = sidecars::DescribeMissing(socket_);
    return missing.empty() ? std::string(failed.message()) : absl::StrCat(socket_, ": ", missing);
  }

  // Returns the driver's name from the options or the driver. CANCELLED if the sidecars stop.
  absl::StatusOr<std::string> DriverName(std::unique_ptr<SocketChannel>* driver) {
    if (!options_.driver_name.empty()) return options_.driver_name;
    const SteadyTime give_up = SteadyTime::Now() + options_.connect_timeout;
    SteadyTime say_at = SteadyTime::Now() + kStillWaiting;
    absl::Duration attempt = kFirstAttempt;
    while (true) {
      const SteadyTime deadline = std::min(give_up, SteadyTime::Now() + attempt);
      auto connection = SocketChannel::Connect(socket_, deadline);
      const absl::StatusOr<std::string> name =
          connection.ok() ? sidecars::GetDriverName(**connection, deadline) : connection.status();
      if (name.ok()) {
        ABSL_RETURN_IF_ERROR(sidecars::CheckDriverName(*name));
        *driver = *std::move(connection);
        return name;
      }
      if (!absl::IsUnavailable(name.status()) && !absl::IsDeadlineExceeded(name.status())) {
        return absl::FailedPreconditionError(
            absl::StrCat("the driver does not return its name: ", name.status().message()));
      }
      if (absl::IsDeadlineExceeded(name.status())) {
        attempt = std::min(2 * attempt, kLongestAttempt);
      }
      const SteadyTime now = SteadyTime::Now();
      if (now >= give_up) {
        return absl::UnavailableError(absl::StrCat("the driver has not answered within ",
                                                   absl::FormatDuration(options_.connect_timeout),
                                                   ": ", WhySilent(name.status())));
      }
      if (now >= say_at) {
        options_.log(Severity::kWarning,
                     absl::StrCat("the driver does not answer yet: ", WhySilent(name.status())));
        say_at = now + kStillWaiting;
      }
      const MutexLock lock(mutex_);
      silence_ = absl::StrCat(kSilent, ": ", name.status().message());
      if (!stopping_) stop_.WaitFor(mutex_, kPause);
      if (stopping_) return absl::CancelledError();
    }
  }

  Endpoints AllEndpoints() {
    Endpoints endpoints;
    const auto once = [this](HttpHandler answer) -> HttpHandler {
      return [this, answer = std::move(answer)] { return OnceDriverAnswers(answer); };
    };
    const auto paths_at = [&endpoints](const std::string& text) -> Paths& {
      // Parse() succeeds, because Check() has parsed the address.
      HostPort address = *HostPort::Parse("", text);
      // 0.0.0.0 and :: stand for all addresses, as an empty host does.
      if (address.host == "0.0.0.0" || address.host == "::") address.host.clear();
      return endpoints[std::move(address)];
    };
    if (const auto& probe = options_.livenessprobe) {
      paths_at(probe->http_endpoint)[kHealthz] = once([this] { return ProbeDriver(); });
      if (!probe->metrics_address.empty() || probe->serve_metrics) {
        paths_at(probe->metrics_address.empty() ? probe->http_endpoint
                                                : probe->metrics_address)[probe->metrics_path] =
            once([this] { return metrics_->Text(); });
      }
    }
    if (options_.registrar && !options_.registrar->http_endpoint.empty()) {
      Paths& paths = paths_at(options_.registrar->http_endpoint);
      const HttpHandler health = once([this] { return RegistrarHealth(); });
      paths.emplace(kHealthz, health);  // Does not replace livenessprobe's handler.
      paths.emplace(kRegistrarsHealthz, health);
    }
    return endpoints;
  }

  HttpAnswer ProbeDriver() {
    const SteadyTime begin = SteadyTime::Now();
    const SteadyTime deadline = begin + options_.livenessprobe->probe_timeout;
    // Each probe makes a new connection, because a live driver must accept connections.
    const auto connection = SocketChannel::Connect(socket_, deadline);
    const absl::StatusOr<bool> ready =
        connection.ok() ? sidecars::Probe(**connection, deadline) : connection.status();
    if (connection.ok()) {
      metrics_->CountCall(sidecars::kProbeMethod, ready.status().code(), SteadyTime::Now() - begin);
    }
    if (ready.ok() && *ready) return Healthy();
    std::string why = ready.ok()
                          ? "the driver answers, but is not ready"
                          : absl::StrCat("the driver cannot be probed: ", ready.status().message());
    options_.livenessprobe->log(Severity::kError, why);
    return {.code = 500, .body = std::move(why)};
  }

  const SidecarsOptions options_;
  const std::string socket_;
  mutable Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The answer to HTTP requests before the driver has answered; empty afterwards.
  std::string silence_ ABSL_GUARDED_BY(mutex_) = kSilent;
  Condition stop_;
  // Set once, by the starter's thread, before `silence_` becomes empty.
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Registrar> registrar_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<HttpServer>> servers_;
  std::thread starter_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Sidecars>> Sidecars::Start(SidecarsOptions options) {
  ABSL_RETURN_IF_ERROR(Check(options));
  const LogFunction all = options.log != nullptr ? options.log : LogToStderr;
  // One limit per component, so that lines about probes do not displace lines about registration.
  for (LogFunction* log : {&options.log, options.registrar ? &options.registrar->log : nullptr,
                           options.livenessprobe ? &options.livenessprobe->log : nullptr}) {
    if (log != nullptr) *log = LimitedLog(*log != nullptr ? *log : all);
  }
  std::string socket = *SocketOf(options);
  return std::make_unique<Running>(std::move(options), std::move(socket));
}

}  // namespace csi_proxy
