#include "client/cpp/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cpp/pipe_path.h"
#include "client/cpp/testing_posix.h"

namespace csi_proxy::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FakeChannel final : public Channel {
 public:
  absl::Status Call(const char*, const CallContext&, const google::protobuf::Message&,
                    google::protobuf::Message*) override {
    return absl::OkStatus();
  }
};

constexpr RemoteBackend kRemoteBackend = {
    .open = [](const ClientOptions&, absl::string_view,
               absl::string_view) -> absl::StatusOr<std::shared_ptr<Channel>> {
      return std::make_shared<FakeChannel>();
    }};

absl::StatusOr<std::shared_ptr<void>> OpenNothing(const ClientOptions&, absl::string_view group,
                                                  absl::string_view version) {
  return std::make_shared<std::string>(std::string(group) + std::string(version));
}
constexpr EmbeddedBackend kEmbeddedBackend = {.open = &OpenNothing,
                                              .may_be_chosen = [] { return absl::OkStatus(); }};
constexpr EmbeddedBackend kNoRights = {.open = &OpenNothing, .may_be_chosen = [] {
                                         return absl::PermissionDeniedError("this process may not");
                                       }};

constexpr EmbeddedBackend kInContainer = {.open = &OpenNothing, .may_be_chosen = [] {
                                            return absl::FailedPreconditionError("a container");
                                          }};
constexpr RemoteBackend kNoService = {
    .open = [](const ClientOptions&, absl::string_view,
               absl::string_view) -> absl::StatusOr<std::shared_ptr<Channel>> {
      return absl::UnavailableError("no pipe");
    }};

// Opens volume v1 through backends of the test's choice.
class BackendsTest : public testing::Test {
 protected:
  BackendsTest() : unset_("CSI_PROXY_MODE", nullptr) {
    options_.log = [this](absl::string_view line) { log_.push_back(std::string(line)); };
  }
  ~BackendsTest() override {
    RegisterBackend(remote_before_);
    RegisterBackend(embedded_before_);
  }

  void Link(const RemoteBackend* remote, const EmbeddedBackend* embedded) {
    RegisterBackend(remote);
    RegisterBackend(embedded);
  }

  // `remote`, `embedded`, or what is wrong.
  std::string OpenVolume(Mode mode = Mode::kAuto) {
    options_.mode = mode;
    log_.clear();
    const auto opened = Open(options_, "volume", "v1");
    if (!opened.ok()) return opened.status().ToString();
    EXPECT_NE(opened->channel == nullptr, opened->api == nullptr);
    return opened->channel != nullptr ? "remote" : "embedded";
  }

  const RemoteBackend* const remote_before_ =
      RegisterBackend(static_cast<const RemoteBackend*>(nullptr));
  const EmbeddedBackend* const embedded_before_ =
      RegisterBackend(static_cast<const EmbeddedBackend*>(nullptr));
  const ScopedEnvironment unset_;
  const TemporaryDirectory directory_;
  ClientOptions options_ = OptionsFor(directory_);
  std::vector<std::string> log_;
};

TEST_F(BackendsTest, ADoorThatIsNotLinkedIsNamed) {
  EXPECT_THAT(OpenVolume(Mode::kRemote),
              "UNIMPLEMENTED: mode remote: this program is not linked with csi_proxy::client");
  EXPECT_THAT(OpenVolume(Mode::kEmbedded),
              "UNIMPLEMENTED: mode embedded: this program is not linked with csi_proxy::embedded");
  EXPECT_THAT(OpenVolume(), HasSubstr("csi_proxy::client"));
}

TEST_F(BackendsTest, TheOptionDecides) {
  Link(&kRemoteBackend, &kEmbeddedBackend);
  const ScopedEnvironment other("CSI_PROXY_MODE", "embedded");
  EXPECT_EQ(OpenVolume(Mode::kRemote), "remote");
  EXPECT_EQ(OpenVolume(Mode::kEmbedded), "embedded");
  EXPECT_THAT(log_, ElementsAre()) << "there was nothing to choose";
}

