// Tests the session against the WMI of the test's machine: Wine's or Windows' own.
#include "server/machine/windows/cim/com_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <windows.h>
// The headers below must follow windows.h.
#include <psapi.h>
#include <wbemidl.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::cim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kService[] = "PlugPlay";
constexpr char kServicePath[] = "Win32_Service.Name=\"PlugPlay\"";

class ComSessionTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<Object>> Query(const cim::Query& query) {
    return session_->Query({}, Namespace::kCimV2, query);
  }

  std::unique_ptr<Session> session_ = NewComSession();
};

TEST_F(ComSessionTest, TheBiosCanBeQueried) {
  const auto found = Query(cim::Query("Win32_BIOS"));
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  const Object& bios = (*found)[0];
  EXPECT_EQ(bios.class_name(), "Win32_BIOS");
  EXPECT_THAT(bios.path(), StartsWith("Win32_BIOS."));
  EXPECT_TRUE(bios.Has("SerialNumber"));
  EXPECT_EQ(bios.Get("SMBIOSMajorVersion")->type(), Type::kUint16);
  EXPECT_EQ(bios.Get("ReleaseDate")->type(), Type::kDatetime);
  EXPECT_EQ(bios.Get("CurrentLanguage")->type(), Type::kString);
  for (const auto& [name, value] : bios.properties()) EXPECT_THAT(name, Not(StartsWith("__")));
}

TEST_F(ComSessionTest, ACallOnASingleThreadedApartmentIsRefused) {
  absl::Status status;
  std::thread([&] {
    ASSERT_EQ(CoInitializeEx(nullptr, COINIT_APARTMENTTHREADED), S_OK);
    status = Query(cim::Query("Win32_BIOS")).status();
    CoUninitialize();
  }).join();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("single-threaded"));
}

TEST_F(ComSessionTest, AServiceIsFoundByAQueryAndInAListing) {
  const auto chosen = Query(cim::Query("Win32_Service").Where("Name", Value::String(kService)));
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  ASSERT_EQ(chosen->size(), 1u);
  EXPECT_EQ((*chosen)[0].path(), kServicePath);
  EXPECT_EQ((*chosen)[0].GetString("State").value(), "Running");
  EXPECT_EQ((*chosen)[0].GetBoolean("AcceptStop").value(), true);
  EXPECT_GT((*chosen)[0].GetUint32("ProcessId").value(), 0u);
  const auto all = Query(cim::Query("Win32_Service"));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_GT(all->size(), 5u);
  EXPECT_THAT(*all, ::testing::Contains((*chosen)[0]));
}

TEST_F(ComSessionTest, UnknownClassesAndMethodsAreErrorsAndAQueryMayFindNoObject) {
  EXPECT_EQ(HresultOf(session_->Invoke({}, Namespace::kCimV2, "Win32_Nope", "Nope").status()),
            hresult::kInvalidClass);
  const auto none = Query(cim::Query("Win32_Service").Where("Name", Value::String("nope")));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->empty());
  // Windows reports an unknown class. Wine returns no objects instead.
  const auto nothing = Query(cim::Query("Win32_Nope"));
  EXPECT_TRUE(nothing.ok() ? nothing->empty()
                           : HresultOf(nothing.status()) == hresult::kInvalidClass);
  EXPECT_EQ(HresultOf(session_->Invoke({}, Namespace::kCimV2, "StdRegProv", "Nope").status()),
            hresult::kInvalidMethod);
}

TEST_F(ComSessionTest, AMalformedQueryIsAnError) {
  const absl::Status status = Query(cim::Query("SELECT")).status();
  EXPECT_THAT(HresultOf(status),
              ::testing::AnyOf(hresult::kInvalidQuery, uint32_t{WBEM_E_UNPARSABLE_QUERY}));
  EXPECT_THAT(std::string(status.message()), HasSubstr("SELECT * FROM SELECT"));
}

// Wine lacks this namespace.
TEST_F(ComSessionTest, AnAbsentNamespaceIsUnimplemented) {
  const absl::Status status =
      session_->Query({}, Namespace::kSmb, cim::Query("MSFT_SmbGlobalMapping")).status();
  if (status.ok()) GTEST_SKIP() << "this machine has it";
  EXPECT_EQ(HresultOf(status), hresult::kInvalidNamespace);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr(R"(ROOT\Microsoft\Windows\SMB)"));
  EXPECT_TRUE(Query(cim::Query("Win32_BIOS")).ok());
}

