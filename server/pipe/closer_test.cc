#include "server/pipe/closer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "server/names/win32_error.h"
#include "server/pipe/testing/leaky_clients.h"
#include "server/pipe/testing/npfs.h"

namespace csi_proxy::pipe {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr absl::Duration kShort = absl::Milliseconds(200);
constexpr uint32_t kBrokenPipe = 109, kNoData = 232, kPipeNotConnected = 233;

template <typename Condition>
bool Eventually(Condition condition) {
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (!condition()) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

class CloserTest : public testing::Test {
 protected:
  // Connects another client and returns the server's end.
  std::shared_ptr<ServerEnd> Connect(Closer& closer) {
    const absl::StatusOr<void*> instance = calls_->Create(kTestPipe, Creation::kFurther);
    EXPECT_TRUE(instance.ok());
    EXPECT_TRUE(clients_.Open().ok());
    return closer.Adopt(*instance);
  }
  bool Gone() { return !npfs_->HasName(kTestPipe); }

  const std::shared_ptr<Npfs> npfs_ = std::make_shared<Npfs>();
  const std::shared_ptr<Npfs::Process> calls_ = std::make_shared<Npfs::Process>(npfs_, kOurs);
  LeakyClients clients_{npfs_};
};

TEST_F(CloserTest, ADroppedPipeIsDisconnectedWithoutAFlush) {
  Closer closer(calls_, kLong);
  std::shared_ptr<ServerEnd> end = Connect(closer);
  calls_->Write(end->handle(), "unread");
  end.reset();
  EXPECT_TRUE(HasWin32Code(npfs_->Read(clients_.last()).status(), kPipeNotConnected));
  EXPECT_TRUE(Gone());
}

TEST_F(CloserTest, WrittenBytesAreReadBeforeTheDisconnect) {
  Closer closer(calls_, kLong);
  std::shared_ptr<ServerEnd> end = Connect(closer);
  calls_->Write(end->handle(), "the answer");
  end->DisconnectOnceRead();
  end.reset();
  absl::SleepFor(absl::Milliseconds(50));
  const auto answer = npfs_->Read(clients_.last());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "the answer");
  EXPECT_TRUE(Eventually([&] { return Gone(); }));
  EXPECT_TRUE(HasWin32Code(npfs_->Read(clients_.last()).status(), kPipeNotConnected));
}

TEST_F(CloserTest, APipeWithoutUnreadBytesIsDisconnectedWithoutAWait) {
  Closer closer(calls_, kLong);
  std::vector<std::shared_ptr<ServerEnd>> ends;
  for (int i = 0; i < 100; ++i) ends.push_back(Connect(closer));
  for (const auto& end : ends) end->DisconnectOnceRead();
  ends.clear();
  EXPECT_TRUE(Eventually([&] { return Gone(); }));
}

TEST_F(CloserTest, TheCloserDoesNotWaitForADisconnectedClient) {
  Closer closer(calls_, kLong);
  std::shared_ptr<ServerEnd> end = Connect(closer);
  calls_->Write(end->handle(), "unread");
  clients_.Leave();
  end->DisconnectOnceRead();
  end.reset();
  EXPECT_TRUE(Eventually([&] { return Gone(); }));
}

// The deadline of an end does not depend on the number of threads that flush.
TEST_F(CloserTest, ClientsThatDoNotReadAreDisconnectedAtTheDeadline) {
  Closer closer(calls_, kShort);
  std::vector<std::shared_ptr<ServerEnd>> ends;
  for (int i = 0; i < 1000; ++i) {
    ends.push_back(Connect(closer));
    calls_->Write(ends.back()->handle(), "unread");
  }
  const absl::Time start = absl::Now();
  for (const auto& end : ends) end->DisconnectOnceRead();
  ends.clear();
  absl::SleepFor(kShort / 2);
  EXPECT_EQ(npfs_->instances(kTestPipe), 1000u);
  EXPECT_TRUE(Eventually([&] { return Gone(); }));
  EXPECT_GE(absl::Now() - start, kShort);
  EXPECT_LT(absl::Now() - start, kShort + absl::Seconds(5));
}

TEST_F(CloserTest, ClientsThatDoNotReadDoNotDelayReaders) {
  Closer closer(calls_, kShort);
  std::vector<std::shared_ptr<ServerEnd>> ends;
  for (int i = 0; i < 10; ++i) {
    ends.push_back(Connect(closer));
    calls_->Write(ends.back()->handle(), "unread");
    ends.back()->DisconnectOnceRead();
  }
  ends.push_back(Connect(closer));
  calls_->Write(ends.back()->handle(), "the answer");
  ends.back()->DisconnectOnceRead();
  ends.clear();
  const auto answer = npfs_->Read(clients_.last());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "the answer");
  EXPECT_TRUE(Eventually([&] { return Gone(); }));
}

