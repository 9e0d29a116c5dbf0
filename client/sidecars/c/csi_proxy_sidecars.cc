// The C interface of the sidecars.
#include "csi_proxy/csi_proxy_sidecars.h"

#ifdef _WIN32
#include <windows.h>
#endif

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "client/c/boundary.h"
#include "client/sidecars/c/options.h"
#include "csi_proxy/sidecars.h"
#include "server/service/product_version.h"

namespace csi_proxy::c {
namespace {

// How many callbacks of the program this thread is in: none of them may wait for itself.
thread_local int callbacks_here = 0;

class InCallback {
 public:
  InCallback() { ++callbacks_here; }
  ~InCallback() { --callbacks_here; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
};

// The sidecars that were started and not stopped, by their numbers. Thread-safe.
class Started {
 public:
  static Started& Get() {
    // Never destroyed: sidecars may be at work when the process ends.
    static Started* const started = new Started();
    return *started;
  }

  uint64_t Add(std::unique_ptr<Sidecars> sidecars) {
    const std::lock_guard lock(mutex_);
    sidecars_.emplace(++last_, std::move(sidecars));
    return last_;
  }

  absl::Status Registered(uint64_t number, bool* registered) {
    const std::lock_guard lock(mutex_);
    const auto found = sidecars_.find(number);
    if (found == sidecars_.end()) return Stopped();
    *registered = found->second->registered();
    return absl::OkStatus();
  }

  absl::Status Stop(uint64_t number) {
    std::unique_ptr<Sidecars> stopped;
    {
      const std::lock_guard lock(mutex_);
      const auto found = sidecars_.find(number);
      if (found == sidecars_.end()) return Stopped();
      stopped = std::move(found->second);
      sidecars_.erase(found);
    }
    stopped.reset();
    return absl::OkStatus();
  }

 private:
  static absl::Status Stopped() {
    return absl::NotFoundError("sidecars: are stopped, or never were started");
  }

  std::mutex mutex_;
  uint64_t last_ = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Sidecars>> sidecars_;
};

// Threads of gRPC outlive what used them; on Linux the linker is told the same.
void StayLoaded() {
#ifdef _WIN32
  HMODULE self;
  (void)GetModuleHandleExW(
      GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
      reinterpret_cast<const wchar_t*>(reinterpret_cast<const void*>(&StayLoaded)), &self);
#endif
}

void SetCallbacks(const csi_proxy_sidecars_callbacks& callbacks, SidecarsOptions* options) {
  void* const user = callbacks.user;
  if (LogFunction log = ToLogFunction(callbacks.log, user)) {
    options->log = [log = std::move(log)](Severity severity, absl::string_view line) {
      const InCallback in_callback;
      // It may quote the kubelet, or the driver.
      log(severity, ReplaceInvalidUtf8(line));
    };
  }
  if (const auto refused = callbacks.refused) {
    options->on_refused = [refused, user](const std::string& reason) {
      const InCallback in_callback;
      const std::string text = ReplaceInvalidUtf8(reason);
      refused(user, text.data(), text.size());
    };
  }
  if (const auto failed = callbacks.failed) {
    options->on_failed = [failed, user](const absl::Status& why) {
      const InCallback in_callback;
      const std::string text = ReplaceInvalidUtf8(why.message());
      failed(user, static_cast<int32_t>(why.code()), text.data(), text.size());
    };
  }
}

absl::Status Start(absl::string_view json, const csi_proxy_sidecars_callbacks* callbacks,
                   csi_proxy_sidecars* sidecars) {
  absl::StatusOr<SidecarsOptions> options = ToSidecarsOptions(json);
  if (!options.ok()) return options.status();
  if (callbacks != nullptr) SetCallbacks(*callbacks, &*options);
  StayLoaded();
  absl::StatusOr<std::unique_ptr<Sidecars>> started = Sidecars::Start(*std::move(options));
  if (!started.ok()) return started.status();
  *sidecars = Started::Get().Add(*std::move(started));
  return absl::OkStatus();
}

}  // namespace
}  // namespace csi_proxy::c

using csi_proxy::c::Answer;
using csi_proxy::c::Started;

extern "C" {

uint32_t csi_proxy_sidecars_abi_version(void) { return CSI_PROXY_SIDECARS_ABI_VERSION; }

const char* csi_proxy_sidecars_version(void) { return csi_proxy::kVersion; }

int32_t csi_proxy_sidecars_start(uint32_t abi_version, const char* options, size_t options_size,
                                 const csi_proxy_sidecars_callbacks* callbacks,
                                 csi_proxy_sidecars* sidecars, csi_proxy_bytes* error) {
  if (sidecars != nullptr) *sidecars = 0;
  csi_proxy::c::Empty(error);
  return Answer(error, [&]() -> absl::Status {
    absl::Status status = csi_proxy::c::CheckAbi(abi_version, CSI_PROXY_SIDECARS_ABI_VERSION);
    if (!status.ok()) return status;
    if (sidecars == nullptr) return absl::InvalidArgumentError("sidecars: is null");
    status = csi_proxy::c::CheckOptions(options, options_size);
    if (!status.ok()) return status;
    return csi_proxy::c::Start(absl::string_view(options, options_size), callbacks, sidecars);
  });
}

int32_t csi_proxy_sidecars_registered(csi_proxy_sidecars sidecars, int32_t* registered) {
  if (registered != nullptr) *registered = 0;
  return Answer(nullptr, [&] {
    if (registered == nullptr) return absl::InvalidArgumentError("registered: is null");
    bool is_registered = false;
    absl::Status status = Started::Get().Registered(sidecars, &is_registered);
    *registered = is_registered ? 1 : 0;
    return status;
  });
}

int32_t csi_proxy_sidecars_stop(csi_proxy_sidecars sidecars) {
  return Answer(nullptr, [&] {
    if (csi_proxy::c::callbacks_here > 0) {
      return absl::FailedPreconditionError("sidecars: are not stopped by a callback");
    }
    return Started::Get().Stop(sidecars);
  });
}

void csi_proxy_sidecars_free(csi_proxy_bytes* bytes) { csi_proxy::c::Free(bytes); }

}  // extern "C"
