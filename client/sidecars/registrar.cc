#include "client/sidecars/registrar.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/sidecars/driver.h"
#include "csi_proxy/steady_time.h"
#include "server/base/back_off.h"
#include "server/base/status_macros.h"

namespace csi_proxy::sidecars {
namespace {

// How often the registrar checks that its socket still exists.
constexpr std::chrono::milliseconds kLook(5000);

// The longest wait for the kubelet's call, unless the first wait is longer.
constexpr absl::Duration kLongestPatience = absl::Minutes(5);

// The longest driver name that CSI allows.
constexpr size_t kLongestName = 63;

bool AlphaNumeric(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// Returns the path of the socket. The directory may end with a separator, on Windows either kind.
std::string RegistrationSocket(std::string directory, const std::string& driver_name) {
  if (!directory.ends_with('/') && !directory.ends_with('\\')) directory += '/';
  return absl::StrCat(directory, driver_name, "-reg.sock");
}

// Measures the time without a call of the kubelet since the socket's creation.
class Patience {
 public:
  // `first` limits the first wait. If it is zero, no wait has a limit.
  explicit Patience(absl::Duration first)
      : first_(first), back_off_(first, std::max(first, kLongestPatience)), time_(first) {
    Begin();
  }

  // Starts measuring for a new socket.
  void Begin() {
    if (first_ > absl::ZeroDuration()) until_ = Clock::now() + absl::ToChronoMilliseconds(time_);
  }
  // Records that the kubelet has called the socket.
  void OnCalled() {
    back_off_.Succeeded();
    time_ = first_;
    until_.reset();
  }
  // Records that the socket is replaced without a call. Returns true if this should be logged.
  bool OnReplaced() {
    time_ = back_off_.Failed();
    until_.reset();
    return back_off_.worth_logging();
  }

  absl::Duration time() const { return time_; }
  bool IsOver() const { return until_.has_value() && Clock::now() >= *until_; }
  // Returns the time until the next check of the socket.
  std::chrono::milliseconds Next() const {
    if (!until_.has_value() || IsOver()) return kLook;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until_ - Clock::now());
    return std::clamp(left, std::chrono::milliseconds(1), kLook);
  }

 private:
  // A steady clock, because the system may still set the wall clock of a new node.
  using Clock = std::chrono::steady_clock;

  const absl::Duration first_;
  BackOff back_off_;
  absl::Duration time_;
  std::optional<Clock::time_point> until_;
};

}  // namespace

absl::Status CheckDriverName(absl::string_view name) {
  if (!name.empty() && name.size() <= kLongestName && AlphaNumeric(name.front()) &&
      AlphaNumeric(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
        return AlphaNumeric(c) || c == '-' || c == '.';
      })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the driver's name \"", absl::CHexEscape(name.substr(0, kLongestName)),
      name.size() > kLongestName ? "..." : "", "\" must consist of 1 to ", kLongestName,
      " letters, digits, dashes and dots, and begin and end with a letter or digit"));
}

absl::StatusOr<std::unique_ptr<Registrar>> Registrar::Start(
    const std::string& driver_name, RegistrarOptions options, Metrics* metrics,
    std::function<void(const std::string&)> on_refused, LogFunction log) {
  auto registrar = std::unique_ptr<Registrar>(new Registrar(
      driver_name, std::move(options), metrics, std::move(on_refused), std::move(log)));
  Registrar& self = *registrar;
  self.SetRegistered(false);
  if (!self.options_.marker_file.empty()) {
    self.WarnOfMarker("removed", RemoveEmptyFile(self.options_.marker_file));
  }
  ABSL_RETURN_IF_ERROR(RemoveSocket(self.socket_path_));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<SocketServer> server,
                        SocketServer::Listen(self.socket_path_, &self.service_));
  self.server_ = std::move(server);
  self.log_(Severity::kInfo, absl::StrCat("registration of ", driver_name,
                                          ": waiting for the kubelet at ", self.socket_path_));
  self.watcher_ = std::thread([&self] { self.Watch(); });
  return registrar;
}

Registrar::Registrar(std::string driver_name, RegistrarOptions options, Metrics* metrics,
                     std::function<void(const std::string&)> on_refused, LogFunction log)
    : driver_name_(std::move(driver_name)),
      options_(std::move(options)),
      metrics_(metrics),
      on_refused_(std::move(on_refused)),
      log_(std::move(log)),
      socket_path_(RegistrationSocket(options_.plugin_registration_path, driver_name_)),
      service_(
          driver_name_, options_.kubelet_registration_path, [this] { OnCalled(); },
          [this](bool accepted, const std::string& reason) { OnNotified(accepted, reason); }) {}

void Registrar::Withdraw() {
  if (!watcher_.joinable()) return;  // Already withdrawn, or never started.
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  watcher_.join();
  // If the socket cannot be checked, assumes that it is ours. This is safe, because Mark() does not
  // remove another registrar's marker.
  const bool ours = server_ != nullptr && server_->in_place().value_or(true);
  server_.reset();
  SetRegistered(false);
  if (ours) Mark(false);
}

bool Registrar::registered() const {
  const MutexLock lock(mutex_);
  return registered_;
}

