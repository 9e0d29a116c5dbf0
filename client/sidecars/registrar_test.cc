// Tests the registrar with a kubelet that does not notice the socket.
#include "client/sidecars/registrar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/sidecars/driver.h"
#include "client/sidecars/testing.h"
#include "server/base/testing_posix.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kName[] = "test.csi.example";

class RegistrarTest : public ::testing::Test {
 protected:
  void Start(absl::Duration registration_timeout, bool health_requires_registration = false) {
    auto registrar =
        Registrar::Start(kName,
                         {.kubelet_registration_path = "/kubelet/csi.sock",
                          .plugin_registration_path = directory_.path(),
                          .registration_timeout = registration_timeout,
                          .health_requires_registration = health_requires_registration},
                         &metrics_, nullptr, [this](Severity, absl::string_view line) {
                           const std::lock_guard lock(mutex_);
                           absl::StrAppend(&log_, line, "\n");
                         });
    ASSERT_TRUE(registrar.ok()) << registrar.status();
    registrar_ = *std::move(registrar);
  }
  // Returns when the socket was created, or 0 if it does not exist. Inode numbers may be reused.
  int64_t Made() const {
    struct stat file;
    if (stat(socket_.c_str(), &file) != 0) return 0;
    return int64_t{file.st_ctim.tv_sec} * 1'000'000'000 + file.st_ctim.tv_nsec;
  }
  bool IsMadeAgain() {
    const int64_t before = Made();
    return Eventually([&] { return Made() != before && Made() != 0; });
  }
  // Returns the number of sockets that exist within `time` from now.
  size_t SocketsWithin(absl::Duration time) {
    std::set<int64_t> made;
    for (const absl::Time end = absl::Now() + time; absl::Now() < end;) {
      made.insert(Made());
      absl::SleepFor(absl::Milliseconds(1));
    }
    made.erase(0);
    return made.size();
  }
  std::string Metric(absl::string_view name, absl::string_view labels = "") {
    return absl::StrCat(name, "{driver_name=\"", kName, "\"", labels, "} ");
  }
  int Logged(const char* text) {
    const std::lock_guard lock(mutex_);
    int times = 0;
    for (size_t at = 0; (at = log_.find(text, at)) != log_.npos; ++at) ++times;
    return times;
  }
  int Lines() { return Logged("has not called this socket"); }

  TemporaryDirectory directory_;
  const std::string socket_ = absl::StrCat(directory_.path(), "/", kName, "-reg.sock");
  Metrics metrics_{kName};
  std::mutex mutex_;  // Guards log_.
  std::string log_;
  std::unique_ptr<Registrar> registrar_;
};

TEST_F(RegistrarTest, TheSocketIsRemadeUntilTheKubeletCalls) {
  Start(absl::Milliseconds(50));
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(IsMadeAgain());
  EXPECT_FALSE(registrar_->registered());
  // Without the call, the next socket would be created after 1.6 s.
  Kubelet(socket_).GetInfo();
  EXPECT_EQ(SocketsWithin(absl::Seconds(2)), 1u);
  Kubelet(socket_).Notify(true, "");
  EXPECT_TRUE(registrar_->registered());
}

TEST_F(RegistrarTest, TheWaitForTheKubeletGrows) {
  Start(absl::Milliseconds(20));
  // Sockets are created after 20, 20, 40, 80, 160, 320 and 640 ms.
  const size_t sockets = SocketsWithin(absl::Milliseconds(900));
  EXPECT_GE(sockets, 2u);
  EXPECT_LE(sockets, 7u);
  // The log has a line for the first, the second and the fourth socket.
  EXPECT_LE(Lines(), 3);
  EXPECT_GE(Lines(), 1);
}

// On Windows, a program that has the file open can keep it from being removed for a moment.
TEST_F(RegistrarTest, ItsOwnSocketThatCouldNotBeRemovedIsNotAnotherRegistrars) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory_.path().c_str(), kNobody, kNobody), 0);
  }
  // The registrar's thread inherits the file rights of the thread that starts it.
  std::thread([this] {
    if (geteuid() == 0) setfsuid(kNobody);
    Start(absl::Milliseconds(50));
    ASSERT_EQ(chmod(directory_.path().c_str(), 0500), 0);
  }).join();
  ASSERT_TRUE(Eventually([this] { return Logged("cannot be removed") > 0; }));
  ASSERT_EQ(chmod(directory_.path().c_str(), 0700), 0);
  EXPECT_TRUE(IsMadeAgain());
}

TEST_F(RegistrarTest, AServerThatLacksADescriptorDoesNotListen) {
  const int free = dup(0);
  close(free);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit one_more = before;
  one_more.rlim_cur = static_cast<rlim_t>(free) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);
  RegistrationService service(
      "a", "b", [] {}, [](bool, const std::string&) {});
  const absl::Status status = SocketServer::Listen(socket_, &service).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(Made(), 0) << "a socket without a server was left";
}

