#include "integration/wine/node/fake_handles.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace csi_proxy::node_double {
namespace {

// A fake handle consists of kMark, a serial number of 36 bits, and kOdd, bits that no kernel handle
// has set.
constexpr uint64_t kMark = 0x0D0B1E0;
constexpr int kMarkShift = 38;
constexpr uint64_t kOdd = 3;

struct Table {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::shared_ptr<Opened>> opened;
  uint64_t next = 1;
};

Table& TheTable() {
  static auto* const table = new Table();
  return *table;
}

uint64_t Number(const void* handle) { return reinterpret_cast<uint64_t>(handle); }

}  // namespace

bool IsFake(const void* handle) {
  return Number(handle) >> kMarkShift == kMark && (Number(handle) & kOdd) == kOdd;
}

void* NewFake(std::shared_ptr<Opened> opened) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  // Numbers are never reused, so the use of a closed handle is noticed.
  const uint64_t handle = kMark << kMarkShift | table.next++ << 2 | kOdd;
  table.opened.emplace(handle, std::move(opened));
  return reinterpret_cast<void*>(handle);
}

std::shared_ptr<Opened> FindFake(const void* handle) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.opened.find(Number(handle));
  return found == table.opened.end() ? nullptr : found->second;
}

bool CloseFake(const void* handle) {
  Table& table = TheTable();
  // Destroys the object after the lock is released.
  std::shared_ptr<Opened> closed;
  const std::lock_guard lock(table.mutex);
  const auto found = table.opened.find(Number(handle));
  if (found == table.opened.end()) return false;
  closed = std::move(found->second);
  table.opened.erase(found);
  return true;
}

}  // namespace csi_proxy::node_double
