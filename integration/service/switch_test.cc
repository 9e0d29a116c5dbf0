// One program, whose options never change, on nodes with and without the service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/node.h"
#include "integration/support/server_process.h"
#include "integration/support/test_node.h"

namespace csi_proxy::integration {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kDirectory[] = R"(C:\var\lib\kubelet\plugins\switch)";

class SwitchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    auto embedded = NewEmbeddedNode();
    ASSERT_TRUE(embedded.ok()) << embedded.status();
    embedded_ = *std::move(embedded);
    options_ = embedded_->client_options();
    options_.mode = Mode::kAuto;
    options_.socket_dir = server_->client_options().socket_dir;
    options_.log = [this](absl::string_view line) { log_.push_back(std::string(line)); };
  }

  absl::Status MakeDirectory() {
    auto client = filesystem::v1::Client::Create(options_);
    if (!client.ok()) return client.status();
    filesystem::v1::MkdirRequest request;
    request.set_path(kDirectory);
    return client->Mkdir(request).status();
  }
  bool HasDirectory(TestNode& node) {
    auto client = filesystem::v1::Client::Create(node.client_options());
    EXPECT_TRUE(client.ok()) << client.status();
    if (!client.ok()) return false;
    filesystem::v1::PathExistsRequest request;
    request.set_path(kDirectory);
    const auto response = client->PathExists(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() && response->exists();
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<TestNode> embedded_;
  ClientOptions options_;
  std::vector<std::string> log_;
};

TEST_F(SwitchTest, TheServiceWhereThereIsOneElseThisProcess) {
  absl::Status made = MakeDirectory();
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(HasDirectory(*server_));
  EXPECT_FALSE(HasDirectory(*embedded_));

  server_->Stop(absl::Seconds(20));
  made = MakeDirectory();
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(HasDirectory(*embedded_));

  ASSERT_TRUE(server_->Restart().ok());
  EXPECT_FALSE(HasDirectory(*server_)) << "a new simulated node";
  made = MakeDirectory();
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(HasDirectory(*server_));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("filesystem v1 is remote: there is a pipe "),
                                HasSubstr("filesystem v1 is embedded: there is no pipe "),
                                HasSubstr("filesystem v1 is remote: there is a pipe ")));
}

// The pipe is looked for once: a client stays with what it has begun.
TEST_F(SwitchTest, AClientKeepsItsMode) {
  options_.connect_timeout = absl::Milliseconds(200);
  auto client = filesystem::v1::Client::Create(options_);
  ASSERT_TRUE(client.ok()) << client.status();
  server_->Stop(absl::Seconds(20));
  filesystem::v1::PathExistsRequest request;
  request.set_path(kDirectory);
  const absl::Status status = client->PathExists(request).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace csi_proxy::integration
