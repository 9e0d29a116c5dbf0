// A model of Windows' named pipes, with which tests on any platform check how long a name exists.
//
// Follows Microsoft's pages (DisconnectNamedPipe, CreateNamedPipe) and, where they are silent,
// ReactOS's drivers/filesystems/npfs (create.c, cleanup.c, statesup.c, flushbuf.c): an instance
// exists until both ends are closed, or until it is disconnected and the server's end is closed. A
// pipe exists as long as its instances. Clients find a pipe only if a server has a handle of it.
// Unlike Wine, the model honours FILE_FLAG_FIRST_PIPE_INSTANCE and DACLs. Names are compared
// case-sensitively.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipe/pipe_calls.h"

namespace csi_proxy::pipe {

// A client's handle.
struct ClientEnd;

// Thread-safe.
class Npfs {
 public:
  class Process;

  using Client = ClientEnd*;

  Npfs();
  ~Npfs();

  // Opens a pipe as a process with these SIDs. The default rights are those of go-winio and .NET.
  absl::StatusOr<Client> Open(const std::string& path, const std::vector<std::string>& sids,
                              uint32_t rights = 0x80000000u | 0x40000000u);
  void Close(Client client);
  // Returns the unread bytes, or ERROR_NO_DATA if there are none. Fails with ERROR_BROKEN_PIPE if
  // the server has closed its end, ERROR_PIPE_NOT_CONNECTED if it has disconnected the client.
  absl::StatusOr<std::string> Read(Client client);

  bool HasName(const std::string& path) const;
  size_t instances(const std::string& path) const;

 private:
  struct Pipe;
  struct Instance;

  static bool Grants(const ObjectSecurity& security, const std::vector<std::string>& sids,
                     uint32_t rights);
  void Remove(Instance* instance);
  void CloseServer(Instance* instance);

  mutable std::mutex mutex_;
  // Notified when a flush may have ended.
  std::condition_variable flushed_;
  std::map<std::string, std::unique_ptr<Pipe>> pipes_;
};

// A process that serves pipes. The destructor closes all its handles and disconnects no client, as
// Windows does at the end of a process.
class Npfs::Process final : public PipeCalls {
 public:
  struct Token {
    // The first SID owns the process's pipes, unless `ours` names an owner.
    std::vector<std::string> sids = {kAdministratorsSid, kSystemSid};
    uint32_t id = 1;
  };

  Process(std::shared_ptr<Npfs> npfs, ObjectSecurity ours, Token token);
  Process(std::shared_ptr<Npfs> npfs, ObjectSecurity ours)
      : Process(std::move(npfs), std::move(ours), Token()) {}
  ~Process() override { Crash(); }
  void Crash();

  // The maximum of instances of each pipe that this process makes.
  size_t max_instances = SIZE_MAX;
  // Called at the end of Look() and Create(), so that tests can act at that moment.
  std::function<void()> after_look, after_create;

  void Write(void* instance, const std::string& data);

  absl::StatusOr<void*> Create(const std::string& path, Creation creation) override;
  const ObjectSecurity& ours() const override { return ours_; }
  absl::StatusOr<uint32_t> Look(const std::string& path) override;
  absl::StatusOr<ObjectSecurity> Security(void* instance) override;
  absl::Status MakeOurs(void* instance) override;
  void Flush(void* instance) override;
  void Disconnect(void* instance) override;
  void Close(void* instance) override;

 private:
  absl::StatusOr<void*> MakeInstance(const std::string& path, Creation creation);
  // Returns true if the process may make `owner` the owner of a pipe: if `owner` is empty, the
  // process's user or one of the process's groups. Other owners need a privilege.
  bool MayOwn(const std::string& owner) const;
  // Returns true until Crash() or Close() closes the handle `instance`.
  bool Has(void* instance) const { return handles_.contains(static_cast<Instance*>(instance)); }

  const std::shared_ptr<Npfs> npfs_;
  const ObjectSecurity ours_;
  const Token token_;
  std::set<Instance*> handles_;
};

}  // namespace csi_proxy::pipe
