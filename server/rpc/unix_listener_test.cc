#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/base/condition.h"
#include "server/platform/unique_fd.h"
#include "server/rpc/listener_testing.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::rpc {
namespace {

using UnixListenerTest = ListenerTest;

// Blocks the listener's thread at the first client that has used its part.
class HoldsListener final : public CallObserver {
 public:
  void OnDone(const MethodInfo&, const CallContext&, const absl::Status&, absl::Duration) override {
  }
  void OnLimit(const Peer& peer, Limit, uint64_t) override {
    {
      const MutexLock lock(mutex_);
      at_limit_.push_back(peer.process_id);
    }
    if (held.HasBeenNotified()) return;
    held.Notify();
    release.WaitForNotification();
  }
  // The processes whose connections were beyond the limit, in the order of their turns.
  std::vector<int64_t> at_limit() {
    const MutexLock lock(mutex_);
    return at_limit_;
  }
  absl::Notification held, release;

 private:
  Mutex mutex_;
  std::vector<int64_t> at_limit_;
};

class HeldListenerTest : public ListenerTest {
 protected:
  // Returns when the listener's thread is blocked and `most` connections are open.
  void StartHeld(size_t most) {
    listener_ = NewListener(
        place_, {.preface_timeout = absl::Hours(1), .max_connections = most, .client_share = 100},
        {&observer_});
    ASSERT_TRUE(listener_->Listen({NewServer(&keeper_)}).ok());
    for (size_t i = 0; i <= most; ++i) clients_.push_back(Dial());
    observer_.held.WaitForNotification();
  }

  // Runs `dial` in another process. The caller must reap the process.
  template <typename Function>
  pid_t InAnotherProcess(Function dial) {
    const pid_t child = fork();
    if (child != 0) return child;
    const std::string path = place_.socket_dir + "/" + name_ + ".sock";
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    dial(reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(sizeof(address)));
    _exit(0);
  }

  HoldsListener observer_;
  std::vector<RawClient> clients_;
};

TEST_F(HeldListenerTest, AConnectionWhoseProcessHasEndedIsClosed) {
  StartHeld(1);
  const UniqueFd passed_on(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const pid_t child = InAnotherProcess([&](const sockaddr* address, socklen_t size) {
    if (connect(passed_on.get(), address, size) != 0) _exit(1);
  });
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  observer_.release.Notify();
  EXPECT_TRUE(ClosedWithin(passed_on.get(), 5));
}

TEST_F(HeldListenerTest, AProcessThatDialsManyTimesDelaysNoOtherProcess) {
  StartHeld(20);
  int said[2];
  ASSERT_EQ(pipe2(said, O_CLOEXEC), 0);
  const UniqueFd reads(said[0]), writes(said[1]);
  const pid_t child = InAnotherProcess([&](const sockaddr* address, socklen_t size) {
    char dialled = 1;
    for (int i = 0; i < 300; ++i) {
      if (connect(socket(AF_UNIX, SOCK_STREAM, 0), address, size) != 0) dialled = 0;
    }
    if (write(writes.get(), &dialled, 1) == 1) pause();
  });
  char dialled = 0;
  ASSERT_EQ(read(reads.get(), &dialled, 1), 1);
  ASSERT_EQ(dialled, 1);
  const RawClient late = Dial();
  observer_.release.Notify();
  ASSERT_TRUE(Eventually([&] { return observer_.at_limit().size() == 302; }));
  // The first turn is that of the connection that held the thread.
  const std::vector<int64_t> turns = observer_.at_limit();
  EXPECT_EQ(std::count(turns.begin(), turns.begin() + 3, getpid()), 2);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(UnixListenerTest, WithoutDescriptorsSilentConnectionsAreEvicted) {
  Start({.preface_timeout = absl::Hours(1), .max_connections = 10000});
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  std::vector<RawClient> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(Dial());
  ASSERT_TRUE(Eventually([&] { return counters().silent == 50; }));
  // Both ends live in this process, so one descriptor must be left for the client's end.
  UniqueFd one(socket(AF_UNIX, SOCK_STREAM, 0));
  UniqueFd two(socket(AF_UNIX, SOCK_STREAM, 0));
  rlimit tight = old_limit;
  tight.rlim_cur = static_cast<rlim_t>(two.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  one.Reset();
  const RawClient late = Dial();
  EXPECT_TRUE(late.connected());
  EXPECT_TRUE(Eventually([&] { return counters().dropped_for_room > 0; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_TRUE(clients[0].Ended());
}

TEST_F(UnixListenerTest, WhenDescriptorsAreScarceIdleConnectionsAreEvicted) {
  Start({.max_connections = 10000});
  std::vector<RawClient> clients;
  for (size_t i = 0; i < 20; ++i) {
    clients.push_back(Dial());
    ASSERT_TRUE(clients.back().Send(kHttp2Preface));
    ASSERT_TRUE(Eventually([&] { return counters().adopted == i + 1; }));
  }
  BeginCall(clients[0]);
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  rlimit tight = old_limit;
  tight.rlim_cur = static_cast<rlim_t>(UniqueFd(dup(0)).get()) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  RawClient late = Dial();
  ASSERT_TRUE(late.Send(kHttp2Preface));
  EXPECT_TRUE(Eventually([&] { return counters().adopted == 21; })) << "it is served";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_TRUE(clients[1].Ended());
  EXPECT_GE(counters().ended_for_room, 1u);
  EXPECT_FALSE(clients[0].Ended()) << "a call is under way on it";
}

}  // namespace
}  // namespace csi_proxy::rpc
