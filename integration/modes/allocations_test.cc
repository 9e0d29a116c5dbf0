// What embedded mode costs over the direct library, counted: heap allocations are the same on every
// machine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/node.h"

namespace {

thread_local int allocations = 0;

void* Allocate(size_t size) {
  ++allocations;
  void* const memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace csi_proxy::integration {
namespace {

// Too long for a std::string to hold in itself.
constexpr char kPath[] = R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi\pvc-1)";

// The allocations of one call, once whatever is made only once has been made.
template <typename Function>
int AllocationsOf(const Function& function) {
  for (int i = 0; i < 3; ++i) function();
  const int before = allocations;
  function();
  return allocations - before;
}

class AllocationsTest : public testing::Test {
 protected:
  AllocationsTest() : node_(*Node::Simulated()) {
    options_.mode = Mode::kEmbedded;
    options_.node = node_;
  }

  const std::shared_ptr<Node> node_;
  ClientOptions options_;
};

TEST_F(AllocationsTest, ACallWithoutStringsCostsNone) {
  auto client = disk::v1::Client::Create(options_);
  ASSERT_TRUE(client.ok()) << client.status();
  disk::v1::GetDiskStateRequest request;
  request.set_disk_number(1);
  const int direct = AllocationsOf(
      [&] { EXPECT_TRUE(node_->disk().GetDiskState(CallContext(), {.disk_number = 1}).ok()); });
  const int embedded = AllocationsOf([&] { EXPECT_TRUE(client->GetDiskState(request).ok()); });
  EXPECT_EQ(embedded, direct);
}

TEST_F(AllocationsTest, AStringOfTheRequestCostsOne) {
  auto client = filesystem::v1::Client::Create(options_);
  ASSERT_TRUE(client.ok()) << client.status();
  filesystem::v1::PathExistsRequest request;
  request.set_path(kPath);
  const filesystem::PathExistsRequest hub_request = {.path = kPath};
  const int direct = AllocationsOf(
      [&] { EXPECT_TRUE(node_->filesystem().PathExists(CallContext(), hub_request).ok()); });
  const int embedded = AllocationsOf([&] { EXPECT_TRUE(client->PathExists(request).ok()); });
  EXPECT_EQ(embedded, direct + 1);
}

}  // namespace
}  // namespace csi_proxy::integration
