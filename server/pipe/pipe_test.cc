#include "server/pipe/pipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/ready_events_testing.h"
#include "server/names/win32_error.h"
#include "server/platform/token_windows.h"

namespace csi_proxy::pipe {
namespace {

using testing::HasSubstr;

constexpr char kOpenToAll[] = "D:P(A;;GA;;;WD)";

std::string UniquePath() {
  static int next = 0;
  return Path(absl::StrCat("csi-proxy-test-", GetCurrentProcessId(), "-", next++));
}

// Waits for one operation of a stream.
class Awaiter {
 public:
  static void Done(void* self, DWORD error, DWORD bytes) {
    auto* const awaiter = static_cast<Awaiter*>(self);
    std::lock_guard lock(awaiter->mutex_);
    awaiter->result_ = {.error = error, .bytes = bytes};
    awaiter->done_ = true;
    awaiter->changed_.notify_all();
  }
  Stream::Result Await(bool at_once, const Stream::Result& result) {
    if (at_once) return result;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Stream::Result result_;
};

Stream::Result Read(Stream& stream, std::string* out, size_t size = 1 << 16) {
  out->resize(size);
  Awaiter awaiter;
  Stream::Result result;
  const bool at_once =
      stream.Read(out->data(), static_cast<DWORD>(size), &Awaiter::Done, &awaiter, &result);
  result = awaiter.Await(at_once, result);
  out->resize(result.bytes);
  return result;
}

Stream::Result Write(Stream& stream, const std::string& data) {
  Awaiter awaiter;
  Stream::Result result;
  const bool at_once =
      stream.Write(data.data(), static_cast<DWORD>(data.size()), &Awaiter::Done, &awaiter, &result);
  return awaiter.Await(at_once, result);
}

std::shared_ptr<PipeCalls> Calls() {
  auto security = Security::ForServer(kOpenToAll);
  EXPECT_TRUE(security.ok()) << security.status();
  auto calls = NewPipeCalls(*std::move(security));
  EXPECT_TRUE(calls.ok()) << calls.status();
  return *calls;
}

// Both ends of a connection.
struct Ends {
  std::unique_ptr<PipeStream> server, client;
};

Ends Connect(const std::string& path, absl::Duration reading_time = absl::Seconds(30)) {
  const std::shared_ptr<PipeCalls> calls = Calls();
  const auto instance = calls->Create(path, Creation::kFirst);
  EXPECT_TRUE(instance.ok()) << instance.status();
  Ends ends;
  ends.server = *PipeStream::Create(Closer(calls, reading_time).Adopt(*instance));
  Awaiter awaiter;
  Stream::Result result;
  const bool at_once = ends.server->Connect(&Awaiter::Done, &awaiter, &result);
  auto client = Open(path, SteadyTime::Now() + absl::Seconds(5));
  EXPECT_TRUE(client.ok()) << client.status();
  ends.client = *PipeStream::Create(*std::move(client));
  EXPECT_EQ(awaiter.Await(at_once, result).error, DWORD{ERROR_SUCCESS});
  return ends;
}

TEST(PipeSecurityTest, ParseAcceptsOnlyAProtectedDacl) {
  EXPECT_TRUE(Security::Parse("D:P(A;;GA;;;SY)(A;;GA;;;BA)").ok());
  EXPECT_TRUE(Security::Parse("D:P(A;;GA;;;SY)(A;;0x12019b;;;BU)").ok());
  for (const char* bad : {"", "nonsense", "D:(A;;GA;;;SY)", "O:SYG:SY", "D:P(A;;GA;;;nobody)"}) {
    const auto security = Security::Parse(bad);
    ASSERT_FALSE(security.ok()) << bad;
    EXPECT_TRUE(absl::IsInvalidArgument(security.status())) << security.status();
    EXPECT_THAT(std::string(security.status().message()), HasSubstr("--pipe-sddl"));
  }
}

// Wine ignores the flags, so the test checks the flags that are passed.
TEST(PipeFlagsTest, RemoteClientsAreRejectedAndTheFirstInstanceIsExclusive) {
  for (const Creation creation : {Creation::kFirst, Creation::kFurther}) {
    const InstanceFlags flags = FlagsOf(creation);
    EXPECT_TRUE(flags.pipe_mode & PIPE_REJECT_REMOTE_CLIENTS);
    EXPECT_TRUE(flags.open_mode & FILE_FLAG_OVERLAPPED);
    EXPECT_EQ((flags.open_mode & FILE_FLAG_FIRST_PIPE_INSTANCE) != 0, creation == Creation::kFirst);
    EXPECT_FALSE(flags.open_mode & WRITE_DAC);
  }
}

TEST(PipeTest, AMissingPipeIsNotFound) {
  const std::string path = UniquePath();
  EXPECT_FALSE(Exists(path));
  const auto opened = Open(path, SteadyTime::Now() + absl::Seconds(1));
  EXPECT_TRUE(absl::IsNotFound(opened.status())) << opened.status();
}

// Returns the processor time of the process, in the kernel and in user mode together.
absl::Duration CpuTime() {
  FILETIME ignored, kernel, user;
  GetProcessTimes(GetCurrentProcess(), &ignored, &ignored, &kernel, &user);
  return absl::Nanoseconds(100) * (int64_t{kernel.dwLowDateTime} + user.dwLowDateTime);
}

TEST(PipeTest, OpenWaitsForABusyPipeWithoutSpinning) {
  const std::string path = UniquePath();
  const win32::UniqueHandle only(*Calls()->Create(path, Creation::kFirst));
  const auto taker = Open(path, SteadyTime::InfinitePast());
  ASSERT_TRUE(taker.ok()) << taker.status();

  EXPECT_TRUE(Exists(path));
  const SteadyTime start = SteadyTime::Now();
  const absl::Duration cpu = CpuTime();
  EXPECT_TRUE(absl::IsUnavailable(Open(path, start + absl::Milliseconds(500)).status()));
  EXPECT_GE(SteadyTime::Now() - start, absl::Milliseconds(500));
  EXPECT_LT(CpuTime() - cpu, absl::Milliseconds(200));

  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(100));
    const win32::UniqueHandle another(*Calls()->Create(path, Creation::kFurther));
    absl::SleepFor(absl::Milliseconds(300));
  });
  EXPECT_TRUE(Open(path, SteadyTime::Now() + absl::Seconds(5)).ok());
  later.join();
}

