// For tests: a service whose answers show faults of many kinds.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/diagnose/diagnose.h"
#include "client/ctl/pipes_testing.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::diagnose {

// The answers of a node with many kinds of faults.
inline constexpr char kOneOfEachDisk[] = R"({"disks": [
  {"number": 0, "is_boot": true, "is_system": true, "is_online": true, "is_read_only": true},
  {"number": 1, "is_online": true, "size_bytes": "1024", "bus_type": "SAS", "serial_number": "s1"},
  {"number": 2, "offline_reason": "Policy", "size_bytes": "1024", "serial_number": "s2"},
  {"number": 3, "is_online": true, "is_read_only": true, "page83": "p3"},
  {"number": 4, "offline_reason": "Collision", "unique_id": "u4"},
  {"number": 5, "offline_reason": "Snapshot", "size_bytes": "1024", "serial_number": "s5"},
  {"number": 6, "is_online": true, "content": "an ext4 file system"}]})";

inline constexpr char kOneOfEachMount[] = R"({"mounts": [
  {"path": "C:\\k\\alive", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{1}\\"},
  {"path": "C:\\k\\alive2", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{1}\\"},
  {"path": "C:\\k\\gone", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{2}\\",
   "state": "DANGLING"},
  {"path": "C:\\k\\link", "kind": "SYMLINK", "target": "C:\\k\\none", "state": "DANGLING"},
  {"path": "C:\\k\\share", "kind": "SYMLINK", "target": "\\\\h\\s\\", "state": "DISCONNECTED"},
  {"path": "C:\\k\\well", "kind": "JUNCTION", "target": "C:\\k\\alive"}],
  "filled_staging_folders": ["C:\\k\\plugins\\globalmount"]})";

inline constexpr char kOneOfEachMapping[] = R"({"mappings": [
  {"remote_path": "\\\\h\\s", "status": "Disconnected", "links": ["C:\\k\\share"]},
  {"remote_path": "\\\\h\\t", "status": "Disconnected"},
  {"remote_path": "\\\\h\\u", "status": "OK"},
  {"remote_path": "\\\\h\\v", "status": "OK", "links": ["C:\\k\\v"]}]})";

inline constexpr char kFullVolume[] = R"({"total_bytes": "10240", "available_bytes": "9"})";

inline constexpr char kIllVolume[] = R"({"volumes": [
  {"volume_id": "\\\\?\\Volume{1}\\", "abnormal": true, "message": "the volume is dirty"}]})";

inline void MakeIll(FakePipes* pipes) {
  pipes->answers["storage.ListDisks"].json = kOneOfEachDisk;
  pipes->answers["storage.ListMounts"].json = kOneOfEachMount;
  pipes->answers["storage.ListSmbMappings"].json = kOneOfEachMapping;
  pipes->answers["storage.ListVolumeHealth"].json = kIllVolume;
  pipes->answers["storage.GetPathStats"].json = kFullVolume;
}

class DiagnoseTest : public testing::Test {
 protected:
  Diagnosis Look(const top::FetchMetrics& fetch = nullptr) {
    const auto diagnosis = Diagnose(rpcs_, fetch);
    EXPECT_TRUE(diagnosis.ok()) << diagnosis.status();
    return diagnosis.value_or(Diagnosis());
  }

  static std::string Shown(const Diagnosis& diagnosis) {
    return absl::StrCat(PartText(diagnosis), ToText(diagnosis));
  }

  // Returns a line `kind where` per finding, with `!` if it can be repaired.
  static std::vector<std::string> Summary(const Diagnosis& diagnosis) {
    std::vector<std::string> lines;
    for (const Finding& f : diagnosis.findings()) {
      lines.push_back(absl::StrCat(f.kind(), " ", f.where(), f.can_be_repaired() ? " !" : ""));
      EXPECT_NE(f.what(), "") << lines.back();
      EXPECT_NE(f.why(), "") << lines.back();
      EXPECT_NE(f.repair(), "") << lines.back();
      EXPECT_EQ(f.can_be_repaired(), f.repair().substr(0, 5) != "none:") << lines.back();
    }
    return lines;
  }

  const Catalog catalog_;
  FakePipes pipes_;
  Rpcs rpcs_{catalog_, pipes_};
};

}  // namespace csi_proxy::ctl::diagnose
