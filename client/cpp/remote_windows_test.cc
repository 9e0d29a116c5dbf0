// Tests the owners of pipes that a client uses, how long a client keeps a pipe open, and how it
// detects a container.
#include <gmock/gmock.h>
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/container.h"
#include "client/cpp/link.h"
#include "client/cpp/misbehaving_server.h"
#include "client/cpp/remote_channel.h"
#include "server/pipe/pipe.h"
#include "server/platform/win32.h"

namespace csi_proxy::client {
namespace {

using testing::HasSubstr;

// The result of a call to a pipe with an owner in SDDL, and the bytes that the client sent.
struct Outcome {
  absl::Status status;
  DWORD sent = 0;
};

Outcome CallPipeOf(const char* owner) {
  static int next = 0;
  const std::string path =
      pipe::Path(absl::StrCat("csi-proxy-test-squatter-", GetCurrentProcessId(), "-", next++));
  auto security = pipe::Security::Parse(absl::StrCat("O:", owner, "D:P(A;;GA;;;WD)"));
  EXPECT_TRUE(security.ok()) << security.status();
  const auto calls = *pipe::NewPipeCalls(*std::move(security));
  // Makes two instances, because the check that the pipe exists uses one instance.
  const win32::UniqueHandle first(*calls->Create(path, pipe::Creation::kFirst));
  const win32::UniqueHandle second(*calls->Create(path, pipe::Creation::kFurther));
  const auto channel = RemoteChannel::OpenPath({}, path);
  if (!channel.ok()) return {channel.status()};
  google::protobuf::StringValue request, response;
  request.set_value("secret");
  Outcome outcome;
  outcome.status = (*channel)->Call("/v1.Smb/NewSmbGlobalMapping",
                                    MakeCallContext({}, {.timeout = absl::Milliseconds(300)}),
                                    request, &response);
  for (const auto* instance : {&first, &second}) {
    DWORD waiting = 0;
    PeekNamedPipe(instance->get(), nullptr, 0, nullptr, &waiting, nullptr);
    outcome.sent += waiting;
  }
  return outcome;
}

TEST(SquatterTest, APipeOfAnotherAccountReceivesNoBytes) {
  for (const char* owner : {"S-1-5-19", "S-1-5-32-544"}) {
    const Outcome outcome = CallPipeOf(owner);
    EXPECT_TRUE(absl::IsPermissionDenied(outcome.status)) << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(owner));
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(R"(\\.\pipe\csi-proxy-test)"));
    EXPECT_EQ(outcome.sent, 0u);
  }
}

TEST(SquatterTest, APipeOfSystemReceivesTheCall) {
  const Outcome outcome = CallPipeOf("SY");
  EXPECT_TRUE(absl::IsDeadlineExceeded(outcome.status)) << outcome.status;
  EXPECT_GT(outcome.sent, 0u) << "the test would not see what a squatter is sent";
}

// The Go release's listener never serves its first instance; neither does this test's server.
TEST(DeadInstanceTest, TheClientSkipsAPipeInstanceWithoutAServer) {
  const std::string path = pipe::Path(absl::StrCat("csi-proxy-test-dead-", GetCurrentProcessId()));
  const auto calls = *pipe::NewPipeCalls(*pipe::Security::ForServer("D:P(A;;GA;;;WD)"));
  // Checking that the pipe exists uses one instance.
  const win32::UniqueHandle first(*calls->Create(path, pipe::Creation::kFirst));
  const win32::UniqueHandle second(*calls->Create(path, pipe::Creation::kFurther));
  const MisbehavingServer server(path, Misbehaviour::kIgnoresCalls);
  const auto channel = RemoteChannel::OpenPath({}, path);
  ASSERT_TRUE(channel.ok()) << channel.status();
  const auto link = (*channel)->Connect(CallContext());
  EXPECT_TRUE(link.ok()) << link.status();
}

// The name of a pipe exists until its last handle is closed, so an open handle would keep a killed
// service from starting again.
TEST(IdleClientTest, AnIdleClientClosesThePipeOfADeadServer) {
  const std::string path = pipe::Path(absl::StrCat("csi-proxy-test-gone-", GetCurrentProcessId()));
  auto server = std::make_unique<MisbehavingServer>(path, Misbehaviour::kIgnoresCalls);
  const auto channel = RemoteChannel::OpenPath({}, path);
  ASSERT_TRUE(channel.ok()) << channel.status();
  std::weak_ptr<grpc::Channel> connection;
  {
    const auto link = (*channel)->Connect(CallContext());
    ASSERT_TRUE(link.ok()) << link.status();
    connection = (*link)->channel();
  }
  EXPECT_FALSE(connection.expired()) << "it is kept for the next call";
  server.reset();
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (!connection.expired() && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_TRUE(connection.expired());
}

TEST(ContainerWindowsTest, ARegistryValueShowsAContainer) {
  if (GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") == nullptr) {
    GTEST_SKIP() << "it would write to the registry of a real machine";
  }
  constexpr wchar_t kKey[] = L"SYSTEM\\CurrentControlSet\\Control", kValue[] = L"ContainerType";
  RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, kKey, kValue);
  const ContainerSigns outside = LookForContainer();
  EXPECT_EQ(outside.container_type, ContainerSigns::Value::kAbsent);
  EXPECT_EQ(outside.user_sid.substr(0, 4), "S-1-");
  const DWORD type = 2;
  ASSERT_EQ(RegSetKeyValueW(HKEY_LOCAL_MACHINE, kKey, kValue, REG_DWORD, &type, sizeof(type)),
            ERROR_SUCCESS);
  EXPECT_EQ(LookForContainer().container_type, ContainerSigns::Value::kPresent);
  EXPECT_EQ(RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, kKey, kValue), ERROR_SUCCESS);
}

}  // namespace
}  // namespace csi_proxy::client