TEST_F(BackendsTest, TheEnvironmentDecidesWhereTheOptionDoesNot) {
  Link(&kRemoteBackend, &kEmbeddedBackend);
  for (const char* mode : {"remote", "embedded"}) {
    const ScopedEnvironment pinned("CSI_PROXY_MODE", mode);
    EXPECT_EQ(OpenVolume(), mode);
    EXPECT_THAT(log_, ElementsAre(std::string("csi_proxy: volume v1 is ") + mode +
                                  ": CSI_PROXY_MODE says so"));
  }
  const ScopedEnvironment nonsense("CSI_PROXY_MODE", "Remote ");
  EXPECT_EQ(OpenVolume(),
            "INVALID_ARGUMENT: CSI_PROXY_MODE: \"Remote \" is not one of auto, remote, embedded");
}

TEST_F(BackendsTest, WithoutAPipeItIsEmbeddedAndSaysWhy) {
  Link(&kRemoteBackend, &kEmbeddedBackend);
  for (const char* nothing : {"", "auto"}) {
    const ScopedEnvironment automatic("CSI_PROXY_MODE", nothing);
    EXPECT_EQ(OpenVolume(), "embedded");
    EXPECT_THAT(log_, ElementsAre("csi_proxy: volume v1 is embedded: there is no pipe " +
                                  PipePath(options_, "volume", "v1")));
  }
}

TEST_F(BackendsTest, WithAPipeItIsRemoteAndSaysWhy) {
  Link(&kRemoteBackend, &kEmbeddedBackend);
  LeaveSocket(PipePath(options_, "volume", "v1"));
  EXPECT_EQ(OpenVolume(), "remote");
  EXPECT_THAT(log_, ElementsAre("csi_proxy: volume v1 is remote: there is a pipe " +
                                PipePath(options_, "volume", "v1")));
  Link(nullptr, &kEmbeddedBackend);
  EXPECT_EQ(OpenVolume(), "embedded");
  EXPECT_THAT(log_, ElementsAre(HasSubstr("csi_proxy::client is not linked")));
}

TEST_F(BackendsTest, WithoutRightsTheServiceIsAskedForEvenIfItIsNotThere) {
  Link(&kRemoteBackend, &kNoRights);
  EXPECT_EQ(OpenVolume(), "remote");
  EXPECT_THAT(log_, ElementsAre("csi_proxy: volume v1 is remote: this process may not"));
  Link(&kRemoteBackend, nullptr);
  EXPECT_EQ(OpenVolume(), "remote");
}

TEST_F(BackendsTest, InAContainerItIsEmbeddedOnlyIfToldSo) {
  Link(&kRemoteBackend, &kInContainer);
  EXPECT_EQ(OpenVolume(), "remote");
  EXPECT_THAT(log_, ElementsAre("csi_proxy: volume v1 is remote: a container"));
  Link(&kNoService, &kInContainer);
  EXPECT_EQ(OpenVolume(), "UNAVAILABLE: no pipe; a container");
  Link(nullptr, &kInContainer);
  EXPECT_EQ(OpenVolume(), "FAILED_PRECONDITION: a container");
  // Also where there is a pipe that this program cannot use.
  LeaveSocket(PipePath(options_, "volume", "v1"));
  EXPECT_EQ(OpenVolume(), "FAILED_PRECONDITION: a container");
  for (const RemoteBackend* remote :
       {&kRemoteBackend, static_cast<const RemoteBackend*>(nullptr)}) {
    Link(remote, &kInContainer);
    EXPECT_EQ(OpenVolume(Mode::kEmbedded), "embedded");
    const ScopedEnvironment told("CSI_PROXY_MODE", "embedded");
    EXPECT_EQ(OpenVolume(), "embedded");
  }
}

}  // namespace
}  // namespace csi_proxy::client
