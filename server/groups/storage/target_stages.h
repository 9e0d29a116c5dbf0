// The StageTarget calls under way. Until such a call locks its disk, no lock protects its session.
// So EndUnusedSessions() and UnstageTarget check here before they end a session or remove a portal.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"
#include "server/base/tenant_memory.h"
#include "server/host/iscsi_host.h"

namespace csi_proxy::storage {

// Thread-safe. Each StageTarget call has one entry until it ends, so the limits of a tenant's calls
// limit the entries. An entry keeps sessions but makes no UnstageTarget fail. A tenant that keeps a
// session by repeated StageTarget calls could also keep it by mounting the disk. The entries are in
// memory, so an embedded node cannot see the calls of the service.
class TargetStages {
 public:
  // The entry of a call. REQUIRES: the TargetStages and the functions' data outlive it.
  class Stage {
   public:
    // Returns true if the call may use the session. Called on any thread with a mutex held.
    // REQUIRES: does not wait.
    using MayUse = std::function<bool(const std::string& iqn, const host::IscsiSession&)>;
    // Returns true if the call's request names the portal. Called like MayUse.
    using Names = std::function<bool(const host::IscsiPortal&)>;

    Stage(TargetStages* stages, MayUse may_use, Names names)
        : stages_(*stages), may_use_(std::move(may_use)), names_(std::move(names)) {
      const MutexLock lock(stages_.mutex_);
      stages_.stages_.insert(this);
    }
    ~Stage() { Leave(); }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    // Waits until no other call is ending a session that this call may use. Returns the error of
    // `context` if it ends first.
    absl::Status AwaitEnds(const CallContext& context) const {
      while (stages_.IsEnding(*this)) {
        ABSL_RETURN_IF_ERROR(context.SleepFor(absl::Milliseconds(10)));
      }
      return absl::OkStatus();
    }
    // Runs `change`, which may change the data that the functions read.
    void Change(const std::function<void()>& change) {
      const MutexLock lock(stages_.mutex_);
      change();
    }
    // Ends the entry. Returns true if another call has kept a session because of this entry.
    bool Leave() {
      const MutexLock lock(stages_.mutex_);
      stages_.stages_.erase(this);
      return has_kept_;
    }

   private:
    friend class TargetStages;
    TargetStages& stages_;
    const MayUse may_use_;
    const Names names_;
    bool has_kept_ = false;  // guarded by stages_.mutex_
  };

  // Returns false if a StageTarget call may use the session. Otherwise runs `end`, which must end
  // the session, and returns true.
  bool EndUnlessUsed(const std::string& iqn, const host::IscsiSession& session,
                     const std::function<void()>& end) {
    std::list<Ending> ending = {{iqn, session}};
    const auto entry = ending.begin();
    {
      const MutexLock lock(mutex_);
      bool is_used = false;
      for (Stage* const stage : stages_) {
        if (stage->may_use_(iqn, session)) is_used = stage->has_kept_ = true;
      }
      if (is_used) return false;
      endings_.splice(endings_.end(), ending);
    }
    end();
    const MutexLock lock(mutex_);
    endings_.erase(entry);
    return true;
  }

  // Remembers for `key` the volume that an UnstageTarget call of `tenant` has unmounted. Remembers
  // nothing if `volume` is empty. A repeated call finds no mount, and needs this volume to find the
  // disk whose sessions it must end. Returns the volume remembered for `key`, or "".
  std::string RememberUnstaged(const std::string& tenant, const std::string& key,
                               const std::string& volume) {
    if (!volume.empty()) unstaged_.Set(tenant, key, volume);
    return unstaged_.Find(tenant, key).value_or("");
  }
  void ForgetUnstaged(const std::string& tenant, const std::string& key) {
    unstaged_.Forget(tenant, key);
  }

  // Returns true if the request of a StageTarget call names the portal.
  bool Names(const host::IscsiPortal& portal) const {
    const MutexLock lock(mutex_);
    return std::ranges::any_of(stages_, [&](const Stage* stage) { return stage->names_(portal); });
  }

 private:
  struct Ending {
    std::string iqn;
    host::IscsiSession session;
  };

  bool IsEnding(const Stage& stage) const {
    const MutexLock lock(mutex_);
    return std::ranges::any_of(
        endings_, [&](const Ending& one) { return stage.may_use_(one.iqn, one.session); });
  }

  mutable Mutex mutex_;
  std::set<Stage*> stages_ ABSL_GUARDED_BY(mutex_);
  std::list<Ending> endings_ ABSL_GUARDED_BY(mutex_);
  // Keeps each volume for an hour.
  TenantMemory<std::string, std::string> unstaged_{1024, absl::Hours(1)};
};

}  // namespace csi_proxy::storage
