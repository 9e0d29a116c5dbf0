// Tests a running service on a node: every group, on a disk and in a directory of the test's own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/ctl/commands.h"
#include "client/ctl/rpcs.h"
#include "client/ctl/selftest/selftest.pb.h"

namespace csi_proxy::ctl::selftest {

// A call that undoes what a step has done.
struct Undo {
  std::string what;
  std::string rpc;
  Fields fields;
};

// The state that steps leave for later steps.
struct State {
  uint64_t disk_bytes = 0;
  // The only volume on the disk.
  std::string volume;
  // True if the portal was registered before the selftest.
  bool knew_portal = false;
  // The changes that must still be undone, in the order in which they were made.
  std::vector<Undo> undos;
};

// The calls and expectations of a step. After the first failure, later calls do nothing, so that a
// step reads as a list of expected events. The names of rpcs are those of Rpcs::Call().
class Attempt {
 public:
  // REQUIRES: the arguments outlive the object.
  Attempt(const Options& options, Rpcs& rpcs, State& state)
      : options_(options), rpcs_(rpcs), state_(state) {}

  // Calls a method. Returns an empty answer if the attempt has failed.
  Answer Call(const std::string& rpc, const Fields& fields = {});
  // Calls a method that must fail with `code` and a message that contains `text`.
  void ExpectRefused(absl::StatusCode code, const std::string& rpc, const Fields& fields,
                     absl::string_view text = "");
  // Calls a method twice, because the second call must find nothing to do.
  void Twice(const std::string& rpc, const Fields& fields) {
    for (int i = 0; i < 2; ++i) Call(rpc, fields);
  }
  template <typename... Parts>
  void Expect(bool condition, const Parts&... otherwise) {
    if (ok() && !condition) status_ = absl::InternalError(absl::StrCat(otherwise...));
  }

  // Registers a call for the end of the selftest, made even after a failure unless RemoveUndo(what)
  // is called. REQUIRES: the call that `undo` undoes has not been made yet.
  void AddUndo(Undo undo);
  void RemoveUndo(absl::string_view what);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

  // Runs a step and returns its result in a few words.
  using RunStep = std::string();

  // storage_steps.cc
  RunStep FindDisk, MakeSureDiskIsFree, GoOfflineAndOnline, Partition, SeeUnformatted, Format,
      Mount, WriteCache, Resize, Unmount, Release, AskForAbsent;
  // staging_steps.cc
  RunStep ListDisks, Stage, SeeStaged, RefuseToFormat, Unstage, ProtectDisk, StageShare;
  // path_steps.cc
  RunStep MakeWorkDirectory, FindVolumeOfPath, FindClosestVolume, MakeLinks, RemoveDirectories,
      SendHostilePaths, AskNotMounted;
  // node_steps.cc
  RunStep ExaminePipes, QueryService, RestartService, ReadBios, SeeMapping, MapShare, UnmapShare,
      RefuseMappings, AddPortal, ConnectTarget, RemovePortal;
  // Makes the registered calls, the last first, and continues after failures. NOT_FOUND means that
  // nothing had to be undone.
  RunStep CleanUp;

 private:
  static constexpr char kVolumeAt[] = "GetVolumeIDFromTargetPath";

  // Calls a method and returns the result. An error of the call does not fail the attempt; a call
  // that MayTouch() refuses does.
  absl::StatusOr<Answer> Try(const std::string& rpc, const Fields& fields);
  // Returns OK if a call only reads, or names no other disk than the operator's and no other volume
  // than the one on it.
  absl::Status MayTouch(absl::string_view rpc, const Fields& fields) const;
  // Makes a registered call now and, if the call succeeds, removes it from the list.
  Answer Finish(absl::string_view what);

