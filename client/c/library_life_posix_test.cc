// Programs that load the library, unload it, load it again, and exit during calls.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "csi_proxy/csi_proxy.h"

namespace csi_proxy::c {
namespace {

class Library {
 public:
  Library() : handle_(dlopen(CSI_PROXY_C_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() { EXPECT_EQ(dlclose(handle_), 0) << dlerror(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* const handle_;
};

void Use(const Library& library) {
  const auto open = library.Find<decltype(csi_proxy_open)>("csi_proxy_open");
  const auto invoke = library.Find<decltype(csi_proxy_invoke)>("csi_proxy_invoke");
  const auto close = library.Find<decltype(csi_proxy_close)>("csi_proxy_close");
  csi_proxy_node node = 0;
  ASSERT_EQ(open(CSI_PROXY_ABI_VERSION, nullptr, 0, nullptr, nullptr, &node, nullptr), 0);
  EXPECT_EQ(invoke(node, 0, "/v1.Disk/ListDiskIDs", nullptr, 0, -1, nullptr, nullptr), 0);
  EXPECT_EQ(close(node), 0);
}

TEST(LibraryLifeTest, TheLibraryWorksAfterItIsLoadedAgain) {
  for (int i = 0; i < 3; ++i) {
    const Library library;
    Use(library);
  }
}

// At the end of a thread, destructors of the library run, so its code must still be loaded.
TEST(LibraryLifeTest, AThreadEndsCleanlyAfterTheLibraryIsUnloaded) {
  std::thread([] {
    const Library library;
    Use(library);
  }).join();
  const Library again;
  Use(again);
}

// Exits the process while 16 threads make calls.
void CallToTheEnd() {
  const Library library;
  for (int i = 0; i < 16; ++i) {
    std::thread([&library] {
      while (true) Use(library);
    }).detach();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::exit(0);
}

TEST(LibraryLifeTest, TheProcessMayEndWhileThreadsCall) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (int i = 0; i < 5; ++i) EXPECT_EXIT(CallToTheEnd(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace csi_proxy::c
