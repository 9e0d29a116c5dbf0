#include "server/base/testing_posix.h"
#include "server/rpc/listener_testing.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::rpc {

RawClient::RawClient(const PipePlace& place, const std::string& name)
    : handle_(ConnectUnix(place.socket_dir + "/" + name + ".sock").Release()) {}
RawClient::~RawClient() { Close(); }
RawClient::RawClient(RawClient&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}

bool RawClient::connected() const { return handle_ >= 0; }
bool RawClient::Send(absl::string_view bytes) {
  return send(static_cast<int>(handle_), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}
bool RawClient::Ended(std::string* received) {
  return ClosedWithin(static_cast<int>(handle_), 5, received);
}
void RawClient::Close() { const UniqueFd closed(static_cast<int>(std::exchange(handle_, -1))); }

PipePlace TestPlace() {
  static const auto* const directory = new TemporaryDirectory();
  return {.socket_dir = directory->path()};
}
std::string TestPipeName() { return "pipe"; }

}  // namespace csi_proxy::rpc
