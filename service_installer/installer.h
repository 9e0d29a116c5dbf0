// The actions of csi-proxy-service. Each can be repeated: it compares the node with the wanted
// state, prints the differences and removes them.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/locks/process_locks.h"
#include "server/options/options.h"
#include "service_installer/folder_access.h"
#include "service_installer/scm.h"

namespace csi_proxy::service_installer {

// The names that node bootstraps give the service. A new service gets the first.
inline constexpr const char* kServiceNames[] = {"csi-proxy", "csiproxy"};
inline constexpr char kProgramName[] = "csi-proxy.exe";
inline constexpr char kInstallerName[] = "csi-proxy-service.exe";
inline constexpr char kClientName[] = "csi-proxyctl.exe";
// The source of the service's entries in the event log, for every service name.
inline constexpr char kEventSource[] = "csi-proxy";

struct InstallRequest {
  // The wanted settings, except `config.command`.
  ServiceConfig config;
  // If empty, the program is that of the present service if it is csi-proxy, otherwise
  // csi-proxy.exe below `program_files`. Then `source` is the installer's own folder, unless the
  // program is there.
  std::filesystem::path program;
  // A folder with the programs, which are copied beside `program` once its folder is safe.
  std::optional<std::filesystem::path> source = {};
  // The flags of the service. nullopt keeps the flags of a service that is csi-proxy already. A new
  // service without `program` and flags logs to a file below `program_data`.
  std::optional<std::vector<std::string>> flags;
  // If true, a service that runs another program, for example nssm, is changed to run csi-proxy.
  bool replace_wrapper = false;
  // If true, a program's or log's folder that others may change gets a protected access list.
  bool repair_folders = false;
};

// Install(), Upgrade() and Uninstall() return FAILED_PRECONDITION while another installer runs one.
// Upgrade(), and Install() into the service's folder, first undo an interrupted upgrade, even if
// they then fail: they put the last program that worked back, and start it if it ran or runs.
class Installer {
 public:
  struct Environment {
    ServiceManager* services;
    Folders* folders;
    // The locks that keep two installers of this node from working concurrently.
    ProcessLocks* locks;
    // Returns the pipes that answer.
    std::function<std::set<std::string>()> answering_pipes;
    // Receives the messages about each step.
    std::ostream* out;
    // If true, steps are printed but not taken.
    bool dry_run = false;
    // How long to wait for a state, or for progress of a stop, and how often to check.
    absl::Duration patience = absl::Seconds(60);
    absl::Duration interval = absl::Milliseconds(100);
    // The folder of the running installer, and what %ProgramFiles% and %ProgramData% name.
    std::filesystem::path own_folder, program_files, program_data;
  };

  // Creates the installer for `name`; if empty, for the one of kServiceNames that exists, otherwise
  // for the first. REQUIRES: the objects in `environment` outlive the installer.
  static absl::StatusOr<Installer> Create(Environment environment, std::string name);

  const std::string& name() const { return name_; }

  // Copies the programs of `source`, and creates the service or changes the existing one. A running
  // service gets new settings at its next start. Puts the programs' folder on the machine's PATH if
  // it is csi-proxy below `program_files`. INVALID_ARGUMENT, before any change, if the service
  // would not start with its flags, or a path or flag contains a variable. FAILED_PRECONDITION if
  // the service runs another program, unless `replace_wrapper` is true; or if accounts other than
  // administrators may change the program or the log, unless `repair_folders` can protect them.
  absl::Status Install(const InstallRequest& request);

  // Replaces the program of the service: stops it, swaps the files, starts it, and waits until all
  // pipes that answered before (at least one) answer. Stops it again if it was stopped. On failure
  // restores the old program, starts it if it ran, and returns the reason. INVALID_ARGUMENT, before
  // any change, if the service would not start with its flags. FAILED_PRECONDITION if other
  // accounts than administrators may change a program that the upgrade may start, or the program's
  // folder, unless `repair_folders` can protect them.
  absl::Status Upgrade(const std::filesystem::path& program, bool repair_folders = false);

  // Stops and removes the service, its event source, and Install()'s folder on the PATH. Keeps the
  // program and files. OK if there is no service; DEADLINE_EXCEEDED if a program keeps it open.
  absl::Status Uninstall();

  // Starts the service and waits until it runs. Gives it failure actions if it has none.
  // FAILED_PRECONDITION with the exit code if it ends; DEADLINE_EXCEEDED after `patience`.
  absl::Status Start();

  // Stops the service and waits until it has stopped. Ends its process after `patience` without
  // progress, or ten times `patience`. FAILED_PRECONDITION if the process runs another program.
  absl::Status Stop();

  // Prints the configuration and state of the service.
  absl::Status Report();

 private:
  Installer(Environment environment, std::string name)
      : environment_(std::move(environment)), name_(std::move(name)) {}

  // Prints a step and returns true if it must be taken.
  bool Step(const std::string& what);
  absl::Status MakeFoldersSafe(const InstallRequest& request, const Options& options);
  absl::Status MakeFolderSafe(const std::filesystem::path& folder, FolderUse use, bool repair);
  absl::Status PutPrograms(const std::filesystem::path& source,
                           const std::filesystem::path& program, bool is_upgrade);
  // The steps of Upgrade(), which are defined with it.
  struct Before;
  absl::Status EndInterruptedUpgrade();
  absl::Status Replace(const std::filesystem::path& program, bool repair_folders);
  absl::Status CheckProgram(const std::filesystem::path& file);
  absl::Status PutBack(const std::filesystem::path& target, const Before& before);
  absl::Status RunAgain(const std::filesystem::path& target, const Before& before);
  absl::Status StartAfterFailedStop();

  // Returns the lock that excludes other installers.
  absl::StatusOr<std::unique_ptr<ProcessLocks::Held>> Lock();
  absl::Status RegisterEventSource();
  absl::StatusOr<InstallRequest> WithDefaults(InstallRequest request,
                                              const absl::StatusOr<ServiceConfig>& present);
  std::filesystem::path DefaultFolder() const { return environment_.program_files / "csi-proxy"; }
  absl::Status SetOnPath(const std::filesystem::path& folder, bool on);
  absl::Status Await(ServiceState state);
  absl::Status AwaitStopped();
  absl::Status Terminate();
  absl::Status StartWith(const std::set<std::string>& expected_pipes);
  bool Exists() { return environment_.services->Status(name_).ok(); }

  Environment environment_;
  std::string name_;
  // The state before the interrupted upgrade that this run found, if any.
  std::shared_ptr<Before> interrupted_;
};

// Returns the path of the marker: a file that exists while the program is upgraded, and stays if
// the installer is killed.
std::filesystem::path MarkerOf(const std::filesystem::path& program);

// Returns true if the name of a service's program begins with `csi-proxy`: it is not a wrapper.
bool IsOurs(const ServiceConfig& config);

// Parses the flags of the service as its program will. Returns INVALID_ARGUMENT, naming the flag.
absl::StatusOr<Options> ReadFlags(const ServiceConfig& config);

// Returns INVALID_ARGUMENT if the text contains a variable of cmd or PowerShell (`%X%`, `$env:X`)
// that the shell has not expanded.
absl::Status RefuseVariables(absl::string_view text);

// Explains why the service ended, and what can be done.
std::string ExplainExit(const ServiceStatus& status);

}  // namespace csi_proxy::service_installer
