#include "client/grpc/socket.h"
// Must follow winsock2.h.
#include <afunix.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/grpc/loopback_testing.h"
#include "csi_proxy/steady_time.h"
#include "server/names/win32_error.h"

namespace csi_proxy::pipe {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(10);

// Waits for one operation of a stream.
class Operation {
 public:
  static void Done(void* self, DWORD error, DWORD bytes) {
    auto* const operation = static_cast<Operation*>(self);
    operation->result_ = {.error = error, .bytes = bytes};
    operation->done_.Notify();
  }
  bool ended() const { return done_.HasBeenNotified(); }
  Stream::Result Await() {
    EXPECT_TRUE(done_.WaitForNotificationWithTimeout(kSoon));
    return result_;
  }
  // Returns the result of a call. If `at_once`, the call has ended with `result`.
  Stream::Result Await(bool at_once, const Stream::Result& result) {
    return at_once ? result : Await();
  }

 private:
  absl::Notification done_;
  Stream::Result result_;
};

std::string Read(Stream& stream, Stream::Result* result) {
  std::string bytes(1 << 16, '\0');
  Operation operation;
  const bool at_once = stream.Read(bytes.data(), static_cast<DWORD>(bytes.size()), &Operation::Done,
                                   &operation, result);
  *result = operation.Await(at_once, *result);
  bytes.resize(result->bytes);
  return bytes;
}

Stream::Result Write(Stream& stream, const std::string& bytes) {
  Operation operation;
  Stream::Result result;
  const bool at_once = stream.Write(bytes.data(), static_cast<DWORD>(bytes.size()),
                                    &Operation::Done, &operation, &result);
  return operation.Await(at_once, result);
}

// Collects the accepted streams.
class Accepted {
 public:
  SocketListener::Accepted Function() {
    return [this](std::unique_ptr<Stream> stream) {
      absl::MutexLock lock(&mutex_);
      streams_.push_back(std::move(stream));
    };
  }
  std::unique_ptr<Stream> Next() {
    absl::MutexLock lock(&mutex_);
    const bool came = mutex_.AwaitWithTimeout(
        absl::Condition(
            +[](std::vector<std::unique_ptr<Stream>>* all) { return !all->empty(); }, &streams_),
        kSoon);
    if (!came) return nullptr;
    std::unique_ptr<Stream> first = std::move(streams_.front());
    streams_.erase(streams_.begin());
    return first;
  }
  size_t size() {
    absl::MutexLock lock(&mutex_);
    return streams_.size();
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

class SocketTest : public testing::Test {
 protected:
  SocketTest() {
    BoundSocket bound = BindLoopback();
    address_ = bound.address;
    listener_ = *SocketListener::Start(std::move(bound.socket), AF_INET, accepted_.Function());
    client_ = *SocketStream::Create(*Connect(address_, SteadyTime::Now() + kSoon));
    server_ = accepted_.Next();
  }

  Accepted accepted_;
  SocketAddress address_;
  std::unique_ptr<SocketListener> listener_;
  std::unique_ptr<Stream> client_, server_;
};

TEST(UnixAddressTest, APathMustLeaveRoomForItsFinalNul) {
  const std::string longest(107, 'a');
  const auto address = UnixAddress(longest);
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->family(), AF_UNIX);
  EXPECT_EQ(address->size, 110);
  EXPECT_EQ(reinterpret_cast<const sockaddr_un*>(address->get())->sun_path, longest);
  for (const std::string& bad : {std::string(108, 'a'), std::string(), std::string("\0a", 2)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(UnixAddress(bad).status())) << bad;
  }
}

TEST_F(SocketTest, BytesArriveInBothDirections) {
  Stream::Result result;
  EXPECT_EQ(Write(*client_, "there").error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(Read(*server_, &result), "there");
  EXPECT_EQ(Write(*server_, "and back").bytes, 8u);
  EXPECT_EQ(Read(*client_, &result), "and back");
}

TEST_F(SocketTest, BytesWrittenBeforeTheHangUpArrive) {
  EXPECT_EQ(Write(*client_, "last words").error, DWORD{ERROR_SUCCESS});
  client_->HangUp();
  Stream::Result result;
  EXPECT_EQ(Read(*server_, &result), "last words");
  EXPECT_EQ(Read(*server_, &result), "");
  EXPECT_EQ(result.error, DWORD{ERROR_HANDLE_EOF});
}

TEST_F(SocketTest, APendingReadEndsOnCancelHangUpAndDisconnect) {
  for (void (Stream::*const end)() : {&Stream::Cancel, &Stream::HangUp, &Stream::Disconnect}) {
    std::string bytes(16, '\0');
    Operation read;
    Stream::Result result;
    ASSERT_FALSE(server_->Read(bytes.data(), 16, &Operation::Done, &read, &result));
    absl::SleepFor(absl::Milliseconds(20));
    EXPECT_FALSE(read.ended());
    ((*server_).*end)();
    result = read.Await();
    // Disconnect() may end the operation before the cancellation does.
    EXPECT_TRUE(result.error == ERROR_OPERATION_ABORTED || result.error == ERROR_HANDLE_EOF)
        << result.error;
  }
}

TEST_F(SocketTest, AnUnreadWriteEndsWithItsConnection) {
  const std::string much(64 << 20, 'x');
  Operation write;
  Stream::Result result;
  const bool at_once = client_->Write(much.data(), static_cast<DWORD>(much.size()),
                                      &Operation::Done, &write, &result);
  ASSERT_FALSE(at_once) << result.error;
  absl::SleepFor(absl::Milliseconds(50));
  ASSERT_FALSE(write.ended()) << "the test needs a write that stays";
  client_->HangUp();
  EXPECT_LT(write.Await().bytes, much.size());
}

TEST_F(SocketTest, ADestroyedEndClosesTheOtherEnd) {
  client_.reset();
  Stream::Result result;
  EXPECT_EQ(Read(*server_, &result), "");
  EXPECT_NE(result.error, DWORD{ERROR_SUCCESS});
}

TEST_F(SocketTest, AStoppedListenerRefusesClientsAndKeepsConnections) {
  listener_.reset();
  const auto late = Connect(address_, SteadyTime::Now() + kSoon);
  EXPECT_TRUE(HasWin32Code(late.status(), WSAECONNREFUSED)) << late.status();
  EXPECT_EQ(accepted_.size(), 0u);
  Stream::Result result;
  EXPECT_EQ(Write(*client_, "still").error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(Read(*server_, &result), "still");
}

TEST(SocketConnectTest, ConnectIsRefusedBeforeTheSocketListens) {
  const BoundSocket bound = BindLoopback();
  const auto early = Connect(bound.address, SteadyTime::Now() + kSoon);
  EXPECT_TRUE(HasWin32Code(early.status(), WSAECONNREFUSED)) << early.status();
}

// The listener does not accept, and its queue is short: a blocking connect would wait for minutes.
TEST(SocketConnectTest, ConnectEndsAtItsDeadlineIfTheQueueIsFull) {
  const BoundSocket bound = BindLoopback();
  ASSERT_EQ(listen(bound.socket.get(), 1), 0);
  std::vector<Socket> waiting;
  while (waiting.size() < 1000) {
    const SteadyTime start = SteadyTime::Now();
    auto one = Connect(bound.address, start + absl::Milliseconds(300));
    if (one.ok()) {
      waiting.push_back(*std::move(one));
      continue;
    }
    EXPECT_TRUE(HasWin32Code(one.status(), WSAETIMEDOUT)) << one.status();
    EXPECT_GE(SteadyTime::Now() - start, absl::Milliseconds(300));
    EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(2));
    return;
  }
  FAIL() << "there was room for " << waiting.size();
}

}  // namespace
}  // namespace csi_proxy::pipe
