// The pipe of the admin service of the double's node, for tests in other processes.
//
// A request is a method name of server/simulator/admin.proto, a newline, the length of the
// serialized request as a uint32, and the request. An answer is a status code as a uint32, a length
// as a uint32, and the serialized response or the error message. Numbers are little-endian. A
// connection may carry any number of requests, one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "server/platform/win32.h"

namespace csi_proxy::machine::simulator {
class Machine;
}

namespace csi_proxy::node_double {

// Serves the pipe in the background until the process ends.
void ServeAdmin(machine::simulator::Machine& node);

inline constexpr wchar_t kAdminPipe[] = L"\\\\.\\pipe\\csi-proxy-node-double";

// Reads exactly `size` bytes. Returns false if the connection ends before.
inline bool ReadAll(HANDLE pipe, void* buffer, size_t size) {
  auto* at = static_cast<char*>(buffer);
  for (DWORD count = 0; size > 0; at += count, size -= count) {
    if (!ReadFile(pipe, at, static_cast<DWORD>(size), &count, nullptr) || count == 0) return false;
  }
  return true;
}
inline bool WriteAll(HANDLE pipe, const void* data, size_t size) {
  const auto* at = static_cast<const char*>(data);
  for (DWORD count = 0; size > 0; at += count, size -= count) {
    if (!WriteFile(pipe, at, static_cast<DWORD>(size), &count, nullptr)) return false;
  }
  return true;
}

// Reads a length and that many bytes, at most 64 MiB.
inline bool ReadCounted(HANDLE pipe, std::string* text) {
  constexpr uint32_t kMost = 64 << 20;
  uint32_t size = 0;
  if (!ReadAll(pipe, &size, sizeof(size)) || size > kMost) return false;
  text->resize(size);
  return ReadAll(pipe, text->data(), size);
}
inline bool WriteCounted(HANDLE pipe, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  return WriteAll(pipe, &size, sizeof(size)) && WriteAll(pipe, text.data(), text.size());
}

}  // namespace csi_proxy::node_double
