// Tests the arguments that handlers pass to the host, and answers of the host that no simulated
// machine gives.
#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

using absl::InternalError;
using testing::_;
using testing::AllOf;
using testing::Field;
using testing::Return;

constexpr uint64_t kTooMany = uint64_t{1} << 63;

class MockDisk : public host::DiskHost {
 public:
  using Locations = absl::StatusOr<std::vector<host::DiskLocationText>>;
  using Identities = absl::StatusOr<std::vector<host::DiskIdentity>>;
  using C = const CallContext&;
  MOCK_METHOD(Locations, ListDiskLocations, (C), (override));
  MOCK_METHOD(Identities, ListDiskIdentities, (C), (override));
  using Descriptions = absl::StatusOr<std::vector<host::DiskDescription>>;
  MOCK_METHOD(Descriptions, ListDisks, (C), (override));
  MOCK_METHOD(absl::StatusOr<host::DiskDescription>, Describe, (C, uint32_t), (override));
  MOCK_METHOD(absl::Status, Rescan, (C), (override));
  MOCK_METHOD(absl::StatusOr<host::DiskLayout>, GetLayout, (C, uint32_t), (override));
  MOCK_METHOD(absl::Status, InitializeGpt, (C, const host::KnownDisk&), (override));
  MOCK_METHOD(absl::Status, CreateBasicPartition, (C, const host::KnownDisk&), (override));
  MOCK_METHOD(absl::Status, BringPartitionsOnline, (C, uint32_t), (override));
  MOCK_METHOD(absl::StatusOr<uint64_t>, GetSize, (C, uint32_t), (override));
  MOCK_METHOD(absl::StatusOr<bool>, IsBlank, (C, uint32_t, uint64_t, uint64_t), (override));
  MOCK_METHOD(absl::StatusOr<bool>, IsOnline, (C, uint32_t), (override));
  MOCK_METHOD(absl::StatusOr<host::StateChange>, SetOnline, (C, uint32_t, bool), (override));
  MOCK_METHOD(absl::Status, SetReadOnly, (C, uint32_t, bool), (override));
  MOCK_METHOD(absl::StatusOr<size_t>, CountPromisedVolumes, (C, uint32_t), (override));
};

class MockVolume : public host::VolumeHost {
 public:
  using Volumes = absl::StatusOr<std::vector<VolumeId>>;
  using C = const CallContext&;
  using V = const VolumeId&;
  MOCK_METHOD(Volumes, ListVolumes, (C, uint32_t, uint32_t), (override));
  MOCK_METHOD(absl::StatusOr<std::string>, GetFileSystem, (C, V), (override));
  MOCK_METHOD(absl::Status, Format, (C, V, const host::FormatOptions&), (override));
  MOCK_METHOD(absl::StatusOr<host::VolumeHealth>, GetHealth, (C, V), (override));
  MOCK_METHOD(absl::StatusOr<uint64_t>, GetSize, (C, V), (override));
  MOCK_METHOD(absl::StatusOr<uint64_t>, GetSupportedSize, (C, V), (override));
  MOCK_METHOD(absl::Status, Resize, (C, V, uint64_t, host::ResizeTo), (override));
  MOCK_METHOD(absl::StatusOr<host::VolumeStats>, GetStats, (C, V), (override));
  MOCK_METHOD(absl::StatusOr<uint32_t>, GetDiskNumber, (C, V), (override));
  MOCK_METHOD(absl::Status, Mount, (C, V, const ConfinedPath&), (override));
  MOCK_METHOD(absl::Status, Unmount, (C, V, const ConfinedPath&), (override));
  MOCK_METHOD(absl::StatusOr<VolumeId>, GetVolumeAtMountPoint, (C, const ConfinedPath&),
              (override));
  MOCK_METHOD(absl::StatusOr<VolumeId>, GetVolumeHolding, (C, const ConfinedPath&), (override));
  MOCK_METHOD(absl::StatusOr<std::vector<host::MountPoint>>, ListMountPoints,
              (C, V, const PathRoots*), (override));
  MOCK_METHOD(absl::Status, Flush, (C, V), (override));
  MOCK_METHOD(absl::Status, MakeWritable, (C, uint32_t), (override));
};

// The simulated node, but disks and volumes are what a test says.
class MockHost final : public host::Host {
 public:
  explicit MockHost(host::Host* rest) : rest_(*rest) {}
  host::DiskHost& disk() override { return mock_disk; }
  host::VolumeHost& volume() override { return mock_volume; }
  host::FilesystemHost& filesystem() override { return rest_.filesystem(); }
  host::SmbHost& smb() override { return rest_.smb(); }
  host::IscsiHost& iscsi() override { return rest_.iscsi(); }
  host::SystemHost& system() override { return rest_.system(); }
  host::DeviceWatch WatchDevices(absl::Duration first, absl::Duration longest) override {
    return rest_.WatchDevices(first, longest);
  }

