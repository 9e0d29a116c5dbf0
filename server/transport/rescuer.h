// Watches the threads that run a client's calls one after the other.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/condition.h"

namespace csi_proxy::transport {

// A queue of calls that one thread runs in order.
class Rescued {
 public:
  // Gives the calls that have not begun to other threads, because the running call is slow.
  virtual void Rescue() = 0;

 protected:
  ~Rescued() = default;
};

// Rescues an object after its thread has run calls for 20 to 40 ms. Any call may block, for
// instance on a dead disk. Thread-safe.
class Rescuer {
 public:
  // Watches `rescued` from the Run's construction to its destruction.
  class Run {
   public:
    explicit Run(std::shared_ptr<Rescued> rescued);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Returns false if the watching thread did not start. Then no call may block.
    bool is_watched() const { return is_watched_; }

   private:
    friend class Rescuer;
    const std::shared_ptr<Rescued> rescued_;
    bool is_watched_ = false;
    int looks_ = 0;
  };

 private:
  // Never destroyed, because its thread lives as long as the process.
  static Rescuer& Get();
  bool Add(Run* run);
  void Remove(Run* run);
  [[noreturn]] void Watch();

  Mutex mutex_;
  Condition wake_;
  bool has_thread_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_used_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Run*> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::transport
