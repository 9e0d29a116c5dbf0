// Tests that the session leaks no memory, and leaves no secrets in the blocks that it frees.
#include <gtest/gtest.h>

#include <atomic>
#include <cwchar>
#include <string>

#include "absl/time/time.h"
#include "server/machine/windows/cim/testing/fake_wmi_fixture_windows.h"

namespace csi_proxy::cim {
namespace {

constexpr wchar_t kSecret[] = L"hunter2hunter2hunter2";

// Observes COM's allocations, which include BSTRs. The one Spy is never destroyed, because COM
// releases a spy only after all blocks that the spy has seen are free.
class Spy : public IMallocSpy {
 public:
  static Spy& Get() {
    static Spy* const spy = [] {
      Spy* const made = new Spy;
      EXPECT_EQ(CoRegisterMallocSpy(made), S_OK);
      // Wine can search its list of spied blocks only after the list has an entry.
      CoTaskMemFree(CoTaskMemAlloc(1));
      return made;
    }();
    return *spy;
  }

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    *out = iid == IID_IUnknown || iid == IID_IMallocSpy ? this : nullptr;
    return *out != nullptr ? S_OK : E_NOINTERFACE;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return 1; }
  ULONG STDMETHODCALLTYPE Release() override { return 1; }
  SIZE_T STDMETHODCALLTYPE PreAlloc(SIZE_T size) override { return size; }
  void* STDMETHODCALLTYPE PostAlloc(void* block) override {
    ++blocks;
    return block;
  }
  void* STDMETHODCALLTYPE PreFree(void* block, BOOL spied) override {
    if (!spied) return block;
    --blocks;
    const SIZE_T size = HeapSize(GetProcessHeap(), 0, block);
    if (size != static_cast<SIZE_T>(-1) && size > 100'000) {
      ++large_blocks_freed;
      const std::wstring_view text(static_cast<const wchar_t*>(block), size / sizeof(wchar_t));
      if (text.find(kSecret) != std::wstring_view::npos) ++secrets_freed;
    }
    return block;
  }
  void STDMETHODCALLTYPE PostFree(BOOL) override {}
  SIZE_T STDMETHODCALLTYPE PreRealloc(void* block, SIZE_T size, void** now, BOOL) override {
    *now = block;
    return size;
  }
  void* STDMETHODCALLTYPE PostRealloc(void* block, BOOL) override { return block; }
  void* STDMETHODCALLTYPE PreGetSize(void* block, BOOL) override { return block; }
  SIZE_T STDMETHODCALLTYPE PostGetSize(SIZE_T size, BOOL) override { return size; }
  void* STDMETHODCALLTYPE PreDidAlloc(void* block, BOOL) override { return block; }
  int STDMETHODCALLTYPE PostDidAlloc(void*, BOOL, int actual) override { return actual; }
  void STDMETHODCALLTYPE PreHeapMinimize() override {}
  void STDMETHODCALLTYPE PostHeapMinimize() override {}

