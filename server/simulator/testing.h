// The common part of the simulated node's tests: a small node, confined paths, and matchers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/simulator/scenario.h"

namespace csi_proxy::machine::simulator {

// Disk 0 has C: and the kubelet's tree, disk 1 is raw (1 GiB), disk 2 has a formatted volume, and
// disk 3 is offline and read-only. Volumes arrive without a delay.
inline constexpr char kTestScenario[] = R"(
  bios_serial_number: "BIOS-1"
  behaviour { volume_cache_ms: 0 }
  disk {
    number: 0 size_bytes: 10737418240 style: GPT location: "Integrated : Adapter 0 : Port 0"
    page83: "system" serial_number: "S0"
    partition { type: EFI_SYSTEM size_bytes: 104857600 }
    partition { type: MICROSOFT_RESERVED size_bytes: 16777216 }
    partition {
      size_bytes: 8589934592
      volume {
        id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000001}\\"
        file_system: "NTFS" drive_letter: "C"
        file { path: "Windows\\secret.txt" kind: FILE size_bytes: 100 }
        file { path: "var\\lib\\kubelet\\pods\\p1" }
        file { path: "var\\lib\\kubelet\\file.txt" kind: FILE size_bytes: 5 read_only: true }
        file { path: "var\\lib\\kubelet-evil" }
      }
    }
  }
  disk { number: 1 size_bytes: 1073741824 page83: "raw" serial_number: "S1" }
  disk {
    number: 2 size_bytes: 1073741824 style: GPT
    partition {
      size_bytes: 536870912
      volume { id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000002}\\" file_system: "NTFS" }
    }
  }
  disk { number: 3 size_bytes: 1073741824 offline: true read_only: true }
)";

inline std::unique_ptr<Machine> TestNode(absl::string_view more = "") {
  absl::StatusOr<std::unique_ptr<Machine>> node =
      LoadScenario(std::string(kTestScenario) + std::string(more), "test");
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *std::move(node) : nullptr;
}

inline WindowsPath Path(absl::string_view text) { return *WindowsPath::Parse("path", text); }

// Returns a path confined to the kubelet's tree, as calls pass it.
inline ConfinedPath In(absl::string_view text) {
  static const auto* const kRoots = new std::shared_ptr<const PathRoots>(
      std::make_shared<PathRoots>(std::vector<WindowsPath>{Path("C:\\var\\lib\\kubelet")}));
  return {Path(text), *kRoots};
}
// Returns a path below the kubelet's root.
inline ConfinedPath Kubelet(absl::string_view below) {
  return In("C:\\var\\lib\\kubelet\\" + std::string(below));
}
inline ConfinedPath Anywhere(absl::string_view text) { return {Path(text), nullptr}; }

inline Disk RawDisk(uint64_t size_bytes, std::string serial_number = "") {
  Disk disk;
  disk.size_bytes = size_bytes;
  disk.serial_number = std::move(serial_number);
  return disk;
}

inline VolumeId TestVolume(int number) {
  return *VolumeId::Parse("\\\\?\\Volume{00000000-0000-0000-0000-00000000000" +
                          std::to_string(number) + "}\\");
}

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "") {
  *result_listener << StatusOf(arg);
  return arg.ok();
}
MATCHER_P(HasCode, code, "") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code;
}
MATCHER_P2(FailsWith, code, text, "") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code &&
         StatusOf(arg).message().find(text) != absl::string_view::npos;
}
// Matches OK with the value `value`.
MATCHER_P(Yields, value, "") {
  *result_listener << arg.status();
  return arg.ok() && *arg == value;
}

inline constexpr auto kNotFound = absl::StatusCode::kNotFound;
inline constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
inline constexpr auto kExists = absl::StatusCode::kAlreadyExists;
inline constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
inline constexpr auto kInternal = absl::StatusCode::kInternal;
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

}  // namespace csi_proxy::machine::simulator
