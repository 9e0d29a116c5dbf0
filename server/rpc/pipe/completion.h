// Completions of I/O in which gRPC works, and the frames that wait for their ends; part of
// endpoint.h. Includes headers of gRPC's core.
#pragma once

#include "absl/strings/string_view.h"
#include "src/core/lib/iomgr/exec_ctx.h"

namespace csi_proxy::pipe {

// True of whole frames for which nobody waits: settings, pings and windows, and their
// acknowledgements. An answer often follows in the same completion: a client of grpc-go sends a
// ping with most requests, and if the two came by a write each, they would wake it twice.
bool MayWait(absl::string_view frames);

// A connection that holds such frames back.
class FrameHolder {
 public:
  // Writes them. Called once for each HoldFrames().
  virtual void WriteHeld() = 0;

 protected:
  ~FrameHolder() = default;
};

// The first object on the stack of a thread of the IoPort that works for gRPC. At its end the
// frames are written that were held back meanwhile.
class InCompletion {
 public:
  // Each of these is about this thread. Counts a read of the completion, and returns how many.
  static int CountRead();
  // Tells whether frames may wait for the end of the completion.
  static bool MayHold();
  // Lets `holder`, which must live until then, be called at the end, or by WriteHeldFrames().
  static void HoldFrames(FrameHolder* holder);

 private:
  struct Flag {
    Flag();
    ~Flag();
  };

  // Callbacks run when the contexts are destroyed, so the flag is destroyed last.
  const Flag flag_;
  grpc_core::ApplicationCallbackExecCtx callbacks_;
  grpc_core::ExecCtx context_;
};

// Keeps gRPC from shutting down. It would with its last channel or server, and take its executor
// away, to which the work of a connection that is just ending may yet go, on a thread of the
// IoPort.
void KeepGrpc();

}  // namespace csi_proxy::pipe
