#include "server/transport/socket_posix.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/base/unique_fd.h"

namespace csi_proxy::transport {
namespace {

// A socket's stream that waits for a byte, and its client.
class Reader final : public Stream::Events {
 public:
  Reader(const void* tenant, std::function<void()> on_read) : on_read_(std::move(on_read)) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    client_.Reset(ends[0]);
    stream_ = *NewSocketStream(UniqueFd(ends[1]), tenant);
    stream_->SetEvents(this);
    absl::string_view bytes;
    EXPECT_FALSE(stream_->Read(&bytes));
  }
  void Send() { EXPECT_EQ(write(client_.get(), "x", 1), 1); }

 private:
  void OnRead(absl::string_view) override { on_read_(); }
  void OnWritten(bool) override {}

  const std::function<void()> on_read_;
  UniqueFd client_;
  std::shared_ptr<Stream> stream_;
};

TEST(SocketStreamTest, ATenantWithManyStreamsDelaysOnlyItself) {
  constexpr int kMany = 300;
  const int greedy = 0, honest = 0;  // the tenants
  std::atomic<int> read = 0;
  std::atomic<bool> is_late = false;
  absl::Notification all_sent, all_read, served;
  std::deque<Reader> readers;
  for (int i = 0; i < kMany; ++i) {
    readers.emplace_back(&greedy, [&] {
      all_sent.WaitForNotification();
      const int count = ++read;
      // The honest one must have had its turn.
      if (count > kMany / 2 && !is_late) {
        is_late = !served.WaitForNotificationWithTimeout(absl::Seconds(10));
      }
      if (count == kMany) all_read.Notify();
    });
  }
  Reader last(&honest, [&] { served.Notify(); });
  for (Reader& reader : readers) reader.Send();
  last.Send();
  all_sent.Notify();
  all_read.WaitForNotification();
  served.WaitForNotification();
  EXPECT_FALSE(is_late);
}

}  // namespace
}  // namespace csi_proxy::transport
