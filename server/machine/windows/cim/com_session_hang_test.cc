// Tests the session against a WMI that hangs: deadlines, cancellation, and concurrent calls.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/machine/windows/cim/testing/fake_wmi_fixture_windows.h"

namespace csi_proxy::cim {
namespace {

// No call of these tests should take this long. WMI's own limit is two minutes.
constexpr absl::Duration kSoon = absl::Seconds(2);

FakeReply Hanging() {
  FakeReply reply;
  reply.hangs = true;
  return reply;
}

class ComSessionHangTest : public FakeWmiTest {
 protected:
  // Expects `call` to fail with `code`. Returns the time that `call` took.
  template <typename Call>
  absl::Duration Time(absl::StatusCode code, const Call& call) {
    const absl::Time start = absl::Now();
    const absl::Status status = call();
    EXPECT_EQ(status.code(), code) << status;
    return absl::Now() - start;
  }
};

TEST_F(ComSessionHangTest, CallsEndAtTheDeadline) {
  wmi_.query = [](auto&&...) { return Hanging(); };
  wmi_.method = [](auto&&...) { return Hanging(); };
  const auto context = [] { return CallContext().WithTimeout(absl::Milliseconds(250)); };
  for (const absl::Duration took :
       {Time(absl::StatusCode::kDeadlineExceeded, [&] { return Query(context()); }),
        Time(absl::StatusCode::kDeadlineExceeded,
             [&] { return Invoke("Make", {}, context()).status(); })}) {
    EXPECT_GE(took, absl::Milliseconds(200));
    EXPECT_LT(took, kSoon);
  }
}

TEST_F(ComSessionHangTest, CallsEndWhenCancelled) {
  wmi_.query = [](auto&&...) { return Hanging(); };
  wmi_.method = [](auto&&...) { return Hanging(); };
  for (const bool query : {true, false}) {
    absl::Notification cancelled;
    const CallContext context(absl::InfiniteFuture(), &cancelled, nullptr);
    std::thread canceller([&] {
      absl::SleepFor(absl::Milliseconds(200));
      cancelled.Notify();
    });
    const absl::Duration took = Time(absl::StatusCode::kCancelled, [&] {
      return query ? Query(context) : Invoke("Make", {}, context).status();
    });
    canceller.join();
    EXPECT_LT(took, kSoon);
  }
}

TEST_F(ComSessionHangTest, AnExpiredOrCancelledCallDoesNotReachWmi) {
  const CallContext late = CallContext().WithTimeout(-absl::Seconds(1));
  absl::Notification cancelled;
  cancelled.Notify();
  const CallContext gone(absl::InfiniteFuture(), &cancelled, nullptr);
  EXPECT_EQ(Query(late).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Query(gone).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Invoke("Make", {}, late).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(connections_, 0);
}

TEST_F(ComSessionHangTest, AMethodDoesNotStartAfterTheDeadline) {
  wmi_.get = [get = wmi_.get](const std::wstring& path) {
    absl::SleepFor(absl::Milliseconds(300));
    FakeReply reply = get(path);
    reply.at_once = true;
    return reply;
  };
  EXPECT_EQ(Invoke("Make", {}, CallContext().WithTimeout(absl::Milliseconds(200))).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(definitions_, 1);
  EXPECT_EQ(calls_, 0);
}

TEST_F(ComSessionHangTest, AHungCallDoesNotDelayOtherCalls) {
  wmi_.query = [query = wmi_.query](const std::wstring& wql) {
    return wql == L"SELECT * FROM Hung" ? Hanging() : query(wql);
  };
  wmi_.method = [method = wmi_.method](const std::wstring& path, const std::wstring& name,
                                       FakeObject* in) {
    return name == L"Plain" ? Hanging() : method(path, name, in);
  };
  absl::Notification cancelled;
  const CallContext context(absl::InfiniteFuture(), &cancelled, nullptr);
  std::thread query([&] {
    EXPECT_EQ(session_->Query(context, Namespace::kCimV2, cim::Query("Hung")).status().code(),
              absl::StatusCode::kCancelled);
  });
  std::thread method([&] {
    EXPECT_EQ(Invoke("Plain", {}, context).status().code(), absl::StatusCode::kCancelled);
  });
  absl::SleepFor(absl::Milliseconds(100));
  const absl::Time start = absl::Now();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Query().ok());
    EXPECT_TRUE(Invoke("Make").ok());
  }
  EXPECT_LT(absl::Now() - start, kSoon);
  cancelled.Notify();
  query.join();
  method.join();
}

TEST_F(ComSessionHangTest, AHungConnectDoesNotDelayOtherNamespaces) {
  absl::Notification end;
  wmi_.connect = [&](const std::wstring& space) {
    if (space == L"ROOT\\Microsoft\\Windows\\Storage") end.WaitForNotification();
    return S_OK;
  };
  std::thread patient([&] { EXPECT_TRUE(Query({}, Namespace::kStorage).ok()); });
  for (int i = 0; i < 2; ++i) {
    EXPECT_LT(Time(absl::StatusCode::kDeadlineExceeded,
                   [&] {
                     return Query(CallContext().WithTimeout(absl::Milliseconds(200)),
                                  Namespace::kStorage);
                   }),
              kSoon);
    EXPECT_TRUE(Query(CallContext().WithTimeout(kSoon), Namespace::kCimV2).ok());
  }
  end.Notify();
  patient.join();
}

}  // namespace
}  // namespace csi_proxy::cim