// Passes HKEY_LOCAL_MACHINE as sint32, as Wine declares the parameter. Windows declares it as
// uint32. The bits are the same.
TEST_F(ComSessionTest, AStaticMethodCanBeCalled) {
  const auto result =
      session_->Invoke({}, Namespace::kCimV2, "StdRegProv", "EnumKey",
                       {{"hDefKey", Value::Signed(Type::kSint32, static_cast<int32_t>(0x80000002))},
                        {"sSubKeyName", Value::String("Software\\Microsoft")}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->return_value, 0u);
  EXPECT_FALSE(result->out.Has("ReturnValue"));
  const auto names = result->out.Get("sNames")->AsArray();
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ::testing::Contains(Value::String("Windows NT")));
}

TEST_F(ComSessionTest, AnInstancesMethodCanBeCalled) {
  const auto result = session_->Invoke({}, Namespace::kCimV2, kServicePath, "StartService");
  ASSERT_TRUE(result.ok()) << result.status();
  // The service runs already (learn.microsoft.com/windows/win32/cimwin32prov/
  // startservice-method-in-class-win32-service).
  EXPECT_EQ(result->return_value, 10u);
}

TEST_F(ComSessionTest, ErrorsNameAWrongParameterButNotItsValue) {
  const auto message = [&](const Arguments& arguments) {
    return std::string(session_->Invoke({}, Namespace::kCimV2, "StdRegProv", "EnumKey", arguments)
                           .status()
                           .message());
  };
  EXPECT_THAT(message({{"Nope", Value::String("hunter2")}}),
              AllOf(HasSubstr("StdRegProv.EnumKey(Nope)"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(message({{"hDefKey", Value::String("hunter2")}}),
              AllOf(HasSubstr("StdRegProv.EnumKey(hDefKey)"), Not(HasSubstr("hunter2"))));
}

TEST_F(ComSessionTest, AnExpiredOrCancelledQueryFails) {
  absl::Notification cancelled;
  cancelled.Notify();
  EXPECT_EQ(session_
                ->Query(CallContext().WithTimeout(-absl::Seconds(1)), Namespace::kCimV2,
                        cim::Query("Win32_BIOS"))
                .status()
                .code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(session_
                ->Query(CallContext(absl::InfiniteFuture(), &cancelled, nullptr), Namespace::kCimV2,
                        cim::Query("Win32_BIOS"))
                .status()
                .code(),
            absl::StatusCode::kCancelled);
}

// The threads have not joined an apartment. They query one at a time, because Wine's tables do not
// allow two readers. com_session_faults_test.cc runs threads concurrently.
TEST_F(ComSessionTest, ManyThreadsCanQueryInTurn) {
  std::mutex turn;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        const std::lock_guard lock(turn);
        const auto found = Query(cim::Query("Win32_BIOS"));
        ASSERT_TRUE(found.ok()) << found.status();
        ASSERT_EQ(found->size(), 1u);
        ASSERT_TRUE((*found)[0].Has("SerialNumber"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Usage {
  DWORD handles = 0;
  size_t bytes = 0;
};

Usage CurrentUsage() {
  Usage usage;
  GetProcessHandleCount(GetCurrentProcess(), &usage.handles);
  PROCESS_MEMORY_COUNTERS counters = {};
  GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters));
  usage.bytes = counters.PagefileUsage;
  return usage;
}

TEST_F(ComSessionTest, QueriesLeakNoHandlesOrMemory) {
  const auto ask = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(Query(cim::Query("Win32_BIOS")).ok());
      ASSERT_FALSE(Query(cim::Query("SELECT")).ok());
    }
  };
  ask(100);
  const Usage before = CurrentUsage();
  ask(2000);
  const Usage after = CurrentUsage();
  EXPECT_LE(after.handles, before.handles + 5);
  // Less than 500 bytes for each round of two queries.
  EXPECT_LT(after.bytes, before.bytes + 1'000'000);
}

}  // namespace
}  // namespace csi_proxy::cim
