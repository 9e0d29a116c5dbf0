// Attacks the shipped program through a pipe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
// psapi.h and winternl.h need windows.h first.
#include <windows.h>
// clang-format off
#include <psapi.h>
#include <winternl.h>
// clang-format on

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "integration/support/server_process.h"
#include "server/platform/win32.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/rpc/preface.h"

namespace csi_proxy::integration {
namespace {

constexpr char kPipe[] = R"(\\.\pipe\csi-proxy-filesystem-v1)";

// Returns the number of handles of a process. Under Wine it is the capacity of the handle table (a
// power of two), because Wine's GetProcessHandleCount returns 0.
DWORD HandleRoom(const win32::UniqueHandle& process) {
  std::vector<char> buffer(1 << 20);
  ULONG needed = 0;
  EXPECT_EQ(NtQuerySystemInformation(SystemProcessInformation, buffer.data(),
                                     static_cast<ULONG>(buffer.size()), &needed),
            0);
  const DWORD pid = GetProcessId(process.get());
  const char* place = buffer.data();
  while (true) {
    const auto* const one = reinterpret_cast<const SYSTEM_PROCESS_INFORMATION*>(place);
    if (reinterpret_cast<uintptr_t>(one->UniqueProcessId) == pid) return one->HandleCount;
    if (one->NextEntryOffset == 0) break;
    place += one->NextEntryOffset;
  }
  ADD_FAILURE() << "no process " << pid;
  return 0;
}

size_t WorkingSet(const win32::UniqueHandle& process) {
  PROCESS_MEMORY_COUNTERS counters{};
  EXPECT_TRUE(GetProcessMemoryInfo(process.get(), &counters, sizeof(counters)));
  return counters.WorkingSetSize;
}

win32::UniqueHandle Dial() {
  for (int i = 0; i < 500; ++i) {
    win32::UniqueHandle pipe(CreateFileW(win32::Utf16(kPipe).c_str(), GENERIC_READ | GENERIC_WRITE,
                                         0, nullptr, OPEN_EXISTING, 0, nullptr));
    if (pipe.valid()) return pipe;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return win32::UniqueHandle();
}

bool Send(const win32::UniqueHandle& pipe, absl::string_view data) {
  DWORD written = 0;
  return WriteFile(pipe.get(), data.data(), static_cast<DWORD>(data.size()), &written, nullptr) &&
         written == data.size();
}

// Reads until the server ends the connection, at most a minute. Returns true if the server
// disconnected the pipe: on Windows, a server end that is merely closed keeps the pipe's name in
// use.
bool Disconnected(const win32::UniqueHandle& pipe) {
  const absl::Time end = absl::Now() + absl::Minutes(1);
  DWORD waiting = 0;
  while (PeekNamedPipe(pipe.get(), nullptr, 0, nullptr, &waiting, nullptr)) {
    char buffer[4096];
    DWORD read = 0;
    if (waiting > 0 && !ReadFile(pipe.get(), buffer, sizeof(buffer), &read, nullptr)) break;
    if (absl::Now() > end) {
      ADD_FAILURE() << "the server has not ended the connection";
      return false;
    }
    if (waiting == 0) absl::SleepFor(absl::Milliseconds(10));
  }
  return GetLastError() == ERROR_PIPE_NOT_CONNECTED;
}

class PipeAbuseTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> flags) {
    flags.push_back("--pipe-sddl=D:P(A;;GA;;;WD)");
    auto server = ServerProcess::Start(flags);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    process_.Reset(OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE,
                               static_cast<DWORD>(server_->pid())));
    ASSERT_TRUE(process_.valid());
  }

  static absl::Status Call(const filesystem::v1::Client& client) {
    filesystem::v1::PathExistsRequest request;
    request.set_path(R"(C:\var\lib\kubelet)");
    return client.PathExists(request).status();
  }
  absl::Status CallOnce() {
    const filesystem::v1::Client client(Connect(server_->client_options()).value());
    return Call(client);
  }

