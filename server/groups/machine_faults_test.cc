// The host over a failing machine: each call returns the right code within its deadline and
// releases its locks, and the next call works.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/refusals.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

using absl::StatusCode;

class MachineFaultsTest : public HandlerTest {
 protected:
  void Inject(const std::string& operation, uint32_t error, uint32_t times = 1,
              absl::Duration latency = absl::ZeroDuration(), const std::string& resource = "") {
    machine::simulator::FaultRule rule;
    rule.resource = resource;
    rule.operation = operation;
    rule.times = times;
    rule.latency = latency;
    rule.code = error == 0 ? StatusCode::kOk : StatusCode::kInternal;
    rule.error = {error, "as injected"};
    ASSERT_TRUE(node_->InjectFault(rule).ok()) << operation;
  }
  absl::Status PartitionDisk(uint32_t number = 1) {
    return disk_->PartitionDisk(context_, {.disk_number = number}).status();
  }
};

TEST_F(MachineFaultsTest, ErrorsOfWmiHaveTheirCodes) {
  const struct {
    uint32_t hresult;
    StatusCode code;
  } rows[] = {
      {0x80041001, StatusCode::kInternal},           {0x80041003, StatusCode::kFailedPrecondition},
      {0x80041010, StatusCode::kUnimplemented},      {0x80041013, StatusCode::kUnavailable},
      {0x80041033, StatusCode::kUnavailable},        {0x800706BA, StatusCode::kUnavailable},
      {0x80041069, StatusCode::kUnavailable},        {0x8004106C, StatusCode::kUnavailable},
      {0x80070005, StatusCode::kFailedPrecondition},
  };
  for (const auto& row : rows) {
    for (const char* operation : {"wmi.Query/MSFT_Disk", "wmi.Invoke/MSFT_Disk.Initialize"}) {
      Inject(operation, row.hresult);
      const absl::Status failed = PartitionDisk();
      EXPECT_EQ(failed.code(), row.code) << failed;
      EXPECT_TRUE(absl::StrContains(failed.message(), absl::StrCat(absl::Hex(row.hresult))) ||
                  absl::StrContains(failed.message(),
                                    absl::AsciiStrToUpper(absl::StrCat(absl::Hex(row.hresult)))))
          << failed;
      EXPECT_EQ(locks_.size(), 0u);
    }
  }
  EXPECT_TRUE(PartitionDisk().ok());
}

TEST_F(MachineFaultsTest, EveryReturnValueHasItsCode) {
  const std::string volume = Volume(1, false);
  for (const Refusal& row : AllRefusals(Refuser::kStorage)) {
    // A call that fails because the cache is out of date is repeated, so it must fail twice.
    Inject("wmi.Invoke/MSFT_Volume.Format", row.number,
           row.number == 40003 || row.number == 40006 ? 2 : 1);
    const absl::Status failed = volume_->FormatVolume(context_, {.volume_id = volume}).status();
    EXPECT_EQ(failed.code(), row.code) << row.number << ": " << failed;
    EXPECT_TRUE(absl::StrContains(failed.message(), absl::StrCat("(", row.number, ")"))) << failed;
  }
  EXPECT_EQ(locks_.size(), 0u);
  EXPECT_TRUE(volume_->FormatVolume(context_, {.volume_id = volume}).ok());
}

TEST_F(MachineFaultsTest, APartitionWithoutItsDriveLetterIsAPartition) {
  // 42002 means that the partition exists, so the call waits for its volume, which never arrives.
  Inject("wmi.Invoke/MSFT_Disk.CreatePartition", 42002);
  const absl::Status failed =
      disk_->PartitionDisk(context_.WithTimeout(absl::Milliseconds(300)), {.disk_number = 1})
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(failed)) << failed;
}

TEST_F(MachineFaultsTest, AnEntryThatIsHeldForAMomentIsWaitedFor) {
  ASSERT_TRUE(Mkdir(Below("held\\inner")).ok());
  Inject("win32.Open", 32, 3, absl::ZeroDuration(), Below("held"));
  EXPECT_TRUE(Exists(Below("held\\inner")));
  Inject("win32.Open", 32, 3, absl::ZeroDuration(), Below("held"));
  EXPECT_TRUE(Rmdir(Below("held"), true).ok());
  // The retries end when the call's deadline passes.
  ASSERT_TRUE(Mkdir(Below("held")).ok());
  Inject("win32.Open", 32, 0, absl::ZeroDuration(), Below("held"));
  const CallContext hurried = context_.WithTimeout(absl::Milliseconds(50));
  const absl::Status held = filesystem_->Mkdir(hurried, {.path = Below("held")}).status();
  EXPECT_TRUE(absl::IsUnavailable(held)) << held;
}

// A link is made in two steps: nothing stays if the second one fails.
TEST_F(MachineFaultsTest, AHalfMadeLinkIsTakenBack) {
  ASSERT_TRUE(Mkdir(Below("source")).ok());
  Inject("win32.WriteReparsePoint", 1314);
  const absl::Status failed = Link(Below("source"), Below("link"));
  EXPECT_TRUE(absl::IsFailedPrecondition(failed)) << failed;
  EXPECT_FALSE(Exists(Below("link")));
  EXPECT_TRUE(Link(Below("source"), Below("link")).ok());
}

TEST_F(MachineFaultsTest, SecretsAreInNoError) {
  const smb::NewSmbGlobalMappingRequest request{.remote_path = R"(\\fileserver.example\data)",
                                                .username = R"(EXAMPLE\storage)",
                                                .password = "Hunter2-is-a-secret"};
  for (const uint32_t error : {0x80041001u, 0x80041005u, 0x80041008u, 86u, 1326u}) {
    Inject("wmi.Invoke/MSFT_SmbGlobalMapping.Create", error);
    const absl::Status failed = smb_->NewSmbGlobalMapping(context_, request).status();
    EXPECT_FALSE(failed.ok());
    EXPECT_FALSE(absl::StrContains(failed.ToString(), "Hunter2")) << failed;
  }
  EXPECT_FALSE(absl::StrContains(smb_->NewSmbGlobalMapping(context_, request).status().ToString(),
                                 "Hunter2"));
}

}  // namespace
}  // namespace csi_proxy::groups