  testing::StrictMock<MockDisk> mock_disk;
  testing::StrictMock<MockVolume> mock_volume;

 private:
  host::Host& rest_;
};

class PassedOnTest : public HandlerTest {
 protected:
  PassedOnTest() {
    deps_.host = &mocked_;
    Remake();
  }
  absl::Status Resize(int64_t bytes) {
    return volume_->ResizeVolume(context_, {.volume_id = id_, .size_bytes = bytes}).status();
  }

  const std::string id_ = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
  MockHost mocked_{host_.get()};
  MockDisk& host_disk_ = mocked_.mock_disk;
  MockVolume& host_volume_ = mocked_.mock_volume;
};

TEST_F(PassedOnTest, SizesThatNoAnswerHolds) {
  EXPECT_CALL(host_disk_, GetSize(_, 1)).WillOnce(Return(kTooMany)).WillOnce(Return(kTooMany - 1));
  const auto size = [&] { return disk_->GetDiskStats(context_, {.disk_number = 1}); };
  EXPECT_EQ(size().status(),
            InternalError("disk 1 reports a size of 9223372036854775808 bytes, which cannot be"));
  EXPECT_EQ(size()->total_bytes, INT64_MAX);

  EXPECT_CALL(host_volume_, GetStats)
      .WillOnce(Return(host::VolumeStats{kTooMany, 5}))
      .WillOnce(Return(host::VolumeStats{7, kTooMany}))
      .WillOnce(Return(host::VolumeStats{kTooMany - 1, kTooMany - 1}));
  const auto stats = [&] { return volume_->GetVolumeStats(context_, {.volume_id = id_}); };
  EXPECT_EQ(stats().status(),
            InternalError("total_bytes: 9223372036854775808 bytes, which cannot be"));
  EXPECT_EQ(stats().status(),
            InternalError("used_bytes: 9223372036854775808 bytes, which cannot be"));
  const auto most = stats();
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(most->total_bytes, INT64_MAX);
  EXPECT_EQ(most->used_bytes, INT64_MAX);
}

TEST_F(PassedOnTest, HowAVolumeIsFormatted) {
  using host::FormatOptions;
  EXPECT_CALL(host_volume_, GetDiskNumber).WillRepeatedly(Return(1));
  EXPECT_CALL(host_disk_, Describe).WillRepeatedly(Return(host::DiskDescription()));
  EXPECT_CALL(host_volume_, GetFileSystem).WillRepeatedly(Return(std::string()));
  EXPECT_CALL(host_volume_, ListMountPoints)
      .WillRepeatedly(Return(std::vector<host::MountPoint>{}));
  const auto expect = [&](const char* file_system, uint32_t unit) {
    EXPECT_CALL(host_volume_, Format(_, *VolumeId::Parse(id_),
                                     AllOf(Field(&FormatOptions::file_system, file_system),
                                           Field(&FormatOptions::allocation_unit_bytes, unit))))
        .WillOnce(Return(absl::OkStatus()));
  };
  const auto format = [&](const char* file_system, uint32_t unit) {
    return volume_->FormatVolume(
        context_, {.volume_id = id_, .file_system = file_system, .allocation_unit_bytes = unit});
  };
  expect("NTFS", 0);
  EXPECT_TRUE(format("", 0).ok());
  // The least and the most of each, and one between
  // (learn.microsoft.com/windows-server/storage/file-server/ntfs-overview,
  // learn.microsoft.com/windows-server/storage/refs/refs-overview).
  for (const uint32_t unit : {512u, 4096u, 2097152u}) {
    expect("NTFS", unit);
    EXPECT_TRUE(format("ntfs", unit).ok()) << unit;
  }
  for (const uint32_t unit : {4096u, 65536u}) {
    expect("ReFS", unit);
    EXPECT_TRUE(format("REFS", unit).ok()) << unit;
  }
}

