// Measures the memory that remains after 100,000 calls and 1,000 nodes through the C interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "client/c/testing.h"

namespace csi_proxy::c {
namespace {

// Returns the resident memory in KiB.
long ResidentMemory() {
  long size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

void Ignore(void*, int32_t, const char*, size_t) {}

// Makes calls with answers, errors and log lines. Announces two of every five calls, and cancels
// one of the two.
void MakeCalls(const Node& node, int count) {
  const std::string path = Text(1, Directory("x"));
  for (int i = 0; i < count; i += 5) {
    ASSERT_EQ(node.Call("/v1.Disk/ListDiskIDs").code, kOk);
    ASSERT_EQ(node.Call(kMkdir, path, {.call = node.Begin()}).code, kOk);
    ASSERT_EQ(node.Call("/v1.Disk/PartitionDisk", Number(1, 77)).code, kNotFound);
    ASSERT_EQ(node.Call("/v1.Disk/Erase").code, kUnimplemented);
    const csi_proxy_call call = node.Begin();
    csi_proxy_cancel(call);
    ASSERT_EQ(node.Call(kRescan, "", {.call = call}).code, kCancelled);
  }
}

void OpenNodes(int count) {
  for (int i = 0; i < count; ++i) {
    const Node node(kSimulated, &Ignore);
    node.Begin();
    ASSERT_EQ(node.Call(kRescan).code, kOk);
    ASSERT_EQ(Open("{").code, kInvalidArgument);
  }
}

// Calls `use(count / 10)` to warm up, then `use(count)`. Expects that the second call lets memory
// grow by at most `allowed` KiB.
template <typename Use>
void ExpectNoGrowth(const char* what, const Use& use, int count, long allowed) {
  use(count / 10);
  const long before = ResidentMemory();
  use(count);
  const long after = ResidentMemory();
  std::printf("%d %s: %ld KiB before, %ld KiB after\n", count, what, before, after);
  EXPECT_LE(after - before, allowed) << "KiB for " << count << " " << what;
}

TEST(MemoryTest, CallsLeakNoMemory) {
  const Node node(kSimulated, &Ignore);
  ExpectNoGrowth(
      "calls", [&](int count) { MakeCalls(node, count); }, 100'000, 512);
}

TEST(MemoryTest, NodesLeakNoMemory) { ExpectNoGrowth("nodes", &OpenNodes, 1'000, 1024); }

}  // namespace
}  // namespace csi_proxy::c
