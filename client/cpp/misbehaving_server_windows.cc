#include <pthread.h>

#include <atomic>
#include <vector>

#include "client/cpp/misbehaving_server.h"
#include "server/pipe/pipe.h"
#include "server/platform/win32.h"

namespace csi_proxy::client {
namespace {

constexpr int kInstances = 16;

}  // namespace

// Each instance has a thread that serves one client after another.
struct MisbehavingServer::State {
  Misbehaviour misbehaviour;
  std::atomic<bool> stopping = false;
  std::vector<win32::UniqueHandle> instances;
  std::vector<std::thread> threads;
  win32::UniqueHandle taker;

  static void Send(HANDLE pipe, const std::string& bytes) {
    DWORD written;
    WriteFile(pipe, bytes.data(), static_cast<DWORD>(bytes.size()), &written, nullptr);
  }

  void Read(HANDLE pipe) {
    char bytes[4096];
    DWORD size;
    while (!stopping && ReadFile(pipe, bytes, sizeof(bytes), &size, nullptr) && size > 0) {
      if (misbehaviour == Misbehaviour::kGarbageToCalls) Send(pipe, std::string(100, '\xff'));
      if (misbehaviour == Misbehaviour::kClosesCalls) return;
    }
  }

  // Waits until a peek fails, because then the client has disconnected.
  void WaitForTheEnd(HANDLE pipe) {
    while (!stopping && PeekNamedPipe(pipe, nullptr, 0, nullptr, nullptr, nullptr)) Sleep(5);
  }

  void Serve(HANDLE pipe) {
    while (!stopping) {
      if (!ConnectNamedPipe(pipe, nullptr) && GetLastError() != ERROR_PIPE_CONNECTED) {
        Sleep(5);
        DisconnectNamedPipe(pipe);
        continue;
      }
      switch (misbehaviour) {
        case Misbehaviour::kBusy:
        case Misbehaviour::kSilent:
          WaitForTheEnd(pipe);
          break;
        case Misbehaviour::kClosesAtOnce:
          break;
        case Misbehaviour::kGarbage:
          Send(pipe, std::string(1000, 'x'));
          WaitForTheEnd(pipe);
          break;
        case Misbehaviour::kStuck:
          Send(pipe, kWideOpen);
          WaitForTheEnd(pipe);
          break;
        case Misbehaviour::kClosesCalls:
        case Misbehaviour::kGarbageToCalls:
        case Misbehaviour::kIgnoresCalls:
          Send(pipe, kWideOpen);
          [[fallthrough]];
        case Misbehaviour::kListener:
          Read(pipe);
          break;
      }
      DisconnectNamedPipe(pipe);
    }
  }
};

MisbehavingServer::MisbehavingServer(const std::string& path, Misbehaviour misbehaviour)
    : state_(std::make_unique<State>()) {
  state_->misbehaviour = misbehaviour;
  // Without a security descriptor Wine does not store an owner.
  const auto security = pipe::Security::ForServer("D:P(A;;GA;;;WD)");
  SECURITY_ATTRIBUTES attributes = security->attributes();
  const bool busy = misbehaviour == Misbehaviour::kBusy;
  for (int i = 0; i < (busy ? 1 : kInstances); ++i) {
    // The buffers have size 0, go-winio's default.
    HANDLE const pipe =
        CreateNamedPipeW(win32::Utf16(path).c_str(), PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE | PIPE_WAIT,
                         PIPE_UNLIMITED_INSTANCES, 0, 0, 0, &attributes);
    state_->instances.emplace_back(pipe);
    if (!busy) state_->threads.emplace_back([this, pipe] { state_->Serve(pipe); });
  }
  if (busy) {
    state_->taker =
        win32::UniqueHandle(CreateFileW(win32::Utf16(path).c_str(), GENERIC_READ | GENERIC_WRITE, 0,
                                        nullptr, OPEN_EXISTING, 0, nullptr));
  }
}

MisbehavingServer::~MisbehavingServer() {
  state_->stopping = true;
  // Cancels a thread's I/O repeatedly until the thread notices `stopping`.
  for (std::thread& thread : state_->threads) {
    HANDLE const handle = pthread_gethandle(thread.native_handle());
    while (WaitForSingleObject(handle, 5) == WAIT_TIMEOUT) CancelSynchronousIo(handle);
    thread.join();
  }
}

}  // namespace csi_proxy::client
