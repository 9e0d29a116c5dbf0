// For tests: a server on a pipe that does not serve.
#pragma once

#include <memory>
#include <string>
#include <thread>

namespace csi_proxy::client {

enum class Misbehaviour {
  // Takes connections and neither reads nor writes.
  kSilent,
  // Reads, and never writes.
  kListener,
  kClosesAtOnce,
  kGarbage,
  // Never takes a connection.
  kBusy,
  // Sends HTTP/2 settings that let the client send all it has, then does not read.
  kStuck,
  // Send HTTP/2 settings; once they have read something, they close, write garbage, or nothing.
  kClosesCalls,
  kGarbageToCalls,
  kIgnoresCalls,
};

// The first bytes of a server that lets the client send without limit: SETTINGS with a window of
// 2^31-1 for each stream, and WINDOW_UPDATE by nearly as much for the connection.
inline const std::string kWideOpen(
    "\0\0\6\4\0\0\0\0\0\0\4\177\377\377\377"
    "\0\0\4\10\0\0\0\0\0\177\376\0\0",
    28);

class MisbehavingServer {
 public:
  // For the pipe at `path`, as the client spells it.
  MisbehavingServer(const std::string& path, Misbehaviour misbehaviour);
  ~MisbehavingServer();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace csi_proxy::client