TEST(PipeTest, ExistsDoesNotStayConnected) {
  const std::string path = UniquePath();
  const win32::UniqueHandle only(*Calls()->Create(path, Creation::kFirst));
  EXPECT_TRUE(Exists(path));
  // ERROR_NO_DATA: the client has connected and disconnected.
  EXPECT_FALSE(ConnectNamedPipe(only.get(), nullptr));
  EXPECT_EQ(GetLastError(), DWORD{ERROR_NO_DATA});
}

TEST(PipeTest, BytesArriveInBothDirections) {
  const Ends ends = Connect(UniquePath());
  std::string received;
  EXPECT_EQ(Write(*ends.client, "hello").error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(Read(*ends.server, &received).error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(received, "hello");
  EXPECT_EQ(Write(*ends.server, "there").error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(Read(*ends.client, &received).error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(received, "there");
}

TEST(PipeTest, AReadReturnsAtMostTheRequestedBytes) {
  const Ends ends = Connect(UniquePath());
  EXPECT_EQ(Write(*ends.client, "abcdef").error, DWORD{ERROR_SUCCESS});
  std::string received;
  EXPECT_EQ(Read(*ends.server, &received, 4).bytes, 4u);
  EXPECT_EQ(received, "abcd");
  EXPECT_EQ(Read(*ends.server, &received, 4).bytes, 2u);
  EXPECT_EQ(received, "ef");
}

TEST(PipeTest, AWriteLargerThanTheBufferArrivesWhole) {
  const Ends ends = Connect(UniquePath());
  const std::string large(1 << 20, 'x');
  std::thread writer([&] { EXPECT_EQ(Write(*ends.client, large).bytes, large.size()); });
  size_t total = 0;
  std::string received;
  while (total < large.size()) {
    ASSERT_EQ(Read(*ends.server, &received).error, DWORD{ERROR_SUCCESS});
    total += received.size();
  }
  writer.join();
  EXPECT_EQ(total, large.size());
}

TEST(PipeTest, AReadFailsAfterTheOtherEndIsClosed) {
  std::string received;
  Ends ends = Connect(UniquePath());
  ends.client.reset();
  EXPECT_EQ(Read(*ends.server, &received).error, DWORD{ERROR_BROKEN_PIPE});
  ends = Connect(UniquePath());
  ends.server.reset();
  EXPECT_EQ(Read(*ends.client, &received).error, DWORD{ERROR_PIPE_NOT_CONNECTED});
}

TEST(PipeTest, BytesWrittenBeforeTheClientClosesAreReceived) {
  Ends ends = Connect(UniquePath());
  EXPECT_EQ(Write(*ends.client, "last words").error, DWORD{ERROR_SUCCESS});
  ends.client.reset();
  std::string received;
  EXPECT_EQ(Read(*ends.server, &received).error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(received, "last words");
  EXPECT_EQ(Read(*ends.server, &received).error, DWORD{ERROR_BROKEN_PIPE});
}

TEST(PipeTest, CancelEndsAPendingRead) {
  const Ends ends = Connect(UniquePath());
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(50));
    ends.server->Cancel();
  });
  std::string received;
  EXPECT_EQ(Read(*ends.server, &received).error, DWORD{ERROR_OPERATION_ABORTED});
  canceller.join();
}

// Returns the ends of a connection. The server has written, has called DisconnectOnceRead(), and
// has destroyed its stream.
Ends LastWords(absl::Duration reading_time) {
  Ends ends = Connect(UniquePath(), reading_time);
  EXPECT_EQ(Write(*ends.server, "last words").error, DWORD{ERROR_SUCCESS});
  ends.server->DisconnectOnceRead();
  ends.server.reset();
  return ends;
}

TEST(PipeTest, TheServersLastBytesAreReadBeforeTheDisconnect) {
  const Ends ends = LastWords(absl::Seconds(30));
  absl::SleepFor(absl::Milliseconds(100));
  std::string received;
  EXPECT_EQ(Read(*ends.client, &received).error, DWORD{ERROR_SUCCESS});
  EXPECT_EQ(received, "last words");
  const SteadyTime start = SteadyTime::Now();
  EXPECT_EQ(Read(*ends.client, &received).error, DWORD{ERROR_PIPE_NOT_CONNECTED});
  EXPECT_LT(SteadyTime::Now() - start, absl::Seconds(10));
}

TEST(PipeTest, AClientThatDoesNotReadIsDisconnectedAtTheDeadline) {
  const Ends ends = LastWords(absl::Milliseconds(200));
  absl::SleepFor(absl::Seconds(1));
  std::string received;
  EXPECT_EQ(Read(*ends.client, &received).error, DWORD{ERROR_PIPE_NOT_CONNECTED});
  EXPECT_EQ(received, "");
}

TEST(PipeTest, ADisconnectEndsAPendingRead) {
  const Ends ends = Connect(UniquePath());
  std::thread server([&] {
    absl::SleepFor(absl::Milliseconds(50));
    ends.server->Disconnect();
  });
  std::string received;
  EXPECT_EQ(Read(*ends.client, &received).error, DWORD{ERROR_PIPE_NOT_CONNECTED});
  server.join();
  EXPECT_EQ(Write(*ends.client, "too late").error, DWORD{ERROR_PIPE_NOT_CONNECTED});
}

// The Closer relies on a disconnect to end a flush that would otherwise never end.
TEST(PipeCallsTest, FlushReturnsWhenTheClientReadsOrIsDisconnected) {
  const std::shared_ptr<PipeCalls> calls = Calls();
  for (const bool reads : {true, false}) {
    const Ends ends = Connect(UniquePath());
    EXPECT_EQ(Write(*ends.server, "unread").error, DWORD{ERROR_SUCCESS});
    std::atomic<bool> flushed = false;
    std::thread flusher([&] {
      calls->Flush(ends.server->handle());
      flushed = true;
    });
    absl::SleepFor(absl::Milliseconds(200));
    EXPECT_FALSE(flushed);
    std::string received;
    if (reads) {
      EXPECT_EQ(Read(*ends.client, &received).error, DWORD{ERROR_SUCCESS});
    } else {
      calls->Disconnect(ends.server->handle());
    }
    flusher.join();
  }
}

TEST(PipeCallsTest, LookReturnsTheServersProcess) {
  const std::shared_ptr<PipeCalls> calls = Calls();
  const std::string path = UniquePath();
  EXPECT_TRUE(HasWin32Code(calls->Look(path).status(), ERROR_FILE_NOT_FOUND));
  const auto instance = calls->Create(path, Creation::kFirst);
  ASSERT_TRUE(instance.ok());
  const auto server = calls->Look(path);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(*server, GetCurrentProcessId());
  // Look() has used the only instance of the pipe.
  EXPECT_TRUE(HasWin32Code(calls->Look(path).status(), ERROR_PIPE_BUSY));
  calls->Close(*instance);
}

TEST(PipeCallsTest, APipeHasTheRequestedOwnerAndDacl) {
  const std::shared_ptr<PipeCalls> calls = Calls();
  const auto instance = calls->Create(UniquePath(), Creation::kInheriting);
  ASSERT_TRUE(instance.ok());
  const auto security = calls->Security(*instance);
  ASSERT_TRUE(security.ok()) << security.status();
  EXPECT_EQ(security->owner, *win32::UserOfThisProcess());
  EXPECT_TRUE(SameDacl(*security, calls->ours()));
  EXPECT_EQ(calls->ours().dacl.back().sid, kEveryoneSid);
  EXPECT_TRUE(calls->MakeOurs(*instance).ok());
  calls->Close(*instance);
}

TEST(PipeCallsTest, AnInheritingInstanceChangesOwnerAndDaclAndServesClients) {
  const std::string path = UniquePath();
  const auto theirs = *NewPipeCalls(*Security::Parse("O:BAD:P(A;;GA;;;BA)(A;;GR;;;WD)"));
  const win32::UniqueHandle left(*theirs->Create(path, Creation::kFirst));
  const std::shared_ptr<PipeCalls> calls = Calls();
  const auto inheriting = calls->Create(path, Creation::kInheriting);
  ASSERT_TRUE(inheriting.ok()) << inheriting.status();
  const win32::UniqueHandle owned(*inheriting);
  EXPECT_EQ(calls->Security(owned.get())->owner, kAdministratorsSid);
  const absl::Status changed = calls->MakeOurs(owned.get());
  ASSERT_TRUE(changed.ok()) << changed;
  const auto security = calls->Security(owned.get());
  EXPECT_EQ(security->owner, *win32::UserOfThisProcess());
  EXPECT_TRUE(SameDacl(*security, calls->ours()));
  // Each of the two instances serves a client.
  const auto first = Open(path, SteadyTime::InfinitePast()),
             second = Open(path, SteadyTime::InfinitePast());
  EXPECT_TRUE(first.ok() && second.ok());
}

TEST(PipeCallsTest, AnOwnerNamedInTheSddlIsKept) {
  const auto named = NewPipeCalls(*Security::ForServer("O:BAD:P(A;;GA;;;SY)"));
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ((*named)->ours().owner, kAdministratorsSid);
}

TEST(IoPortTest, AssociateFailsWithoutAThreadAndSucceedsWithOne) {
  int left = 0;
  // Never destroyed, like every port.
  auto* const port = new IoPort([&](std::function<void()> work) -> absl::StatusOr<std::thread> {
    if (left-- <= 0) return absl::ResourceExhaustedError("no threads");
    return StartThread(std::move(work));
  });
  const std::shared_ptr<PipeCalls> calls = Calls();
  const win32::UniqueHandle instance(*calls->Create(UniquePath(), Creation::kFirst));
  EXPECT_TRUE(absl::IsResourceExhausted(port->Associate(instance.get())));
  left = 1;
  EXPECT_TRUE(port->Associate(instance.get()).ok());
  EXPECT_EQ(port->thread_count(), 1u);
  absl::Notification ran;
  EXPECT_TRUE(port->Post([&] { ran.Notify(); }));
  ran.WaitForNotification();
}

TEST(IoPortTest, ATenantsManyCompletionsDelayOnlyThatTenant) {
  ExpectTurns([](const void* tenant, std::function<void()> work) {
    ASSERT_TRUE(IoPort::Get().Post(std::move(work), tenant));
  });
}

TEST(PipeTest, ClientOfInstanceReturnsTheClientsProcess) {
  const Ends ends = Connect(UniquePath());
  EXPECT_EQ(ClientOfInstance(ends.server->handle()), GetCurrentProcessId());
}

}  // namespace
}  // namespace csi_proxy::pipe