TEST_F(PassedOnTest, HowFarAVolumeGrows) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_CALL(host_volume_, GetSize).WillRepeatedly(Return(kGiB));
  EXPECT_CALL(host_volume_, GetSupportedSize).WillRepeatedly(Return(3 * kGiB));
  const absl::Status refused = absl::UnavailableError("not now");
  EXPECT_CALL(host_volume_, Resize(_, _, 3 * kGiB, host::ResizeTo::kAtMost))
      .WillOnce(Return(refused));
  EXPECT_EQ(Resize(0), refused);
  EXPECT_CALL(host_volume_, Resize(_, _, 3 * kGiB, host::ResizeTo::kExactly))
      .WillOnce(Return(absl::OkStatus()));
  EXPECT_TRUE(Resize(3 * kGiB).ok());
  EXPECT_EQ(Resize(3 * kGiB + 1),
            absl::FailedPreconditionError("size_bytes: 3221225473 is more than the disk has room "
                                          "for (3221225472); rescan if the disk has grown"));
  // A hundred MiB are the least that may fail.
  constexpr uint64_t kLittle = uint64_t{100} << 20;
  EXPECT_CALL(host_volume_, Resize(_, _, kGiB + kLittle - 1, host::ResizeTo::kExactly))
      .WillOnce(Return(refused));
  EXPECT_TRUE(Resize(kGiB + kLittle - 1).ok());
  EXPECT_CALL(host_volume_, Resize(_, _, kGiB + kLittle, host::ResizeTo::kExactly))
      .WillOnce(Return(refused));
  EXPECT_EQ(Resize(kGiB + kLittle), refused);
}

// A disk that somebody uses must not be dismounted under him.
TEST_F(PassedOnTest, OnlyADiskThatWasReadOnlyIsMountedAnew) {
  const auto online = [&] {
    return disk_->SetDiskState(context_, {.disk_number = 1, .is_online = true}).status();
  };
  EXPECT_CALL(host_disk_, CountPromisedVolumes).WillRepeatedly(Return(size_t{0}));
  EXPECT_CALL(host_disk_, SetOnline(_, 1, true))
      .WillOnce(Return(host::StateChange{.changed = true, .was_online_read_only = false}))
      .WillRepeatedly(Return(host::StateChange{.changed = true, .was_online_read_only = true}));
  EXPECT_TRUE(online().ok());
  EXPECT_CALL(host_volume_, MakeWritable(_, 1))
      .WillOnce(Return(absl::OkStatus()))
      .WillOnce(Return(absl::UnavailableError("not now")));
  EXPECT_TRUE(online().ok());
  EXPECT_EQ(online(), absl::UnavailableError("not now"));
}

class CredentialsTest : public HandlerTest {};

TEST_F(CredentialsTest, ATargetIsConnectedAsItAsks) {
  using enum iscsi::AuthenticationType;
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
  const auto connect = [&](const char* target, iscsi::AuthenticationType type) {
    const std::string iqn = absl::StrCat("iqn.2026-01.example.storage:", target);
    return iscsi_
        ->ConnectTarget(context_, {.target_portal = portal,
                                   .iqn = iqn,
                                   .auth_type = type,
                                   .chap_username = "node-1",
                                   .chap_secret = "one-way-secret"})
        .status();
  };
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(connect("mutual", kMutualChap))) << "it proves nothing";
  ASSERT_TRUE(iscsi_->SetMutualChapSecret(context_, {.mutual_chap_secret = "mutual-secret1"}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(connect("chap", kMutualChap)));
  EXPECT_TRUE(absl::IsFailedPrecondition(connect("mutual", kOneWayChap)));
  EXPECT_TRUE(connect("chap", kOneWayChap).ok());
  EXPECT_TRUE(connect("mutual", kMutualChap).ok());
}

TEST_F(CredentialsTest, AMappingThatCannotBeUndoneIsTold) {
  const std::string taken = Below("taken");
  ASSERT_TRUE(Mkdir(taken).ok());
  const smb::NewSmbGlobalMappingRequest request{.remote_path = R"(\\fileserver.example\data)",
                                                .local_path = taken,
                                                .username = R"(EXAMPLE\storage)",
                                                .password = "correct horse"};
  const std::string why =
      absl::StrCat("local_path: ", taken, " exists and is not a link to ", request.remote_path);
  EXPECT_EQ(smb_->NewSmbGlobalMapping(context_, request).status(), absl::AlreadyExistsError(why));
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Remove", 1, 31);
  const absl::Status failed = smb_->NewSmbGlobalMapping(context_, request).status();
  EXPECT_TRUE(absl::IsAlreadyExists(failed)) << failed;
  EXPECT_TRUE(absl::StartsWith(
      failed.message(), absl::StrCat(why, " (and the mapping of ", request.remote_path,
                                     " could not be removed again: removing the mapping of ")))
      << failed;
  EXPECT_TRUE(absl::StrContains(failed.message(), "(31)")) << failed;
}

}  // namespace
}  // namespace csi_proxy::groups
