// For tests: a service on a node with one fault of each kind.
#pragma once

#include "client/ctl/fake_pipes.h"

namespace csi_proxy::ctl::diagnose {

inline constexpr char kOneOfEachDisk[] = R"({"disks": [
  {"number": 0, "is_boot": true, "is_system": true, "is_online": true, "is_read_only": true},
  {"number": 1, "is_online": true, "size_bytes": "1024", "bus_type": "SAS", "serial_number": "s1"},
  {"number": 2, "offline_reason": "Policy", "size_bytes": "1024", "serial_number": "s2"},
  {"number": 3, "is_online": true, "is_read_only": true, "page83": "p3"},
  {"number": 4, "offline_reason": "Collision", "unique_id": "u4"}]})";

inline constexpr char kOneOfEachMount[] = R"({"mounts": [
  {"path": "C:\\k\\alive", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{1}\\"},
  {"path": "C:\\k\\alive2", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{1}\\"},
  {"path": "C:\\k\\gone", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{2}\\",
   "state": "DANGLING"},
  {"path": "C:\\k\\link", "kind": "SYMLINK", "target": "C:\\k\\none", "state": "DANGLING"},
  {"path": "C:\\k\\share", "kind": "SYMLINK", "target": "\\\\h\\s\\", "state": "DISCONNECTED"},
  {"path": "C:\\k\\well", "kind": "JUNCTION", "target": "C:\\k\\alive"}]})";

inline constexpr char kOneOfEachMapping[] = R"({"mappings": [
  {"remote_path": "\\\\h\\s", "status": "Disconnected", "links": ["C:\\k\\share"]},
  {"remote_path": "\\\\h\\t", "status": "Disconnected"},
  {"remote_path": "\\\\h\\u", "status": "OK"},
  {"remote_path": "\\\\h\\v", "status": "OK", "links": ["C:\\k\\v"]}]})";

inline constexpr char kIllVolume[] = R"({"abnormal": true, "message": "the volume is dirty"})";

inline void MakeIll(FakePipes* pipes) {
  pipes->answers["storage.ListDisks"].json = kOneOfEachDisk;
  pipes->answers["storage.ListMounts"].json = kOneOfEachMount;
  pipes->answers["storage.ListSmbMappings"].json = kOneOfEachMapping;
  pipes->answers["storage.GetVolumeHealth"].json = kIllVolume;
}

}  // namespace csi_proxy::ctl::diagnose
