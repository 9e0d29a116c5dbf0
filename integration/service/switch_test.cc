// Tests one program with constant options on nodes with and without the service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cpp/default_node.h"
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
    options_.log = [this](Severity, absl::string_view line) { log_.push_back(std::string(line)); };
  }

  absl::Status MakeDirectory() {
    auto connection = Connect(options_);
    if (!connection.ok()) return connection.status();
    filesystem::v1::MkdirRequest request;
    request.set_path(kDirectory);
    return filesystem::v1::Client(*connection).Mkdir(request).status();
  }
  bool HasDirectory(TestNode& node) {
    const filesystem::v1::Client client(Connect(node.client_options()).value());
    filesystem::v1::PathExistsRequest request;
    request.set_path(kDirectory);
    const auto response = client.PathExists(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() && response->exists();
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<TestNode> embedded_;
  ClientOptions options_;
  std::vector<std::string> log_;
};

TEST_F(SwitchTest, NewConnectionsUseTheServiceIfItRunsAndOtherwiseThisProcess) {
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
  EXPECT_THAT(log_, ElementsAre(HasSubstr("the mode is remote: there is a pipe "),
                                HasSubstr("the mode is embedded: there is no pipe "),
                                HasSubstr("the mode is remote: there is a pipe ")));
}

// A connection looks for pipes once; all its clients, also later ones, keep its mode.
TEST_F(SwitchTest, AConnectionKeepsItsMode) {
  options_.connect_timeout = absl::Milliseconds(200);
  const auto connection = Connect(options_);
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ((*connection)->mode(), Mode::kRemote);
  EXPECT_TRUE((*connection)->Check("filesystem", "v1").ok());
  const filesystem::v1::Client earlier(*connection);
  server_->Stop(absl::Seconds(20));
  const filesystem::v1::Client later(*connection);
  filesystem::v1::PathExistsRequest request;
  request.set_path(kDirectory);
  const absl::Status absent = (*connection)->Check("filesystem", "v1");
  EXPECT_TRUE(absl::IsUnavailable(absent)) << absent;
  EXPECT_EQ(earlier.PathExists(request).status(), absent);
  EXPECT_EQ(later.PathExists(request).status(), absent);
  EXPECT_EQ(log_.size(), 1u) << "decided and said once";
}

TEST(ConnectionTest, OffWindowsTheDefaultNodeIsSimulatedWithAWarning) {
  if (!client::DefaultNodeIsSimulated()) GTEST_SKIP() << "it is this machine";
  std::vector<std::string> log;
  const auto connect = [&log] {
    return Connect({.mode = Mode::kEmbedded,
                    .log =
                        [&log](Severity severity, absl::string_view line) {
                          EXPECT_EQ(severity, Severity::kWarning);
                          log.push_back(std::string(line));
                        }})
        .value();
  };
  const filesystem::v1::Client one(connect()), other(connect());
  EXPECT_THAT(log,
              ElementsAre(HasSubstr("the node is simulated"), HasSubstr("the node is simulated")));
  filesystem::v1::MkdirRequest mkdir;
  mkdir.set_path(kDirectory);
  ASSERT_TRUE(one.Mkdir(mkdir).ok());
  filesystem::v1::PathExistsRequest request;
  request.set_path(kDirectory);
  const auto response = other.PathExists(request);
  EXPECT_TRUE(response.ok() && response->exists()) << "connections share it";
}

TEST_F(SwitchTest, AnUnknownVersionIsUnimplemented) {
  const auto connection = Connect(embedded_->client_options());
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ((*connection)->mode(), Mode::kEmbedded);
  EXPECT_TRUE((*connection)->Check("filesystem", "v1").ok());
  EXPECT_EQ((*connection)->Check("filesystem", "v9"),
            absl::UnimplementedError("there is no filesystem v9"));
  const auto remote = Connect(server_->client_options());
  ASSERT_TRUE(remote.ok()) << remote.status();
  const absl::Status absent = (*remote)->Check("filesystem", "v9");
  EXPECT_TRUE(absl::IsUnavailable(absent)) << absent;
  EXPECT_THAT(std::string(absent.message()), HasSubstr("csi-proxy-filesystem-v9"));
}

}  // namespace
}  // namespace csi_proxy::integration
