#include "csi_proxy/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "client/cpp/backends.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"
#include "client/cpp/testing_posix.h"

namespace csi_proxy::client {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

template <Mode kMode>
class FakeConnection final : public Connection {
 public:
  Mode mode() const override { return kMode; }
  absl::Status Check(absl::string_view, absl::string_view) const override {
    return absl::OkStatus();
  }
  Opened Open(absl::string_view, absl::string_view) override { return {}; }
};

constexpr RemoteBackend kRemoteBackend = {
    .connect = [](const ClientOptions&) -> std::shared_ptr<Connection> {
      return std::make_shared<FakeConnection<Mode::kRemote>>();
    }};

absl::StatusOr<std::shared_ptr<Connection>> ConnectEmbedded(const ClientOptions&) {
  return std::make_shared<FakeConnection<Mode::kEmbedded>>();
}
constexpr EmbeddedBackend kEmbeddedBackend = {.connect = &ConnectEmbedded,
                                              .may_be_chosen = [] { return absl::OkStatus(); }};
constexpr EmbeddedBackend kNoRights = {.connect = &ConnectEmbedded, .may_be_chosen = [] {
                                         return absl::PermissionDeniedError("this process may not");
                                       }};
constexpr EmbeddedBackend kInContainer = {.connect = &ConnectEmbedded, .may_be_chosen = [] {
                                            return absl::FailedPreconditionError("a container");
                                          }};

// Connects through backends that the test sets.
class ConnectTest : public testing::Test {
 protected:
  ConnectTest() : unset_("CSI_PROXY_MODE", nullptr) {
    options_.log = [this](Severity severity, absl::string_view line) {
      log_.emplace_back(severity, std::string(line));
    };
  }
  ~ConnectTest() override {
    RegisterBackend(remote_before_);
    RegisterBackend(embedded_before_);
  }

  void Link(const RemoteBackend* remote, const EmbeddedBackend* embedded) {
    RegisterBackend(remote);
    RegisterBackend(embedded);
  }

  // Returns `remote`, `embedded`, or the error.
  std::string ModeOf(Mode mode = Mode::kAuto) {
    options_.mode = mode;
    log_.clear();
    const auto connection = Connect(options_);
    if (!connection.ok()) return connection.status().ToString();
    return (*connection)->mode() == Mode::kRemote ? "remote" : "embedded";
  }

