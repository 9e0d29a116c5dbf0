// What tests of the sidecars' C interface share.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "csi_proxy/csi_proxy_sidecars.h"

namespace csi_proxy::c {

// Codes of gRPC.
enum Code : int32_t {
  kOk = 0,
  kInvalidArgument = 3,
  kNotFound = 5,
  kFailedPrecondition = 9,
  kUnavailable = 14,
};

// Copies what the library handed out, and frees it.
inline std::string Take(csi_proxy_bytes* bytes) {
  std::string taken(reinterpret_cast<const char*>(bytes->data), bytes->size);
  csi_proxy_sidecars_free(bytes);
  return taken;
}

inline bool Eventually(const std::function<bool()>& holds) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Keeps what is called back.
class Heard {
 public:
  csi_proxy_sidecars_callbacks callbacks() {
    return {.user = this, .log = &Log, .refused = &Refused, .failed = &Failed};
  }
  std::string log() const { return Get(log_); }
  std::vector<std::string> refused() const { return Get(refused_); }
  std::vector<std::pair<int32_t, std::string>> failed() const { return Get(failed_); }
  // What stops of `sidecars` have returned that callbacks have asked for.
  std::vector<int32_t> stops() const { return Get(stops_); }
  void StopInCallbacks(csi_proxy_sidecars sidecars) {
    const std::lock_guard lock(mutex_);
    to_stop_ = sidecars;
  }

 private:
  static void Log(void* user, int32_t, const char* line, size_t size) {
    auto* const self = static_cast<Heard*>(user);
    const std::lock_guard lock(self->mutex_);
    self->log_.append(line, size).append("\n");
  }
  static void Refused(void* user, const char* reason, size_t size) {
    auto* const self = static_cast<Heard*>(user);
    self->Stop();
    const std::lock_guard lock(self->mutex_);
    self->refused_.emplace_back(reason, size);
  }
  static void Failed(void* user, int32_t code, const char* why, size_t size) {
    auto* const self = static_cast<Heard*>(user);
    self->Stop();
    const std::lock_guard lock(self->mutex_);
    self->failed_.emplace_back(code, std::string(why, size));
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    if (to_stop_ != 0) stops_.push_back(csi_proxy_sidecars_stop(to_stop_));
  }
  template <typename Value>
  Value Get(const Value& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  mutable std::mutex mutex_;
  std::string log_;
  std::vector<std::string> refused_;
  std::vector<std::pair<int32_t, std::string>> failed_;
  std::vector<int32_t> stops_;
  csi_proxy_sidecars to_stop_ = 0;
};

struct Started {
  int32_t code;
  csi_proxy_sidecars sidecars;
  std::string error;
};

inline Started Start(std::string_view options, Heard* heard) {
  csi_proxy_sidecars sidecars = 7;
  csi_proxy_bytes error = {};
  const csi_proxy_sidecars_callbacks callbacks = heard->callbacks();
  const int32_t code = csi_proxy_sidecars_start(CSI_PROXY_SIDECARS_ABI_VERSION, options.data(),
                                                options.size(), &callbacks, &sidecars, &error);
  return {code, sidecars, Take(&error)};
}

}  // namespace csi_proxy::c
