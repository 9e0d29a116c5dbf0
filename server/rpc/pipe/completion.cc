#include "server/rpc/pipe/completion.h"

#include <grpc/grpc.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/condition.h"
#include "server/rpc/pipe/endpoint.h"

namespace csi_proxy::pipe {
namespace {

thread_local bool completing = false;
thread_local bool may_hold = false;
// True if a FrameHolder waits for the end of this thread's completion.
thread_local bool holds = false;
thread_local int reads = 0;

// The waiting holders, each with the thread for whose completion it waits.
struct Holders {
  struct Holder {
    std::thread::id thread;
    FrameHolder* holder;
  };

  static Holders& Get() {
    static auto* const holders = new Holders();
    return *holders;
  }

  Mutex mutex;
  std::vector<Holder> all ABSL_GUARDED_BY(mutex);
};

void WriteHeld(bool of_all_threads) {
  std::vector<FrameHolder*> taken;
  {
    Holders& holders = Holders::Get();
    const MutexLock lock(holders.mutex);
    std::erase_if(holders.all, [&](const Holders::Holder& one) {
      const bool is_taken = of_all_threads || one.thread == std::this_thread::get_id();
      if (is_taken) taken.push_back(one.holder);
      return is_taken;
    });
  }
  if (taken.empty()) return;
  grpc_core::ApplicationCallbackExecCtx callbacks;
  grpc_core::ExecCtx context;
  for (FrameHolder* const holder : taken) holder->WriteHeld();
}

}  // namespace

bool MayWait(absl::string_view frames) {
  constexpr size_t kHeader = 9;
  constexpr uint8_t kSettings = 4, kPing = 6, kWindowUpdate = 8;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(frames[i]); };
  while (frames.size() >= kHeader) {
    const size_t length = size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2);
    const uint8_t type = byte(3);
    if (type != kSettings && type != kPing && type != kWindowUpdate) return false;
    if (frames.size() - kHeader < length) return false;
    frames.remove_prefix(kHeader + length);
  }
  return frames.empty();
}

InCompletion::Flag::Flag() {
  completing = true;
  may_hold = true;
  reads = 0;
}

InCompletion::Flag::~Flag() {
  may_hold = false;
  if (std::exchange(holds, false)) WriteHeld(false);
  completing = false;
}

int InCompletion::CountRead() { return ++reads; }

bool InCompletion::MayHold() { return may_hold; }

void InCompletion::HoldFrames(FrameHolder* holder) {
  Holders& holders = Holders::Get();
  const MutexLock lock(holders.mutex);
  holders.all.push_back({std::this_thread::get_id(), holder});
  holds = true;
}

void KeepGrpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  (void)kept;
}

bool InGrpcCompletion() { return completing; }

void WriteHeldFrames() { WriteHeld(true); }

}  // namespace csi_proxy::pipe
