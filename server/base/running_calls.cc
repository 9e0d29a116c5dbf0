#include "server/base/running_calls.h"

#include <algorithm>
#include <list>
#include <utility>

#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy {
namespace {

constexpr size_t kMaxSubject = 200;

thread_local const char* rpc_of_this_thread = "";

}  // namespace

struct RunningCall::Entry {
  // The entries, by start. Never destroyed, because calls may outlive static objects.
  struct All {
    Mutex mutex;
    std::list<Entry> entries ABSL_GUARDED_BY(mutex);
  };
  static All& Everything() {
    static auto* const all = new All;
    return *all;
  }

  RunningCallInfo info;
  std::list<Entry>::iterator place;
};

RunningCall::RunningCall(const char* rpc, std::string subject, absl::string_view trace)
    : entry_([&] {
        subject.resize(std::min(subject.size(), kMaxSubject));
        Entry::All& all = Entry::Everything();
        const MutexLock lock(all.mutex);
        Entry& entry = all.entries.emplace_back(
            Entry{{rpc, std::move(subject), SteadyTime::Now(), std::string(trace)}, {}});
        entry.place = std::prev(all.entries.end());
        return &entry;
      }()),
      outer_(std::exchange(rpc_of_this_thread, rpc)) {}

RunningCall::~RunningCall() {
  rpc_of_this_thread = outer_;
  Entry::All& all = Entry::Everything();
  const MutexLock lock(all.mutex);
  all.entries.erase(entry_->place);
}

const char* RunningCall::OfThisThread() { return rpc_of_this_thread; }

std::vector<RunningCallInfo> RunningCall::OlderThan(absl::Duration age, SteadyTime now) {
  const SteadyTime until = now - age;
  std::vector<RunningCallInfo> calls;
  Entry::All& all = Entry::Everything();
  const MutexLock lock(all.mutex);
  for (const Entry& entry : all.entries) {
    if (entry.info.start > until) break;
    calls.push_back(entry.info);
  }
  return calls;
}

}  // namespace csi_proxy
