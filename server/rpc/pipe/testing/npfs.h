// A model of the file system of named pipes, for tests on any platform of what becomes of a name.
//
// Made after Microsoft's pages (DisconnectNamedPipe, CreateNamedPipe) and, where they are silent,
// after ReactOS's drivers/filesystems/npfs (create.c, cleanup.c, statesup.c, flushbuf.c): an
// instance lives until both ends are closed, or is disconnected and its server's closed; a pipe
// lives as long as its instances; clients find only pipes that a server has a handle of. Unlike
// Wine it honours FILE_FLAG_FIRST_PIPE_INSTANCE and DACLs. Names are compared as they are written.
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
#include "server/rpc/pipe/pipe_calls.h"

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

  // As a process with these SIDs opens a pipe, as go-winio and .NET do unless said otherwise.
  absl::StatusOr<Client> Open(const std::string& path, const std::vector<std::string>& sids,
                              uint32_t rights = 0x80000000u | 0x40000000u);
  void Close(Client client);
  // Returns the bytes that are there; ERROR_NO_DATA when none are, ERROR_BROKEN_PIPE when the
  // server has closed its end, ERROR_PIPE_NOT_CONNECTED when it has disconnected this one.
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
  // Something that a flush waits for.
  std::condition_variable flushed_;
  std::map<std::string, std::unique_ptr<Pipe>> pipes_;
};

// A process that serves pipes. Its end closes all its handles, as that of any process does: then it
// has crashed, or stopped without disconnecting its clients.
class Npfs::Process final : public PipeCalls {
 public:
  struct Token {
    // The first one owns what the process makes, unless its descriptor names an owner.
    std::vector<std::string> sids = {kAdministratorsSid, kSystemSid};
    uint32_t id = 1;
  };

  Process(std::shared_ptr<Npfs> npfs, ObjectSecurity ours, Token token);
  Process(std::shared_ptr<Npfs> npfs, ObjectSecurity ours)
      : Process(std::move(npfs), std::move(ours), Token()) {}
  ~Process() override { Crash(); }
  void Crash();

  // The limit of instances of the pipes it makes.
  size_t max_instances = SIZE_MAX;
  // Run when a call has ended, before its caller learns of it: what others do at that moment.
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
  // Without privileges a process names itself or its groups as owner, and nobody else.
  bool MayOwn(const std::string& owner) const;
  // Not after a crash.
  bool Has(void* instance) const { return handles_.contains(static_cast<Instance*>(instance)); }

  const std::shared_ptr<Npfs> npfs_;
  const ObjectSecurity ours_;
  const Token token_;
  std::set<Instance*> handles_;
};

}  // namespace csi_proxy::pipe