TEST_F(CloserTest, TheNumberOfPipesThatWaitToBeReadIsLimited) {
  constexpr int kCrowd = 6000;
  constexpr size_t kBound = 4096 + 4;
  Closer closer(calls_, kLong);
  for (int i = 0; i < kCrowd; ++i) {
    const std::shared_ptr<ServerEnd> end = Connect(closer);
    calls_->Write(end->handle(), "unread");
    end->DisconnectOnceRead();
  }
  EXPECT_LE(npfs_->instances(kTestPipe), kBound);
  EXPECT_GE(npfs_->instances(kTestPipe), kBound - 4);
  EXPECT_EQ(*npfs_->Read(clients_.last()), "unread");
  clients_.Leave();
  EXPECT_TRUE(Eventually([&] { return Gone(); }));
}

TEST_F(CloserTest, FinishDisconnectsPipesThatAreStillOpen) {
  Closer closer(calls_, kShort);
  const std::shared_ptr<ServerEnd> held = Connect(closer);
  EXPECT_TRUE(HasWin32Code(npfs_->Read(clients_.last()).status(), kNoData));
  const absl::Time start = absl::Now();
  closer.Finish();
  EXPECT_GE(absl::Now() - start, kShort);
  EXPECT_TRUE(HasWin32Code(npfs_->Read(clients_.last()).status(), kPipeNotConnected));
  // A disconnected instance leaves no name when its process ends.
  calls_->Crash();
  EXPECT_TRUE(Gone());
}

TEST_F(CloserTest, FinishReturnsOnceAllPipesAreDisconnected) {
  Closer closer(calls_, kLong);
  std::shared_ptr<ServerEnd> end = Connect(closer);
  end->DisconnectOnceRead();
  const absl::Time start = absl::Now();
  closer.Finish();
  EXPECT_LT(absl::Now() - start, kLong / 2);
  EXPECT_TRUE(HasWin32Code(npfs_->Read(clients_.last()).status(), kPipeNotConnected));
}

TEST_F(CloserTest, WithoutThreadsPipesAreDisconnectedWithoutAFlush) {
  bool has_threads = false;
  Closer closer(calls_, kLong, [&](std::function<void()> work) -> absl::StatusOr<std::thread> {
    if (!has_threads) return absl::ResourceExhaustedError("no threads");
    return StartThread(std::move(work));
  });
  const std::shared_ptr<ServerEnd> first = Connect(closer);
  calls_->Write(first->handle(), "unread");
  first->DisconnectOnceRead();
  EXPECT_TRUE(HasWin32Code(npfs_->Read(clients_.last()).status(), kPipeNotConnected));
  // After the failed start, clients of later pipes can still read their answers.
  has_threads = true;
  const std::shared_ptr<ServerEnd> second = Connect(closer);
  calls_->Write(second->handle(), "the answer");
  second->DisconnectOnceRead();
  const auto answer = npfs_->Read(clients_.last());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "the answer");
  closer.Finish();
}

// Clients that do not read are still disconnected at the deadline.
TEST_F(CloserTest, PipesAreDisconnectedAtTheDeadlineWithoutThreadsForFlushes) {
  int left = 1;
  Closer closer(calls_, kShort, [&](std::function<void()> work) -> absl::StatusOr<std::thread> {
    if (left-- <= 0) return absl::ResourceExhaustedError("no threads");
    return StartThread(std::move(work));
  });
  const std::shared_ptr<ServerEnd> end = Connect(closer);
  calls_->Write(end->handle(), "unread");
  end->DisconnectOnceRead();
  EXPECT_TRUE(Eventually(
      [&] { return HasWin32Code(npfs_->Read(clients_.last()).status(), kPipeNotConnected); }));
  EXPECT_TRUE(Eventually([&] { return end.use_count() == 1; })) << "the closer keeps it";
}

// A server needs a Closer: without a disconnect, the client keeps the name in use.
TEST_F(CloserTest, AHandleClosedWithoutADisconnectLeavesThePipesNameInUse) {
  const absl::StatusOr<void*> instance = calls_->Create(kTestPipe, Creation::kFurther);
  ASSERT_TRUE(instance.ok());
  ASSERT_TRUE(clients_.Open().ok());
  calls_->Close(*instance);
  EXPECT_FALSE(Gone());
  EXPECT_TRUE(HasWin32Code(npfs_->Read(clients_.last()).status(), kBrokenPipe));
  EXPECT_TRUE(HasWin32Code(clients_.Open(), win32_error::kFileNotFound));
}

}  // namespace
}  // namespace csi_proxy::pipe