  std::atomic<int64_t> blocks = 0;
  std::atomic<int64_t> large_blocks_freed = 0;
  std::atomic<int64_t> secrets_freed = 0;
};

class ComSessionMemoryTest : public FakeWmiTest {
 protected:
  Spy& spy_ = Spy::Get();
};

// The secret is large, because COM caches small BSTRs instead of freeing them.
TEST_F(ComSessionMemoryTest, SecretsAreWipedBeforeTheirMemoryIsFreed) {
  std::string secret;
  while (secret.size() < 200'000) secret += "hunter2";
  const Arguments arguments = {{"Password", Value::String(secret)},
                               {"Paths", Value::Array(Type::kString, {Value::String(secret)})}};
  int64_t freed = spy_.large_blocks_freed;
  EXPECT_TRUE(Invoke("Make", arguments).ok());
  // COM has freed at least our own blocks: one for the text, and two for the array's element.
  EXPECT_GE(spy_.large_blocks_freed, freed + 3);
  wmi_.method = [](auto&&...) {
    FakeReply reply;
    reply.begin = WBEM_E_FAILED;
    return reply;
  };
  freed = spy_.large_blocks_freed;
  EXPECT_FALSE(Invoke("Make", arguments).ok());
  EXPECT_FALSE(Invoke("Make", {{"Password", Value::String(secret + std::string(1, '\0'))}}).ok());
  EXPECT_GE(spy_.large_blocks_freed, freed + 4);
  EXPECT_EQ(spy_.secrets_freed, 0);
}

TEST_F(ComSessionMemoryTest, TheTestDetectsSecretsThatAreNotWiped) {
  std::wstring secret;
  while (secret.size() < 200'000) secret += kSecret;
  const int64_t before = spy_.secrets_freed;
  SysFreeString(SysAllocString(secret.c_str()));
  EXPECT_EQ(spy_.secrets_freed, before + 1);
  spy_.secrets_freed = before;
}

// Repeats calls that succeed, fail, are refused, lose the connection or reach the deadline.
TEST_F(ComSessionMemoryTest, SuccessfulAndFailedCallsLeakNoMemory) {
  wmi_.query = [query = wmi_.query](const std::wstring& wql) {
    FakeReply reply = query(wql);
    reply.error = FakeObject::New(L"__ExtendedStatus");
    reply.error->Set(L"Description", "what WMI says");
    if (wql == L"SELECT * FROM Refused") reply.begin = WBEM_E_INVALID_CLASS;
    if (wql == L"SELECT * FROM Broken") reply.end = WBEM_E_FAILED;
    if (wql == L"SELECT * FROM Lost") reply.end = static_cast<HRESULT>(hresult::kRpcCallFailed);
    reply.hangs = wql == L"SELECT * FROM Hung";
    return reply;
  };
  wmi_.method = [method = wmi_.method](const std::wstring& path, const std::wstring& name,
                                       FakeObject* in) {
    FakeReply reply = method(path, name, in);
    reply.objects[0]->Declare(L"Child", CIM_OBJECT);
    if (name == L"Plain") reply.end = WBEM_E_FAILED;
    reply.hangs = path == L"Thing.Name=\"hung\"";
    return reply;
  };
  const auto round = [&] {
    const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(2));
    const auto query = [&](absl::string_view name, const CallContext& context) {
      return session_->Query(context, Namespace::kCimV2, cim::Query(name)).status().code();
    };
    ASSERT_EQ(query("Thing", {}), absl::StatusCode::kOk);
    ASSERT_EQ(query("Refused", {}), absl::StatusCode::kUnimplemented);
    ASSERT_EQ(query("Broken", {}), absl::StatusCode::kInternal);
    ASSERT_EQ(query("Lost", {}), absl::StatusCode::kUnavailable);
    ASSERT_EQ(query("Hung", soon), absl::StatusCode::kDeadlineExceeded);
    ASSERT_FALSE(session_->Invoke({}, Namespace::kCimV2, "Nothing.Name=\"y\"", "Make").ok());
    const Value paths = Value::Array(Type::kString, {Value::String("a"), Value::String("b")});
    ASSERT_TRUE(Invoke("Make", {{"Password", Value::String("hunter2")}, {"Paths", paths}}).ok());
    ASSERT_FALSE(Invoke("Make", {{"Password", paths}, {"Paths", paths}}).ok());
    ASSERT_FALSE(Invoke("Make", {{"Paths", paths}, {"Size", Value::Boolean(true)}}).ok());
    ASSERT_FALSE(Invoke("Plain").ok());
    ASSERT_EQ(session_
                  ->Invoke(CallContext().WithTimeout(absl::Milliseconds(20)), Namespace::kCimV2,
                           "Thing.Name=\"hung\"", "Make")
                  .status()
                  .code(),
              absl::StatusCode::kDeadlineExceeded);
  };
  for (int i = 0; i < 20; ++i) round();
  const int64_t blocks = spy_.blocks;
  for (int i = 0; i < 200; ++i) round();
  EXPECT_LT(spy_.blocks, blocks + 100);
}

}  // namespace
}  // namespace csi_proxy::cim