  const RemoteBackend* const remote_before_ =
      RegisterBackend(static_cast<const RemoteBackend*>(nullptr));
  const EmbeddedBackend* const embedded_before_ =
      RegisterBackend(static_cast<const EmbeddedBackend*>(nullptr));
  const ScopedEnvironment unset_;
  const TemporaryDirectory directory_;
  ClientOptions options_ = OptionsFor(directory_);
  std::vector<std::pair<Severity, std::string>> log_;
};

TEST_F(ConnectTest, ErrorsNameTheLibraryOfAModeThatIsNotLinked) {
  EXPECT_THAT(ModeOf(Mode::kRemote),
              "UNIMPLEMENTED: mode remote: this program is not linked with csi_proxy::client");
  EXPECT_THAT(ModeOf(Mode::kEmbedded),
              "UNIMPLEMENTED: mode embedded: this program is not linked with csi_proxy::embedded");
  EXPECT_THAT(ModeOf(), HasSubstr("csi_proxy::client"));
}

TEST_F(ConnectTest, TheModeOptionOverridesTheEnvironment) {
  Link(&kRemoteBackend, &kEmbeddedBackend);
  const ScopedEnvironment other("CSI_PROXY_MODE", "embedded");
  EXPECT_EQ(ModeOf(Mode::kRemote), "remote");
  EXPECT_EQ(ModeOf(Mode::kEmbedded), "embedded");
  EXPECT_THAT(log_, ElementsAre()) << "there was nothing to choose";
}

TEST_F(ConnectTest, TheEnvironmentChoosesTheModeIfTheOptionDoesNot) {
  Link(&kRemoteBackend, &kEmbeddedBackend);
  for (const char* mode : {"remote", "embedded"}) {
    const ScopedEnvironment pinned("CSI_PROXY_MODE", mode);
    EXPECT_EQ(ModeOf(), mode);
    EXPECT_THAT(log_,
                ElementsAre(Pair(Severity::kInfo, std::string("csi_proxy: the mode is ") + mode +
                                                      ": CSI_PROXY_MODE requests it")));
  }
  const ScopedEnvironment nonsense("CSI_PROXY_MODE", "Remote ");
  EXPECT_EQ(ModeOf(),
            "INVALID_ARGUMENT: CSI_PROXY_MODE: \"Remote \" is not one of auto, remote, embedded");
}

TEST_F(ConnectTest, TheModeIsEmbeddedIfThereIsNoPipe) {
  Link(&kRemoteBackend, &kEmbeddedBackend);
  for (const char* nothing : {"", "auto"}) {
    const ScopedEnvironment automatic("CSI_PROXY_MODE", nothing);
    EXPECT_EQ(ModeOf(), "embedded");
    EXPECT_THAT(log_, ElementsAre(Pair(Severity::kInfo,
                                       "csi_proxy: the mode is embedded: there is no pipe of the "
                                       "service")));
  }
}

// The pipe of any group or old version shows that the service is running.
TEST_F(ConnectTest, TheModeIsRemoteIfThereIsAnyPipe) {
  for (const auto& [group, version] :
       {std::pair("disk", "v1"), {"iscsi", "v1alpha1"}, {"volume", "v2alpha1"}}) {
    Link(&kRemoteBackend, &kEmbeddedBackend);
    const std::string path = PipePath(options_, group, version);
    LeaveSocket(path);
    EXPECT_EQ(ModeOf(), "remote");
    EXPECT_THAT(log_, ElementsAre(Pair(Severity::kInfo,
                                       "csi_proxy: the mode is remote: there is a pipe " + path)));
    Link(nullptr, &kEmbeddedBackend);
    EXPECT_EQ(ModeOf(), "embedded");
    EXPECT_THAT(log_, ElementsAre(Pair(_, HasSubstr("csi_proxy::client is not linked"))));
    std::filesystem::remove(path);
  }
}

TEST_F(ConnectTest, TheModeIsRemoteIfTheProcessMayNotManageTheNode) {
  Link(&kRemoteBackend, &kNoRights);
  EXPECT_EQ(ModeOf(), "remote");
  EXPECT_THAT(log_, ElementsAre(Pair(_, "csi_proxy: the mode is remote: this process may not")));
  Link(&kRemoteBackend, nullptr);
  EXPECT_EQ(ModeOf(), "remote");
}

TEST_F(ConnectTest, InAContainerTheModeIsEmbeddedOnlyOnRequest) {
  Link(&kRemoteBackend, &kInContainer);
  EXPECT_EQ(ModeOf(), "remote");
  EXPECT_THAT(log_, ElementsAre(Pair(_, "csi_proxy: the mode is remote: a container")));
  Link(nullptr, &kInContainer);
  EXPECT_EQ(ModeOf(), "FAILED_PRECONDITION: a container");
  // The pipe does not change the choice, because this program cannot use it.
  LeaveSocket(PipePath(options_, "volume", "v1"));
  EXPECT_EQ(ModeOf(), "FAILED_PRECONDITION: a container");
  for (const RemoteBackend* remote :
       {&kRemoteBackend, static_cast<const RemoteBackend*>(nullptr)}) {
    Link(remote, &kInContainer);
    EXPECT_EQ(ModeOf(Mode::kEmbedded), "embedded");
    const ScopedEnvironment told("CSI_PROXY_MODE", "embedded");
    EXPECT_EQ(ModeOf(), "embedded");
  }
}

class RemoteNodeTest : public testing::Test {
 protected:
  RemoteNodeTest() { options_.connect_timeout = absl::Milliseconds(50); }

  static absl::Status Ask(Channel& channel) {
    ::v1alpha1::GetServiceRequest request;
    request.set_name("a");
    ::v1alpha1::GetServiceResponse response;
    return channel.Call("/v1alpha1.System/GetService", MakeCallContext({}, {}), request, &response);
  }

  const TemporaryDirectory directory_;
  ClientOptions options_ = OptionsFor(directory_);
};

TEST_F(RemoteNodeTest, AConnectionWorksOnceTheServiceStarts) {
  const auto connection = Connect(options_);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const std::shared_ptr<Channel> channel = (*connection)->Open("system", "v1alpha1").channel;
  const absl::Status absent = (*connection)->Check("system", "v1alpha1");
  EXPECT_TRUE(absl::IsUnavailable(absent)) << absent;
  EXPECT_THAT(std::string(absent.message()),
              HasSubstr(directory_.path() + "/csi-proxy-system-v1alpha1.sock"));
  EXPECT_EQ(Ask(*channel), absent);
  FakeServer server(directory_.path());
  const absl::Status there = (*connection)->Check("system", "v1alpha1");
  EXPECT_TRUE(there.ok()) << there;
  // The connect timeout of this test is short, so a busy machine may need several calls.
  absl::Status asked = Ask(*channel);
  for (const absl::Time give_up = absl::Now() + absl::Minutes(1);
       !asked.ok() && absl::Now() < give_up;) {
    asked = Ask(*channel);
  }
  EXPECT_TRUE(asked.ok()) << asked;
}

TEST_F(RemoteNodeTest, ClientsOfOneVersionShareAChannel) {
  const auto connection = Connect(options_);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto channel = (*connection)->Open("system", "v1alpha1").channel;
  EXPECT_EQ((*connection)->Open("system", "v1alpha1").channel, channel);
  EXPECT_NE((*connection)->Open("disk", "v1").channel, channel);
  const auto other = Connect(options_);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE((*other)->Open("system", "v1alpha1").channel, channel);
}

}  // namespace
}  // namespace csi_proxy::client
