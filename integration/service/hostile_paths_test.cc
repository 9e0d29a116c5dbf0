// Sends the table of hostile paths over a connection, through every layer of the program.
#include "server/base/hostile_paths.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "client/cpp/remote_channel.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/filesystem/v1/remote.h"
#include "csi_proxy/volume/v1/client.h"
#include "csi_proxy/volume/v1/remote.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

class HostilePathsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    auto files = client::RemoteChannel::Open(server_->client_options(), "filesystem", "v1");
    ASSERT_TRUE(files.ok()) << files.status();
    files_.emplace(filesystem::v1::NewRemote(*std::move(files)));
    auto volumes = client::RemoteChannel::Open(server_->client_options(), "volume", "v1");
    ASSERT_TRUE(volumes.ok()) << volumes.status();
    volumes_.emplace(volume::v1::NewRemote(*std::move(volumes)));
  }

  // Returns true if the call accepts a path in any spelling.
  static bool TakesAnySpelling(absl::string_view call) {
    return call == "IsSymlink" || call == "MountVolume";
  }

  // Calls every rpc that takes a path. Returns their statuses.
  std::vector<std::pair<const char*, absl::Status>> TryAll(const std::string& path) const {
    const auto call = [&](auto request, auto method) {
      request.set_path(path);
      return method(request).status();
    };
    filesystem::v1::CreateSymlinkRequest link;
    link.set_source_path(R"(C:\var\lib\kubelet\pods)");
    link.set_target_path(path);
    volume::v1::MountVolumeRequest mount;
    mount.set_volume_id(R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)");
    mount.set_target_path(path);
    return {
        {"PathExists", call(filesystem::v1::PathExistsRequest(),
                            [&](const auto& r) { return files_->PathExists(r); })},
        {"Mkdir",
         call(filesystem::v1::MkdirRequest(), [&](const auto& r) { return files_->Mkdir(r); })},
        {"Rmdir",
         call(filesystem::v1::RmdirRequest(), [&](const auto& r) { return files_->Rmdir(r); })},
        {"IsSymlink", call(filesystem::v1::IsSymlinkRequest(),
                           [&](const auto& r) { return files_->IsSymlink(r); })},
        {"CreateSymlink", files_->CreateSymlink(link).status()},
        {"MountVolume", volumes_->MountVolume(mount).status()},
    };
  }

  std::unique_ptr<ServerProcess> server_;
  std::optional<filesystem::v1::Client> files_;
  std::optional<volume::v1::Client> volumes_;
};

TEST_F(HostilePathsTest, EachIsRefusedWithItsCodeAndRule) {
  const std::string before = server_->Dump().SerializeAsString();
  for (const HostilePath& hostile : HostilePaths()) {
    if (hostile.code == absl::StatusCode::kOk) continue;
    for (const auto& [call, status] : TryAll(hostile.text)) {
      if (hostile.is_other_spelling && TakesAnySpelling(call)) continue;
      const std::string shown = absl::CHexEscape(hostile.text.substr(0, 80));
      // Protobuf rejects text that is not UTF-8 before any handler is called.
      const auto code = hostile.is_utf8 ? hostile.code : absl::StatusCode::kInvalidArgument;
      EXPECT_EQ(status.code(), code) << call << " " << shown << ": " << status;
      if (hostile.is_utf8) {
        EXPECT_TRUE(absl::StrContains(status.message(), hostile.rule))
            << call << " " << shown << ": " << status;
      }
    }
  }
  EXPECT_EQ(server_->Dump().SerializeAsString(), before);
}

TEST_F(HostilePathsTest, OtherSpellingsAreConfinedAsAnyPath) {
  const std::string before = server_->Dump().SerializeAsString();
  for (const HostilePath& spelled : OtherSpellings()) {
    for (const auto& [call, status] : TryAll(spelled.text)) {
      if (!TakesAnySpelling(call)) continue;
      // A harmless path names a file that does not exist.
      const bool harmless = spelled.code == absl::StatusCode::kOk;
      EXPECT_EQ(status.code(), harmless ? absl::StatusCode::kNotFound : spelled.code)
          << call << " " << spelled.text << ": " << status;
    }
  }
  EXPECT_EQ(server_->Dump().SerializeAsString(), before);
}

TEST_F(HostilePathsTest, TheHarmlessOnesAreTaken) {
  for (const HostilePath& hostile : HostilePaths()) {
    if (hostile.code != absl::StatusCode::kOk) continue;
    filesystem::v1::PathExistsRequest request;
    request.set_path(hostile.text);
    EXPECT_TRUE(files_->PathExists(request).ok()) << absl::CHexEscape(hostile.text.substr(0, 80));
  }
}

}  // namespace
}  // namespace csi_proxy::integration