HttpAnswer Registrar::Health() const {
  const absl::StatusOr<bool> exists = SocketExists(socket_path_);
  if (!exists.ok()) return {.code = 500, .body = std::string(exists.status().message())};
  if (!*exists) return {.code = 404, .body = "the registration socket does not exist"};
  const SteadyTime deadline = SteadyTime::Now() + options_.timeout;
  const auto connection = SocketChannel::Connect(socket_path_, deadline);
  const absl::StatusOr<std::string> name =
      connection.ok() ? GetRegisteredName(**connection, deadline) : connection.status();
  if (!name.ok()) {
    return {
        .code = 500,
        .body = absl::StrCat("the registration socket does not answer: ", name.status().message())};
  }
  if (*name != driver_name_) {
    return {.code = 500, .body = "the registration socket is another driver's"};
  }
  if (options_.health_requires_registration && !registered()) {
    return {.code = 500, .body = "the kubelet has not registered the driver"};
  }
  return Healthy();
}

void Registrar::OnCalled() {
  const MutexLock lock(mutex_);
  called_ = true;
}

bool Registrar::WasCalled() const {
  const MutexLock lock(mutex_);
  return called_;
}

void Registrar::OnNotified(bool accepted, const std::string& reason) {
  OnCalled();
  SetRegistered(accepted);
  Mark(accepted);
  if (accepted) {
    log_(Severity::kInfo, absl::StrCat("registration of ", driver_name_, ": accepted"));
    return;
  }
  log_(Severity::kError, absl::StrCat("registration of ", driver_name_,
                                      ": the kubelet refused it: ", absl::CHexEscape(reason)));
  if (on_refused_) on_refused_(reason);
}

void Registrar::SetRegistered(bool registered) {
  const MutexLock lock(mutex_);
  registered_ = registered;
  metrics_->RecordRegistration(registered);
}

void Registrar::Mark(bool registered) {
  const MutexLock lock(marker_mutex_);
  if (options_.marker_file.empty()) return;
  if (!registered) {
    if (marker_) WarnOfMarker("removed", marker_->Remove());
    marker_.reset();
  } else if (!marker_ || !marker_->in_place().value_or(true)) {
    absl::StatusOr<OwnFile> made = OwnFile::Make(options_.marker_file);
    WarnOfMarker("made", made.status());
    if (made.ok()) marker_ = *std::move(made);
  }
}

void Registrar::WarnOfMarker(const char* what, const absl::Status& status) {
  if (status.ok()) return;
  const bool obstacle = absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status);
  log_(Severity::kWarning,
       absl::StrCat(
           "the registration marker cannot be ", what, ": ", status.message(),
           obstacle
               ? "; remove it and restart this container. The registration works without the marker"
               : ""));
}

bool Registrar::WaitFor(std::chrono::milliseconds time) {
  const MutexLock lock(mutex_);
  if (!stopping_) stop_.WaitFor(mutex_, absl::FromChrono(time));
  return !stopping_;
}

absl::Status Registrar::MakeAgain(Remade why) {
  {
    // Resets `called_` first, because the kubelet may call the new socket as soon as it listens.
    const MutexLock lock(mutex_);
    called_ = false;
  }
  ABSL_ASSIGN_OR_RETURN(server_, SocketServer::Listen(socket_path_, &service_));
  metrics_->CountRemadeSocket(why);
  return absl::OkStatus();
}

void Registrar::Watch() {
  Patience patience(options_.registration_timeout);
  Remade why = Remade::kGone;
  std::string said;
  // The file of a server that has ended, if it could not be removed.
  std::optional<OwnFile> left;
  // Logs a line unless it equals the previous line.
  const auto say = [&](Severity severity, const LogText& line) {
    if (std::exchange(said, std::string(line.text)) != line.text) log_(severity, line);
  };
  while (WaitFor(patience.Next())) {
    const absl::StatusOr<bool> in_place = server_ != nullptr ? server_->in_place() : false;
    if (!in_place.ok()) {
      // Keeps the registration, because the socket may be in place.
      say(Severity::kWarning,
          absl::StrCat("the registration socket cannot be checked: ", in_place.status().message()));
      continue;
    }
    if (*in_place) {
      said.clear();
      if (WasCalled()) patience.OnCalled();
      if (!patience.IsOver()) continue;
      const absl::Duration waited = patience.time();
      if (patience.OnReplaced()) {
        log_(Severity::kWarning,
             absl::StrCat(socket_path_, ": the kubelet has not called this socket for ",
                          absl::FormatDuration(waited), "; making it again"));
      }
      why = Remade::kUnanswered;
      const absl::StatusOr<OwnFile> file = OwnFile::Adopt(socket_path_);
      server_.reset();
      if (file.ok() && file->in_place().value_or(false)) left = *file;
    } else if (server_ != nullptr) {
      why = Remade::kGone;
    }
    SetRegistered(false);
    if (left.has_value()) {
      const absl::Status removed = left->Remove();
      if (!removed.ok()) {
        say(Severity::kWarning,
            absl::StrCat("the registration socket cannot be removed: ", removed.message()));
        continue;
      }
      left.reset();
    }
    // While a pod is replaced, the driver has two registrars. The other registrar must keep its
    // socket and the marker.
    const absl::StatusOr<bool> exists = SocketExists(socket_path_);
    if (!exists.ok() || *exists) {
      say(Severity::kWarning,
          absl::StrCat(socket_path_,
                       ": another process has replaced this socket; waiting until it is gone"));
      continue;
    }
    server_.reset();
    Mark(false);
    if (const absl::Status made = MakeAgain(why); made.ok()) {
      patience.Begin();
      if (why == Remade::kGone) {
        log_(Severity::kWarning,
             absl::StrCat(socket_path_, ": this socket was removed; it is made again"));
      }
    } else {
      say(Severity::kError,
          absl::StrCat("the registration socket cannot be made again: ", made.message()));
    }
  }
}

}  // namespace csi_proxy::sidecars