  // Calls that several steps make.
  bool Exists(const std::string& path) {
    return Call("filesystem.PathExists", {{"path", path}}).Flag("exists");
  }
  bool IsSymlink(const std::string& path) {
    return Call("filesystem.IsSymlink", {{"path", path}}).Flag("is_symlink");
  }
  void Mkdir(const std::string& path) { Call("filesystem.Mkdir", {{"path", path}}); }
  bool IsFormatted() { return Call("volume.IsVolumeFormatted", OfVolume()).Flag("formatted"); }
  bool IsOnline() { return Call("disk.GetDiskState", OfDisk()).Flag("is_online"); }
  uint64_t DiskOf(const std::string& volume) {
    return Call("volume.GetDiskNumberFromVolumeID", {{"volume-id", volume}}).Number("disk_number");
  }
  std::vector<std::string> Volumes() {
    return Call("volume.ListVolumesOnDisk", OfDisk()).Texts("volume_ids");
  }
  std::string VolumeAt(const std::string& path, const std::string& method = kVolumeAt) {
    return Call("volume." + method, {{"target-path", path}}).Text("volume_id");
  }
  std::string StatusOf(const std::string& service) {
    return Call("system.GetService", {{"name", service}}).Text("status");
  }

  // Returns the disk from ListDisks.
  Answer OwnDisk();
  // Repeats a call, which must report no steps.
  void ExpectNothingToDo(const std::string& rpc, const Fields& fields);
  void SetOnline(bool online);
  void TakeOfflineAndOnline();
  void ExpectOnDisk(const std::string& volume);
  // Expects that `number` is the operator's disk; otherwise the error ends with `number`.
  template <typename... Parts>
  void ExpectOwn(uint64_t number, const Parts&... otherwise) {
    Expect(number == options_.disk(), otherwise..., number);
  }
  void Link(const std::string& source, const std::string& target);
  // Expects the disk's volume at a path.
  void ExpectVolume(const std::string& path, const char* method = kVolumeAt);

  // Returns the disk's number as the value of a field.
  std::string disk() const { return absl::StrCat(options_.disk()); }
  // Return the fields that name the disk, its volume, the portal, the portal's target.
  Fields OfDisk() const { return {{"disk-number", disk()}}; }
  Fields OfVolume() const { return {{"volume-id", state_.volume}}; }
  Fields OfPortal() const;
  Fields OfTarget() const;
  // Returns the path of `below` in the working directory.
  std::string Path(absl::string_view below) const {
    return absl::StrCat(options_.work_dir(), "\\", below);
  }
  // Returns the call that brings the disk online or takes it offline again.
  Undo DiskState(bool online) const {
    return {online ? "the disk online again" : "the disk offline again",
            "disk.SetDiskState",
            {{"disk-number", disk()}, {"is-online", online ? "true" : "false"}}};
  }
  std::string Staging() const { return Path("stage"); }
  Fields ToStage() const { return {{"disk.number", disk()}, {"target-path", Staging()}}; }
  Undo Unstaging() const {
    return {"the staged volume", "storage.UnstageVolume", {{"target-path", Staging()}}};
  }
  Undo Unmapping() const {
    return {"the mapping of the share",
            "smb.RemoveSmbGlobalMapping",
            {{"remote-path", options_.smb_share()}}};
  }
  static Undo Removal(const std::string& path, bool force = false) {
    return {path, "filesystem.Rmdir", {{"path", path}, {"force", force ? "true" : "false"}}};
  }

  const Options& options_;
  Rpcs& rpcs_;
  State& state_;
  absl::Status status_;
};

struct Step {
  // The name in reports: `mount`.
  const char* name;
  const char* shows;
  // The rpcs that the step calls, for example `volume.MountVolume`, separated by blanks. Health
  // checks of pipes are not listed.
  const char* rpcs;
  // Earlier steps that must have passed, separated by blanks.
  const char* needs;
  // The step is skipped unless this flag is given, such as `smb-share`; if empty, it always runs.
  absl::string_view only_with;
  std::function<std::string(Attempt& attempt)> run;
};

const std::vector<Step>& Steps();

// The name of the report's last step, which undoes what the other steps did.
inline constexpr char kCleanUp[] = "clean-up";

// Fills in the defaults of options. INVALID_ARGUMENT names the flag that is missing or wrong.
absl::Status Complete(Options* options);

// Runs the steps in order, calls `progress` with the name of each before it runs, and finally
// undoes their changes. Skips a step if a step that it needs has not passed.
Report Run(std::vector<Step> steps, const Options& options, Rpcs& rpcs,
           const std::function<void(const std::string&)>& progress);

// Returns true if all requested steps have passed.
bool Passed(const Report& report);

// Returns the report as tables.
std::string ToText(const Report& report);

}  // namespace csi_proxy::ctl::selftest
