#include "server/transport/socket_posix.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "server/base/ready_events_testing.h"
#include "server/platform/unique_fd.h"

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
  void Post() { EXPECT_TRUE(stream_->Post(on_read_)); }
  void Send() { EXPECT_EQ(write(client_.get(), "x", 1), 1); }

 private:
  void OnRead(absl::string_view) override { on_read_(); }
  void OnWritten(bool) override {}

  const std::function<void()> on_read_;
  UniqueFd client_;
  std::shared_ptr<Stream> stream_;
};

TEST(SocketStreamTest, ATenantsManyStreamsDelayOnlyThatTenant) {
  std::deque<Reader> readers;
  ExpectTurns([&](const void* tenant, std::function<void()> work) {
    readers.emplace_back(tenant, std::move(work)).Send();
  });
}

TEST(SocketStreamTest, ATenantsPostedWorkDelaysOnlyThatTenant) {
  std::deque<Reader> readers;
  ExpectTurns([&](const void* tenant, std::function<void()> work) {
    readers.emplace_back(tenant, std::move(work)).Post();
  });
}

}  // namespace
}  // namespace csi_proxy::transport