TEST_F(RegistrarTest, AHealthCheckDoesNotCountAsAKubeletsCall) {
  Start(absl::Milliseconds(200));
  const int64_t before = Made();
  EXPECT_TRUE(Eventually([&] {
    // Fails while there is no socket.
    const int code = registrar_->Health().code;
    EXPECT_TRUE(code == 200 || code == 404 || code == 500) << code;
    return Made() != before && Made() != 0;
  }));
}

TEST_F(RegistrarTest, ARemovedSocketIsRemadeUntilTheKubeletCallsAgain) {
  Start(absl::Milliseconds(300));
  Kubelet(socket_).Notify(true, "");
  ASSERT_TRUE(registrar_->registered());
  std::filesystem::remove(socket_);
  ASSERT_TRUE(Eventually([&] { return Made() != 0; }));
  EXPECT_TRUE(IsMadeAgain());
  registrar_->Withdraw();
  const std::string metrics = metrics_.Text().body;
  EXPECT_THAT(metrics, HasSubstr(Metric("csi_sidecar_registrations_total") + "1"));
  const std::string remade = "csi_sidecar_registration_sockets_remade_total";
  EXPECT_THAT(metrics, HasSubstr(Metric(remade, ",reason=\"gone\"") + "1"));
  EXPECT_THAT(metrics, Not(HasSubstr(Metric(remade, ",reason=\"unanswered\"") + "0")));
  EXPECT_THAT(metrics, HasSubstr(Metric(remade, ",reason=\"unanswered\"")));
}

TEST_F(RegistrarTest, AnUncheckableSocketStaysRegistered) {
  Start(absl::Milliseconds(500));
  Kubelet(socket_).Notify(true, "");
  const std::string away = directory_.path() + "-away";
  std::filesystem::rename(directory_.path(), away);
  // The system cannot follow a link to itself.
  std::filesystem::create_symlink(directory_.path(), directory_.path());
  EXPECT_TRUE(Eventually([&] { return Logged("socket") > 0; }));
  EXPECT_EQ(Logged("the registration socket cannot be checked: "), 1);
  EXPECT_EQ(Logged("replaced"), 0);
  EXPECT_TRUE(registrar_->registered());
  std::filesystem::remove(directory_.path());
  std::filesystem::rename(away, directory_.path());
  registrar_->Withdraw();
  EXPECT_EQ(Made(), 0);
}

TEST_F(RegistrarTest, AZeroTimeoutWaitsForTheKubeletForever) {
  Start(absl::ZeroDuration());
  EXPECT_EQ(SocketsWithin(absl::Milliseconds(500)), 1u);
  EXPECT_THAT(
      metrics_.Text().body,
      HasSubstr(Metric("csi_sidecar_registration_sockets_remade_total", ",reason=\"unanswered\"") +
                "0"));
}

TEST_F(RegistrarTest, HealthMayRequireRegistration) {
  Start(absl::ZeroDuration());
  EXPECT_EQ(registrar_->Health().code, 200);
  registrar_.reset();
  Start(absl::ZeroDuration(), /*health_requires_registration=*/true);
  EXPECT_EQ(registrar_->Health().code, 500);
  EXPECT_THAT(registrar_->Health().body, HasSubstr("has not registered"));
  Kubelet(socket_).GetInfo();
  EXPECT_EQ(registrar_->Health().code, 500);
  Kubelet(socket_).Notify(true, "");
  EXPECT_EQ(registrar_->Health().code, 200);
  Kubelet(socket_).Notify(false, "no room");
  EXPECT_EQ(registrar_->Health().code, 500);
}

// gRPC would buffer a header block without an end (CVE-2023-33953).
TEST(SocketChannelTest, ADriverThatSendsEndlessHeadersIsDisconnected) {
  const TemporaryDirectory directory;
  const std::string csi = directory.path() + "/csi.sock";
  const UniqueFd listener = rpc::ListenUnix(csi);
  constexpr size_t kFlood = 64 << 20;
  size_t taken = 0;
  std::thread driver([&] {
    const UniqueFd client(accept(listener.get(), nullptr, nullptr));
    // SETTINGS, then HEADERS of stream 1: a literal with a name of 256 MiB, in CONTINUATION frames.
    std::string bytes("\0\0\0\4\0\0\0\0\0\0\0\6\1\0\0\0\0\1\0\x7f\xff\xff\xff\x7f", 24);
    while (taken < kFlood) {
      const ssize_t sent = send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      taken += static_cast<size_t>(sent);
      bytes = std::string("\0\x40\0\x9\0\0\0\0\1", 9) + std::string(16 << 10, 'a');
    }
  });
  {
    const SteadyTime deadline = SteadyTime::Now() + kSoon;
    const auto channel = SocketChannel::Connect(csi, deadline);
    ASSERT_TRUE(channel.ok()) << channel.status();
    EXPECT_FALSE(Probe(**channel, deadline).ok());
  }
  driver.join();
  // `taken` includes bytes in the buffers of both sides, so it may exceed the received bytes.
  EXPECT_GT(taken, SocketChannel::kMostReceived / 2);
  EXPECT_LT(taken, size_t{4 << 20});
}

}  // namespace
}  // namespace csi_proxy::sidecars
