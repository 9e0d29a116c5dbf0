// Helpers for the tests of the C interface. Like a foreign program, they use only csi_proxy.h of
// the library, and serialize messages themselves.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "csi_proxy/csi_proxy.h"

namespace csi_proxy::c {

// Codes of gRPC.
enum Code : int32_t {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
};

constexpr int64_t kSecond = 1'000'000'000;
constexpr char kSimulated[] = R"({"node": "SIMULATED"})";
constexpr char kRescan[] = "/v1.Disk/Rescan";
constexpr char kPathExists[] = "/v1.Filesystem/PathExists";
constexpr char kMkdir[] = "/v1.Filesystem/Mkdir";
constexpr char kInjectFault[] = "/csi_proxy.simulated.Admin/InjectFault";

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// Serialize a field of a message.
inline std::string Number(int field, uint64_t value) { return Varint(field << 3) + Varint(value); }
inline std::string Text(int field, std::string_view text) {
  return Varint(field << 3 | 2) + Varint(text.size()) + std::string(text);
}

// Returns a directory that calls may create.
inline std::string Directory(std::string_view name) {
  return R"(C:\var\lib\kubelet\pods\)" + std::string(name);
}

// Copies bytes that the library returned, and frees them.
inline std::string Take(csi_proxy_bytes* bytes) {
  std::string taken(reinterpret_cast<const char*>(bytes->data), bytes->size);
  csi_proxy_free(bytes);
  return taken;
}

// Returns a value for the outputs of a call. The call must overwrite the value without reading or
// freeing it.
inline csi_proxy_bytes Unowned() {
  static uint8_t byte = 1;
  return {&byte, 1};
}

struct Result {
  int32_t code;
  std::string response, message;
};

struct CallOptions {
  csi_proxy_call call = 0;
  int64_t timeout_ns = -1;
};

inline Result Invoke(csi_proxy_node node, const char* method, std::string_view request = {},
                     const CallOptions& options = {}) {
  csi_proxy_bytes response = Unowned(), message = Unowned();
  const int32_t code =
      csi_proxy_invoke(node, options.call, method, reinterpret_cast<const uint8_t*>(request.data()),
                       request.size(), options.timeout_ns, &response, &message);
  return {code, Take(&response), Take(&message)};
}

// Collects the lines of a log.
class Lines {
 public:
  // A csi_proxy_log whose `user` is a Lines.
  static void Add(void* user, int32_t, const char* line, size_t size) {
    auto* const lines = static_cast<Lines*>(user);
    std::lock_guard lock(lines->mutex_);
    lines->lines_.emplace_back(line, size);
  }
  std::vector<std::string> all() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

struct Opened {
  int32_t code;
  csi_proxy_node node;
  std::string error;
};

inline Opened Open(std::string_view options, csi_proxy_log log = nullptr, void* user = nullptr) {
  csi_proxy_node node = 7;
  csi_proxy_bytes error = Unowned();
  const int32_t code = csi_proxy_open(CSI_PROXY_ABI_VERSION, options.data(), options.size(), log,
                                      user, &node, &error);
  return {code, node, Take(&error)};
}

// A simulated node. Closed by the destructor.
class Node {
 public:
  explicit Node(std::string_view options = kSimulated, csi_proxy_log log = &Lines::Add)
      : Node(options, log, nullptr) {}
  Node(std::string_view options, csi_proxy_log log, void* user) {
    const Opened opened = Open(options, log, user != nullptr ? user : &lines);
    EXPECT_EQ(opened.code, kOk) << opened.error;
    handle = opened.node;
  }
  ~Node() { csi_proxy_close(handle); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Result Call(const char* method, std::string_view request = {},
              const CallOptions& options = {}) const {
    return Invoke(handle, method, request, options);
  }
  csi_proxy_call Begin() const {
    csi_proxy_call call = 0;
    EXPECT_EQ(csi_proxy_begin(handle, &call), kOk);
    return call;
  }
  // Delays an operation, for example `disk.*`, by `milliseconds`.
  void SlowDown(std::string_view operation, uint32_t milliseconds) const {
    const Result result = Call(kInjectFault, Text(1, Text(1, operation) + Number(4, milliseconds)));
    ASSERT_EQ(result.code, kOk) << result.message;
  }

  csi_proxy_node handle = 0;
  Lines lines;
};

}  // namespace csi_proxy::c