  // Makes a call from another process, which the service treats as another client. Returns true if
  // the call succeeded.
  bool OtherClientIsServed() {
    auto other = ChildProcess::Start({CSI_PROXYCTL_BINARY, "filesystem", "path-exists", "--api=v1",
                                      R"(--path=C:\var\lib\kubelet)", "--timeout=20s"},
                                     server_->directory() + ".other");
    EXPECT_TRUE(other.ok()) << other.status();
    return other.ok() && (*other)->Wait(absl::Seconds(30)) == 0;
  }

  std::unique_ptr<ServerProcess> server_;
  win32::UniqueHandle process_;
};

TEST_F(PipeAbuseTest, AbandonedConnectionsUseLittleMemoryAndEndAtTheDeadline) {
  // Fewer than the connections that one tenant may have.
  constexpr size_t kAbandoned = 4000;
  Start({"--preface-timeout=30s", "--max-connections=6000", "--client-share=100"});
  ASSERT_TRUE(CallOnce().ok());
  const size_t memory = WorkingSet(process_);
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      const filesystem::v1::Client client(Connect(server_->client_options()).value());
      while (!stop) {
        const absl::Status status = Call(client);
        ASSERT_TRUE(status.ok()) << status;
        ++calls;
      }
    });
  }
  std::vector<win32::UniqueHandle> abandoned;
  while (abandoned.size() < kAbandoned) {
    abandoned.push_back(Dial());
    ASSERT_TRUE(abandoned.back().valid()) << abandoned.size();
  }
  const size_t grown = WorkingSet(process_) - std::min(memory, WorkingSet(process_));
  RecordProperty("bytes_per_idle_connection", static_cast<int>(grown / kAbandoned));
  std::cout << grown / kAbandoned << " bytes per idle connection" << std::endl;
  EXPECT_LE(grown / kAbandoned, 20u << 10);
  // all_of stops at the first connection that is not ended, so the test waits only once.
  EXPECT_TRUE(std::all_of(abandoned.begin(), abandoned.end(), Disconnected));
  std::cout << "their deadline has passed" << std::endl;
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(calls, 100);
  // New connections reuse the handles of the ended ones.
  const DWORD room = HandleRoom(process_);
  abandoned.clear();
  ASSERT_GT(room, kAbandoned);
  while (abandoned.size() < room - kAbandoned) abandoned.push_back(Dial());
  EXPECT_EQ(HandleRoom(process_), room) << "no handle leaks";
}

TEST_F(PipeAbuseTest, IdleConnectionsOfOneClientDoNotBlockOtherClients) {
  Start({});
  const std::string begin =
      absl::StrCat(rpc::kHttp2Preface, absl::string_view("\0\0\0\4\0\0\0\0\0", 9));
  std::vector<win32::UniqueHandle> idle;
  int ended = 0;
  while (idle.size() < 1100) {
    idle.push_back(Dial());
    ASSERT_TRUE(idle.back().valid()) << idle.size();
    // Beyond the client's share, the service may end one of the client's connections early.
    if (!Send(idle.back(), begin)) ++ended;
  }
  std::cout << ended << " of 1100 ended at once\n";
  EXPECT_LT(ended, 100);
  for (int i = 0; i < 3; ++i) {
    const absl::Time start = absl::Now();
    EXPECT_TRUE(OtherClientIsServed());
    EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  }
  // Old connections were evicted and recent ones live. Some recent ones may be gone too, because
  // the service may accept nearly simultaneous connections in another order.
  EXPECT_TRUE(Disconnected(idle.front()));
  EXPECT_TRUE(std::any_of(idle.end() - 10, idle.end(), [](const win32::UniqueHandle& pipe) {
    return Send(pipe, absl::string_view("\0\0\0\4\1\0\0\0\0", 9));
  }));
}

