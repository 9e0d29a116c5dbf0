// The actions of csi-proxy-service. Each can be repeated: it compares the node with the wanted
// state, changes the differences, and prints them.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "service_installer/folder_access.h"
#include "service_installer/scm.h"

namespace csi_proxy::installer {

// The names existing node bootstraps give the service; the first is ours too.
inline constexpr const char* kServiceNames[] = {"csi-proxy", "csiproxy"};
inline constexpr char kProgramName[] = "csi-proxy.exe";
inline constexpr char kInstallerName[] = "csi-proxy-service.exe";
// Under which name the service writes to the event log, whatever its own name.
inline constexpr char kEventSource[] = "csi-proxy";

struct InstallRequest {
  // The settings, `config.command` apart.
  ServiceConfig config;
  std::filesystem::path program;
  // A folder with both programs, which are put beside `program` first, once that folder is known to
  // be safe.
  std::optional<std::filesystem::path> source = {};
  // The service's flags; not given: those it has already.
  std::optional<std::vector<std::string>> flags;
  // If true, a service that runs another program, such as nssm, becomes ours.
  bool replace_wrapper = false;
  // If true, a folder of the program or the log that others may change gets an access list of its
  // own.
  bool repair_folders = false;
};

// Asks every released version's pipe for its health, all at once; the names of those that answer.
// On Windows only.
std::set<std::string> AnsweringPipes();

class Installer {
 public:
  struct Environment {
    ServiceManager* services;
    Folders* folders;
    // The pipes that answer now.
    std::function<std::set<std::string>()> answering_pipes;
    // The stream for the messages about each step.
    std::ostream* out;
    // Only print it.
    bool dry_run = false;
    // The time to wait for a state, or for a sign of progress towards a stop, and the interval at
    // which to look.
    absl::Duration patience = absl::Seconds(60);
    absl::Duration interval = absl::Milliseconds(100);
  };

  // `name` empty: the one of kServiceNames that exists, else the first.
  static absl::StatusOr<Installer> Create(Environment environment, std::string name);

  const std::string& name() const { return name_; }

  // Makes the service, or changes the one there is. FAILED_PRECONDITION when that runs another
  // program and `replace_wrapper` is not set, and when accounts other than administrators may
  // change the program or the log and `repair_folders` is not set. A running service takes new
  // settings at its next start, which is said.
  absl::Status Install(const InstallRequest& request);

  // Puts `program` in the place of the service's own: stops it, swaps the files, starts it, and
  // waits until all pipes answer that answered before (at least one). When that fails, the old
  // program is put back and started, and the status says why. FAILED_PRECONDITION when accounts
  // other than administrators may change the program's folder and `repair_folders` is not set.
  absl::Status Upgrade(const std::filesystem::path& program, bool repair_folders = false);

  // Stops and removes the service. Its program and files stay. OK when there is none.
  absl::Status Uninstall();

  // Waits until it runs. FAILED_PRECONDITION, with the exit code, when the service ends instead;
  // DEADLINE_EXCEEDED when patience does.
  absl::Status Start();

  // Waits until it has stopped. When patience ends first, the process is ended; FAILED_PRECONDITION
  // when that runs another program.
  absl::Status Stop();

  // Prints the configuration and the state of the service.
  absl::Status Report();

 private:
  Installer(Environment environment, std::string name)
      : environment_(std::move(environment)), name_(std::move(name)) {}

  // Prints a step; true when it is to be taken.
  bool Step(const std::string& what);
  absl::Status MakeFoldersSafe(const InstallRequest& request,
                               const std::vector<std::string>& flags);
  absl::Status MakeFolderSafe(const std::filesystem::path& folder, FolderUse use, bool repair);
  absl::Status PutPrograms(const std::filesystem::path& source,
                           const std::filesystem::path& program);
  absl::Status RegisterEventSource();
  absl::Status Await(ServiceState state);
  absl::Status AwaitStopped();
  absl::Status Terminate();
  absl::Status StartWith(const std::set<std::string>& expected_pipes);
  bool Exists();

  Environment environment_;
  std::string name_;
};

// Tells whether a service runs csi-proxy itself, and not a wrapper.
bool IsOurs(const ServiceConfig& config);

// Explains an exit of the service, and the remedy.
std::string ExplainExit(const ServiceStatus& status);

}  // namespace csi_proxy::installer
