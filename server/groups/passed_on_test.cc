// Tests how handlers convert sizes, formats and credentials for the host.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/format.h"
#include "server/groups/signed_bytes.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

TEST(SignedBytesTest, SizesThatNoAnswerHolds) {
  EXPECT_EQ(*SignedBytes("total_bytes", INT64_MAX), INT64_MAX);
  EXPECT_EQ(SignedBytes("total_bytes", uint64_t{1} << 63).status(),
            absl::InternalError("total_bytes: 9223372036854775808 bytes, which cannot be"));
}

TEST(ReadFormatTest, ReturnsWhatWmiIsAskedFor) {
  const struct {
    const char *asked, *file_system;
    uint32_t unit;
  } kFormats[] = {{"", "NTFS", 0},           {"ntfs", "NTFS", 512},  {"ntfs", "NTFS", 4096},
                  {"NTFS", "NTFS", 2097152}, {"REFS", "ReFS", 4096}, {"refs", "ReFS", 65536}};
  for (const auto& [asked, file_system, unit] : kFormats) {
    const auto options = ReadFormat(asked, unit, "pvc");
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->file_system, file_system);
    EXPECT_EQ(options->allocation_unit_bytes, unit);
    EXPECT_EQ(options->label, "pvc");
  }
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
