// For the installer's tests: a service manager and folders in memory.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "service_installer/folder_access.h"
#include "service_installer/installer.h"
#include "service_installer/scm.h"

namespace csi_proxy::service_installer {

inline std::string Content(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A service manager in memory. The first words in a program's file are its behaviour: `serves`;
// `serves one` (a single pipe); `fails` (ends with an exit code); `hangs` (never runs, and accepts
// no stop); `mute` (runs, but no pipe answers); `stuck` (serves, but never stops); `slow` (takes
// long to stop, reporting progress). Failure actions restart a process that is terminated.
class FakeManager final : public ServiceManager {
 public:
  struct Service {
    ServiceConfig config;
    ServiceStatus status;
  };

  absl::StatusOr<ServiceStatus> Status(const std::string& name) override {
    const auto found = services.find(name);
    if (found == services.end()) return absl::NotFoundError(name);
    ServiceStatus& status = found->second.status;
    if (status.state == ServiceState::kStopPending && Runs(name, "slow")) {
      if (++status.checkpoint > 50) status = {};
    }
    return status;
  }
  absl::StatusOr<ServiceConfig> Config(const std::string& name, const ServiceConfig&) override {
    const auto found = services.find(name);
    if (found == services.end()) return absl::NotFoundError(name);
    if (bad_command) return absl::InvalidArgumentError("the command line has no end");
    return found->second.config;
  }
  absl::Status Create(const std::string& name, const ServiceConfig& config) override {
    calls.push_back("create " + name);
    services[name] = {.config = config, .status = {.exit_code = 1077}};
    return absl::OkStatus();
  }
  absl::Status Change(const std::string& name, const ServiceConfig& config) override {
    calls.push_back("change " + name);
    services.at(name).config = config;
    return absl::OkStatus();
  }
  absl::Status Delete(const std::string& name) override {
    calls.push_back("delete " + name);
    if (!can_delete) return absl::PermissionDeniedError(name);
    services.erase(name);
    return absl::OkStatus();
  }
  absl::Status Start(const std::string& name) override {
    Call("start " + name);
    Service& service = services.at(name);
    running_program = service.config.command[0];
    const std::string program = Content(running_program);
    if (absl::StartsWith(program, "fails")) {
      service.status = {.exit_code = 1066, .service_exit_code = 2};
    } else if (absl::StartsWith(program, "hangs")) {
      service.status = {.state = ServiceState::kStartPending, .process_id = 7};
    } else {
      service.status = {.state = ServiceState::kRunning, .process_id = 7};
    }
    return absl::OkStatus();
  }
  absl::Status Stop(const std::string& name) override {
    ServiceStatus& status = services.at(name).status;
    if (status.state == ServiceState::kStartPending) {
      return absl::UnavailableError("the service cannot accept control messages at this time");
    }
    Call("stop " + name);
    if (Runs(name, "stuck") || Runs(name, "slow")) {
      status.state = ServiceState::kStopPending;
    } else {
      status = {};
    }
    return absl::OkStatus();
  }
  absl::Status Terminate(const std::string& name, uint32_t process_id,
                         const std::string& program) override {
    calls.push_back(absl::StrCat("end ", process_id));
    Service& service = services.at(name);
    if (ends_unnoticed) {
      service.status = {};
      return absl::FailedPreconditionError("the process has another number");
    }
    if (service.status.process_id != process_id || running_program != program) {
      return absl::FailedPreconditionError("another program");
    }
    service.status = {.exit_code = 1067};
    return restart_suspended ? absl::OkStatus() : Start(name);
  }
  absl::Status SuspendRestart(const std::string& name) override {
    calls.push_back("suspend " + name);
    if (!can_suspend) return absl::UnimplementedError("the failure actions cannot be read");
    restart_suspended = true;
    return absl::OkStatus();
  }
  absl::Status ResumeRestart(const std::string& name) override {
    if (!can_resume) return absl::PermissionDeniedError(name);
    if (restart_suspended) calls.push_back("resume " + name);
    restart_suspended = false;
    return absl::OkStatus();
  }

  absl::StatusOr<bool> HasEventSource(const std::string& source) override {
    return event_sources.contains(source);
  }
  absl::Status RegisterEventSource(const std::string& source) override {
    event_sources.insert(source);
    return absl::OkStatus();
  }
  absl::Status RemoveEventSource(const std::string& source) override {
    event_sources.erase(source);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> MachinePath() override { return path; }
  absl::Status SetMachinePath(const std::string& folders) override {
    path = folders;
    return absl::OkStatus();
  }

  void Call(const std::string& call) {
    calls.push_back(call);
    if (before_call) before_call(call);
  }

  // Returns true if the service's program has this behaviour.
  bool Runs(const std::string& name, const char* kind) const {
    return absl::StartsWith(Content(services.at(name).config.command[0]), kind);
  }

  std::set<std::string> Pipes() const {
    for (const auto& [name, service] : services) {
      if (service.status.state == ServiceState::kRunning &&
          absl::StartsWith(Content(service.config.command[0]), "serves")) {
        if (Runs(name, "serves one")) return {"csi-proxy-disk-v1"};
        return {"csi-proxy-disk-v1", "csi-proxy-volume-v1"};
      }
    }
    return {};
  }

  std::map<std::string, Service> services;
  std::vector<std::string> calls;
  // Sees each start and stop before it takes effect.
  std::function<void(const std::string& call)> before_call;
  std::set<std::string> event_sources;
  std::string path = R"(%SystemRoot%\system32;C:\tools\)";
  bool can_suspend = true, can_resume = true, can_delete = true;
  // True if the service's command line cannot be split into words.
  bool bad_command = false;
  bool restart_suspended = false;
  // True if the process ends by itself just when it should be terminated, which fails.
  bool ends_unnoticed = false;
  // The program of the running process.
  std::string running_program;
};

// Folders in memory. They are safe, except those in `unsafe`, to which Users may add, and
// `replaceable`, in which Users may delete.
class FakeFolders final : public Folders {
 public:
  absl::StatusOr<ObjectAccess> Access(const std::filesystem::path& path) override {
    if (const auto planted = files.find(path); planted != files.end()) return planted->second;
    if (missing.contains(path)) return absl::NotFoundError(path.string());
    ObjectAccess access{.owner = "S-1-5-18", .entries = std::vector<AccessEntry>()};
    access.entries->push_back({.rights = 0x1f01ff, .sid = "S-1-5-32-544"});
    if (replaceable.contains(path)) {
      access.entries->push_back({.rights = 0x40, .sid = "S-1-5-32-545"});
    }
    if (unsafe.contains(path)) access.entries->push_back({.rights = 0x2, .sid = "S-1-5-32-545"});
    return access;
  }
  std::set<std::string> Self() override { return {"S-1-5-21-1-2-3-500"}; }
  absl::Status Protect(const std::filesystem::path& path, FolderUse use) override {
    protected_folders[path] = use;
    unsafe.erase(path);
    missing.erase(path);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::filesystem::path>> Names(
      const std::filesystem::path& folder) override {
    std::vector<std::filesystem::path> names;
    for (const auto& [path, access] : files) {
      if (path.parent_path() == folder) names.push_back(path.filename());
    }
    return names;
  }
  absl::Status Write(const std::filesystem::path& path, const std::string& content) override {
    std::ofstream(path) << content;
    return disk_full ? absl::ResourceExhaustedError(path.string()) : absl::OkStatus();
  }
  std::string NameOf(const std::string& sid) override {
    return sid == "S-1-5-32-545" ? "BUILTIN\\Users" : sid;
  }

  std::set<std::filesystem::path> unsafe, replaceable, missing;
  std::map<std::filesystem::path, FolderUse> protected_folders;
  std::map<std::filesystem::path, ObjectAccess> files;
  // If true, Write() fails after it has made the file.
  bool disk_full = false;
};

// A lock in memory.
class FakeLocks final : public ProcessLocks {
 public:
  absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext& context,
                                                absl::string_view) override {
    if (taken) return context.Check();
    return std::make_unique<Lock>(&taken);
  }

  // True while an installer holds the lock.
  bool taken = false;

 private:
  struct Lock final : Held {
    explicit Lock(bool* taken) : taken(taken) { *taken = true; }
    ~Lock() override { *taken = false; }
    bool* const taken;
  };
};

class InstallerTest : public testing::Test {
 protected:
  InstallerTest()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   absl::StrCat("installer-",
                                testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~InstallerTest() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path Program(const std::string& name, const std::string& content) {
    std::ofstream(directory_ / name) << content;
    return directory_ / name;
  }

  Installer New(const std::string& name = "", bool dry_run = false) {
    auto installer = Installer::Create({.services = &services_,
                                        .folders = &folders_,
                                        .locks = &locks_,
                                        .answering_pipes =
                                            [this] {
                                              if (before_asking_) before_asking_();
                                              return services_.Pipes();
                                            },
                                        .out = &out_,
                                        .dry_run = dry_run,
                                        .patience = absl::Milliseconds(100),
                                        .interval = absl::Milliseconds(5),
                                        .own_folder = directory_ / "release",
                                        .program_files = directory_ / "files",
                                        .program_data = directory_ / "data"},
                                       name);
    EXPECT_TRUE(installer.ok()) << installer.status();
    return *std::move(installer);
  }

  // Creates a running service as a bootstrap of the Go service does.
  void OldService(const std::string& name, const std::filesystem::path& program,
                  std::vector<std::string> flags) {
    FakeManager::Service service;
    service.config.command = {program.string()};
    service.config.command.insert(service.config.command.end(), flags.begin(), flags.end());
    service.config.display_name = name;
    service.config.description = "";
    service.status = {.state = ServiceState::kRunning, .process_id = 3};
    services_.services[name] = service;
    services_.running_program = program.string();
  }

  const std::vector<std::string>& CommandOf(const std::string& name) {
    return services_.services.at(name).config.command;
  }

  const std::filesystem::path directory_;
  FakeManager services_;
  FakeFolders folders_;
  FakeLocks locks_;
  // Runs before the pipes are asked.
  std::function<void()> before_asking_;
  std::ostringstream out_;
};

}  // namespace csi_proxy::service_installer
