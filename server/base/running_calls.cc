#include "server/base/running_calls.h"

#include <algorithm>
#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/condition.h"
#include "server/base/start_thread.h"

namespace csi_proxy {
namespace {

constexpr size_t kMaxSubject = 400;

thread_local const char* rpc_of_this_thread = "";

std::string Text(absl::Duration age, absl::Duration unit) {
  return absl::FormatDuration(absl::Trunc(age, unit));
}

}  // namespace

struct Running::Entry {
  // All entries, ordered by start. Never destroyed, because calls may outlive static objects.
  struct All {
    Mutex mutex;
    std::list<Entry> entries ABSL_GUARDED_BY(mutex);
  };
  static All& Everything() {
    static auto* const all = new All;
    return *all;
  }

  RunInfo info;
  std::list<Entry>::iterator place;
};

Running::Running(RunKind kind, std::string name, std::string subject, absl::string_view trace)
    : entry_([&] {
        subject.resize(std::min(subject.size(), kMaxSubject));
        Entry::All& all = Entry::Everything();
        const MutexLock lock(all.mutex);
        Entry& entry = all.entries.emplace_back(Entry{
            {kind, std::move(name), std::move(subject), SteadyTime::Now(), std::string(trace)},
            {}});
        entry.place = std::prev(all.entries.end());
        return &entry;
      }()) {}

Running::~Running() {
  Entry::All& all = Entry::Everything();
  const MutexLock lock(all.mutex);
  all.entries.erase(entry_->place);
}

std::vector<RunInfo> Running::OlderThan(RunKind kind, absl::Duration age, SteadyTime now) {
  const SteadyTime until = now - age;
  std::vector<RunInfo> runs;
  Entry::All& all = Entry::Everything();
  const MutexLock lock(all.mutex);
  for (const Entry& entry : all.entries) {
    if (entry.info.start > until) break;
    if (entry.info.kind == kind) runs.push_back(entry.info);
  }
  return runs;
}

RunningCall::RunningCall(const char* rpc, std::string subject, absl::string_view trace)
    : running_(RunKind::kCall, rpc, std::move(subject), trace),
      outer_(std::exchange(rpc_of_this_thread, rpc)) {}

RunningCall::~RunningCall() { rpc_of_this_thread = outer_; }

const char* RunningCall::OfThisThread() { return rpc_of_this_thread; }

LongRunLog::LongRunLog(LineFunction calls, LineFunction formats, absl::Duration age)
    : calls_(std::move(calls)), formats_(std::move(formats)), age_(age) {
  absl::StatusOr<std::thread> thread = StartThread([this] { Watch(); });
  if (thread.ok()) thread_ = *std::move(thread);
}

LongRunLog::~LongRunLog() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
    stopped_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

// Returns the lowest age above `age` that gets a line in the log.
absl::Duration LongRunLog::NextLine(RunKind kind, absl::Duration age) const {
  if (kind == RunKind::kFormat) return absl::Floor(age, age_ / 2) + age_ / 2;
  absl::Duration next = age_;
  while (next <= age) next *= 2;
  return next;
}

void LongRunLog::Watch() {
  SteadyTime last = SteadyTime::Now();
  absl::Duration wait;
  while (true) {
    const SteadyTime now = SteadyTime::Now();
    // At most half of `age_`, so that a run that begins during the wait gets its first line in
    // time.
    wait = age_ / 2;
    for (const RunKind kind : {RunKind::kCall, RunKind::kFormat}) {
      for (const RunInfo& run : Running::OlderThan(kind, absl::ZeroDuration(), now)) {
        const absl::Duration age = now - run.start;
        wait = std::min(wait, NextLine(kind, age) - age);
        if (age < NextLine(kind, std::max(last - run.start, absl::ZeroDuration()))) continue;
        if (kind == RunKind::kFormat) {
          formats_(
              absl::StrCat(run.name, ": still running after ", Text(age, absl::Milliseconds(1))));
        } else {
          calls_(absl::StrCat(run.name, " has run for ", Text(age, absl::Milliseconds(100)),
                              run.subject.empty() ? "" : ": ", run.subject,
                              run.trace.empty() ? "" : " trace=", run.trace));
        }
      }
    }
    last = now;
    const MutexLock lock(mutex_);
    const SteadyTime next = SteadyTime::Now() + wait;
    while (!over_ && stopped_.WaitUntil(mutex_, next)) {
    }
    if (over_) return;
  }
}

}  // namespace csi_proxy