// Proves only that the service restarts: Wine frees a name that only clients keep open, but Windows
// does not. The model in server/pipe/testing behaves like Windows.
TEST_F(PipeAbuseTest, TheServiceRestartsWhileClientsKeepTheirPipesOpen) {
  Start({});
  std::vector<win32::UniqueHandle> kept;
  for (int i = 0; i < 100; ++i) {
    kept.push_back(Dial());
    ASSERT_TRUE(kept.back().valid()) << i;
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(server_->Restart().ok()) << server_->Log();
    EXPECT_TRUE(CallOnce().ok());
  }
}

TEST_F(PipeAbuseTest, ClientsThatDisconnectDuringACallLeakNoMemory) {
  Start({});
  ASSERT_TRUE(CallOnce().ok());
  ASSERT_TRUE(server_->InjectFault("operation: 'filesystem.PathExists' latency_ms: 50").ok());
  for (int i = 0; i < 10; ++i) (void)CallOnce();
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const auto vanish = [&](DWORD times) {
    for (DWORD i = 0; i < times; ++i) {
      const win32::UniqueHandle pipe = Dial();
      ASSERT_TRUE(pipe.valid()) << i;
      ASSERT_TRUE(Send(pipe, absl::StrCat(rpc::kHttp2Preface, settings)));
      // This client abandons a call that the service is executing.
      const filesystem::v1::Client client(Connect(server_->client_options()).value());
      filesystem::v1::PathExistsRequest request;
      request.set_path(R"(C:\var\lib\kubelet)");
      const absl::Status status =
          client.PathExists(request, {.timeout = absl::Milliseconds(5)}).status();
      ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    }
  };
  vanish(200);
  const DWORD room = HandleRoom(process_);
  vanish(room);
  EXPECT_EQ(HandleRoom(process_), room) << "no handle leaks";
  EXPECT_TRUE(CallOnce().ok());
}

// Returns the header block of a PathExists: :method POST, :scheme http, :path, te (RFC 7541,
// appendix A).
std::string HeadersOfCall() {
  const std::string path = "/v1.Filesystem/PathExists";
  return absl::StrCat("\x83\x86\x04", std::string(1, static_cast<char>(path.size())), path,
                      absl::string_view("\0\x02te\x08trailers", 13));
}

// The session's tests have the other floods.
TEST_F(PipeAbuseTest, AClientThatReadsNoAnswersIsBarred) {
  Start({});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(CallOnce().ok());
  const size_t before = WorkingSet(process_);
  const std::string headers = HeadersOfCall();
  std::vector<win32::UniqueHandle> pipes;
  int ended = 0;
  for (int i = 0; i < 40; ++i) {
    pipes.push_back(Dial());
    ASSERT_TRUE(pipes.back().valid()) << i;
    bool open =
        Send(pipes.back(), absl::StrCat(rpc::kHttp2Preface, rpc::Frame(rpc::kSettings, 0, 0, "")));
    uint32_t stream = 1;
    for (; open && stream < 20000; stream += 2) {
      open = Send(pipes.back(),
                  absl::StrCat(rpc::Frame(rpc::kHeaders, rpc::kEndHeaders, stream, headers),
                               rpc::Frame(rpc::kData, rpc::kEndStream, stream,
                                          absl::string_view("\0\0\0\0\0", 5))));
    }
    if (!open) ++ended;
  }
  std::cout << WorkingSet(process_) / 1024 << " KiB against " << before / 1024 << '\n';
  EXPECT_EQ(ended, 40);
  EXPECT_LT(WorkingSet(process_), before + (size_t{60} << 20));
  // About eight connections reach the limit of unread frames before the client is barred.
  EXPECT_THAT(server_->Log(), testing::AllOf(testing::HasSubstr("control_frames (1 so far)"),
                                             testing::Not(testing::HasSubstr("(16 so far)"))));
  EXPECT_TRUE(OtherClientIsServed());
}

}  // namespace
}  // namespace csi_proxy::integration
