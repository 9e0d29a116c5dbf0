// Tests the session against a WMI that restarts.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "server/machine/windows/cim/testing/fake_wmi_fixture_windows.h"

namespace csi_proxy::cim {
namespace {

using ComSessionLostTest = FakeWmiTest;

TEST_F(ComSessionLostTest, QueriesAreRepeatedOnceAfterALostConnection) {
  for (const uint32_t lost :
       {hresult::kRpcServerUnavailable, hresult::kRpcDisconnected, hresult::kRpcCallFailed,
        hresult::kRpcCallFailedDne, hresult::kShuttingDown, hresult::kTransportFailure}) {
    connections_ = queries_ = 0;
    session_ = NewComSession();
    const auto answer = wmi_.query;
    wmi_.query = [&](const std::wstring& wql) {
      FakeReply reply = answer(wql);
      if (queries_ == 1) reply.end = Hr(lost);
      return reply;
    };
    const auto things = session_->Query({}, Namespace::kCimV2, cim::Query("Thing"));
    ASSERT_TRUE(things.ok()) << things.status();
    EXPECT_EQ(things->size(), 2u);
    EXPECT_EQ(queries_, 2);
    EXPECT_EQ(connections_, 2);
    wmi_.query = answer;
  }
  std::atomic<int> gets = 0;
  const auto answer = wmi_.get;
  wmi_.get = [&](const std::wstring& path) {
    FakeReply reply = answer(path);
    if (++gets == 1) reply.begin = Hr(hresult::kRpcServerUnavailable);
    return reply;
  };
  EXPECT_TRUE(Invoke("Make").ok());
  EXPECT_EQ(gets, 2);
}

TEST_F(ComSessionLostTest, AConnectionThatStaysLostIsUnavailable) {
  wmi_.query = [&](auto&&...) {
    ++queries_;
    FakeReply reply;
    reply.begin = Hr(hresult::kRpcServerUnavailable);
    return reply;
  };
  EXPECT_EQ(Query().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(queries_, 2);
  wmi_.connect = [&](auto&&...) {
    ++connections_;
    return Hr(hresult::kRpcServerUnavailable);
  };
  connections_ = 0;
  EXPECT_EQ(Query({}, Namespace::kSmb).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(connections_, 2);
}

TEST_F(ComSessionLostTest, AQueryThatFailsOnAWorkingConnectionIsNotRepeated) {
  wmi_.query = [&](auto&&...) {
    ++queries_;
    FakeReply reply;
    reply.end = WBEM_E_PROVIDER_FAILURE;
    return reply;
  };
  EXPECT_FALSE(Query().ok());
  EXPECT_EQ(queries_, 1);
  EXPECT_EQ(connections_, 1);
}

TEST_F(ComSessionLostTest, AMethodIsRepeatedIfItCannotHaveRun) {
  for (const uint32_t lost :
       {hresult::kRpcServerUnavailable, hresult::kRpcDisconnected, hresult::kRpcCallFailedDne}) {
    connections_ = calls_ = definitions_ = 0;
    session_ = NewComSession();
    const auto answer = wmi_.method;
    wmi_.method = [&](auto&&... arguments) {
      FakeReply reply = answer(arguments...);
      if (calls_ == 1) reply.begin = Hr(lost);
      return reply;
    };
    EXPECT_TRUE(Invoke("Make").ok());
    EXPECT_EQ(calls_, 2);
    EXPECT_EQ(connections_, 2);
    EXPECT_EQ(definitions_, 2) << "class definitions outlive their connection";
    wmi_.method = answer;
  }
}

TEST_F(ComSessionLostTest, AMethodIsRepeatedIfConnectingOrReadingItsClassFailed) {
  wmi_.connect = [&](auto&&...) {
    return ++connections_ == 1 ? Hr(hresult::kRpcServerUnavailable) : S_OK;
  };
  EXPECT_TRUE(Invoke("Make").ok());
  EXPECT_EQ(connections_, 2);
  session_ = NewComSession();
  const auto answer = wmi_.get;
  std::atomic<int> gets = 0;
  wmi_.get = [&](const std::wstring& path) {
    FakeReply reply = answer(path);
    if (++gets == 1) reply.end = Hr(hresult::kRpcCallFailed);
    return reply;
  };
  EXPECT_TRUE(Invoke("Make").ok());
  EXPECT_EQ(calls_, 2);
}

TEST_F(ComSessionLostTest, AMethodIsNotRepeatedIfItMayHaveRun) {
  struct Loss {
    HRESULT begin;
    HRESULT end;
  };
  const auto answer = wmi_.method;
  for (const Loss& loss :
       {Loss{Hr(hresult::kRpcCallFailed), 0}, Loss{Hr(hresult::kShuttingDown), 0},
        Loss{Hr(hresult::kTransportFailure), 0}, Loss{0, Hr(hresult::kRpcServerUnavailable)},
        Loss{0, Hr(hresult::kRpcDisconnected)}, Loss{0, Hr(hresult::kRpcCallFailedDne)}}) {
    connections_ = calls_ = 0;
    session_ = NewComSession();
    wmi_.method = [&](auto&&... arguments) {
      FakeReply reply = answer(arguments...);
      reply.begin = loss.begin;
      reply.end = loss.end;
      return reply;
    };
    EXPECT_EQ(Invoke("Make").status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(calls_, 1);
    EXPECT_EQ(connections_, 1);
    wmi_.method = answer;
    EXPECT_TRUE(Invoke("Make").ok());
    EXPECT_EQ(connections_, 2);
  }
}

}  // namespace
}  // namespace csi_proxy::cim
