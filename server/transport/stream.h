// The byte stream of a connection: a Unix socket, or an end of a named pipe.
#pragma once

#include <cstddef>
#include <functional>

#include "absl/strings/string_view.h"

namespace csi_proxy::transport {

// Returns the number of threads that read streams and begin calls. Defined by the platform.
size_t ReadingThreads();

// REQUIRES: at most one read and one write are under way at a time.
class Stream {
 public:
  // Receives the ends of operations that did not end synchronously, on a thread of the transport.
  class Events {
   public:
    // `bytes` are valid during the call. They are empty if the connection has ended.
    virtual void OnRead(absl::string_view bytes) = 0;
    virtual void OnWritten(bool ok) = 0;

   protected:
    ~Events() = default;
  };

  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Must be called once, before the first operation. REQUIRES: `events` lives while an operation is
  // under way.
  void SetEvents(Events* events) { events_ = events; }

  // Reads some bytes. Returns true if the read has ended synchronously, and sets `*bytes`, which is
  // valid until the next read, and empty if the connection has ended. Otherwise OnRead() follows.
  virtual bool Read(absl::string_view* bytes) = 0;

  // Writes all of `bytes`. Returns true if the write has ended synchronously, and sets `*ok`.
  // Otherwise OnWritten() follows. REQUIRES: `bytes` live until the write has ended.
  virtual bool Write(absl::string_view bytes, bool* ok) = 0;

  // Ends the connection; the client can still read what was written. The operations under way end.
  // Thread-safe, like Disconnect() and Post().
  virtual void HangUp() = 0;
  // Ends the connection immediately, even if the client has not read everything.
  virtual void Disconnect() = 0;

  // Runs `work` on a thread of the transport. Returns false, without running it, if the system has
  // no memory for it.
  virtual bool Post(std::function<void()> work) = 0;

 protected:
  Stream() = default;
  Events* events_ = nullptr;
};

}  // namespace csi_proxy::transport
