#include "integration/wine/double/pending.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace csi_proxy::node_double {
namespace {

class Workers {
 public:
  void Run(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (queue_.size() <= idle_) {
      wanted_.notify_one();
    } else {
      // Keeps the thread, because MinGW sometimes loses a thread that is detached before it runs.
      threads_.emplace_back([this] { Work(); });
    }
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wanted_.wait(lock, [this] { return !queue_.empty(); });
      --idle_;
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      // Destroys the work's captures without the lock.
      work = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::function<void()>> queue_;
  std::deque<std::thread> threads_;
  size_t idle_ = 0;
};

}  // namespace

void RunElsewhere(std::function<void()> work) {
  // Never destroyed: the threads run until the process ends.
  static auto* const workers = new Workers();
  workers->Run(std::move(work));
}

}  // namespace csi_proxy::node_double
