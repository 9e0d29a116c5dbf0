// Completions of I/O in which gRPC works, and the frames that wait until a completion ends; part of
// endpoint.h. Includes headers of gRPC's core.
#pragma once

#include "absl/strings/string_view.h"
#include "src/core/lib/iomgr/exec_ctx.h"

namespace csi_proxy::pipe {

// Returns true for whole frames whose delay nobody notices: settings, pings and windows, and their
// acknowledgements. An answer often follows in the same completion, and two writes would wake the
// client twice: a grpc-go client sends a ping with most requests.
bool MayWait(absl::string_view frames);

// A connection that holds frames back.
class FrameHolder {
 public:
  // Writes the frames. Called once for each HoldFrames().
  virtual void WriteHeld() = 0;

 protected:
  ~FrameHolder() = default;
};

// The first object on the stack of an IoPort thread that works for gRPC. Its destructor writes the
// frames that were held back.
class InCompletion {
 public:
  // Counts a read in this thread's completion, and returns their number.
  static int CountRead();
  // Returns true if this thread may hold frames until its completion ends.
  static bool MayHold();
  // Calls `holder`, which must live until then, when this completion ends or in WriteHeldFrames().
  static void HoldFrames(FrameHolder* holder);

 private:
  struct Flag {
    Flag();
    ~Flag();
  };

  // Destroyed last, because callbacks run when the contexts are destroyed.
  const Flag flag_;
  grpc_core::ApplicationCallbackExecCtx callbacks_;
  grpc_core::ExecCtx context_;
};

// Keeps gRPC from shutting down with its last channel or server. Without its executor, work of a
// connection that is ending on an IoPort thread would have nowhere to go.
void KeepGrpc();

}  // namespace csi_proxy::pipe
