// For tests: a server on a pipe that misbehaves.
#pragma once

#include <memory>
#include <string>
#include <thread>

namespace csi_proxy::client {

enum class Misbehaviour {
  // Accepts connections, but neither reads nor writes.
  kSilent,
  // Reads, but never writes.
  kListener,
  kClosesAtOnce,
  kGarbage,
  // Never accepts a connection.
  kBusy,
  // Sends HTTP/2 settings that let the client send without limit, but never reads.
  kStuck,
  // The next three send HTTP/2 settings. When bytes arrive, they close, write garbage, or do
  // nothing.
  kClosesCalls,
  kGarbageToCalls,
  kIgnoresCalls,
};

// The first bytes of a server that lets the client send without limit: SETTINGS with a window of
// 2^31-1 for each stream, and a WINDOW_UPDATE by nearly as much for the connection.
inline const std::string kWideOpen(
    "\0\0\6\4\0\0\0\0\0\0\4\177\377\377\377"
    "\0\0\4\10\0\0\0\0\0\177\376\0\0",
    28);

class MisbehavingServer {
 public:
  // `path` is the pipe's, in the client's form.
  MisbehavingServer(const std::string& path, Misbehaviour misbehaviour);
  ~MisbehavingServer();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace csi_proxy::client
