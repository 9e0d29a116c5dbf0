#include "server/pipe/testing/npfs.h"

#include <algorithm>
#include <utility>

#include "server/names/win32_error.h"

namespace csi_proxy::pipe {
namespace {

constexpr uint32_t kGenericRead = 0x80000000, kGenericWrite = 0x40000000;
constexpr uint32_t kCreatePipeInstance = 0x4, kReadControl = 0x20000, kWriteDac = 0x40000,
                   kWriteOwner = 0x80000;
constexpr uint32_t kBrokenPipe = 109, kNoData = 232, kPipeNotConnected = 233, kInvalidOwner = 1307;

absl::Status Error(uint32_t code) { return Win32Status(code, Win32Text(code)); }

}  // namespace

struct ClientEnd {
  void* instance;  // Null after the server has disconnected the client.
};

struct Npfs::Instance : std::enable_shared_from_this<Npfs::Instance> {
  enum class State { kListening, kConnected, kClosing, kDisconnected };
  Pipe* pipe;
  uint32_t process;
  State state = State::kListening;
  bool server_open = true;
  ClientEnd* client = nullptr;
  std::string unread;  // Bytes that the client has not read.
};

struct Npfs::Pipe {
  std::string path;
  size_t max_instances;
  ObjectSecurity security;
  // Clients get the first instance that listens. Flush() shares an instance, because the instance
  // may be removed from the list during the flush.
  std::list<std::shared_ptr<Instance>> instances;
  size_t servers = 0;  // The number of servers' handles.
};

Npfs::Npfs() = default;
Npfs::~Npfs() = default;

bool Npfs::Grants(const ObjectSecurity& security, const std::vector<std::string>& sids,
                  uint32_t rights) {
  if (!security.has_dacl) return true;
  uint32_t missing = PipeRights(rights);
  const bool owns = std::find(sids.begin(), sids.end(), security.owner) != sids.end();
  const auto is_mine = [&](const std::string& sid) {
    return sid == kEveryoneSid || (sid == kOwnerRightsSid && owns) ||
           std::find(sids.begin(), sids.end(), sid) != sids.end();
  };
  // An owner may read and change the access list, unless the list has an entry for OWNER RIGHTS.
  const bool tells = std::any_of(security.dacl.begin(), security.dacl.end(),
                                 [](const auto& entry) { return entry.sid == kOwnerRightsSid; });
  if (owns && !tells) missing &= ~(kReadControl | kWriteDac);
  for (const AccessEntry& entry : security.dacl) {
    if (missing == 0) break;
    if (!is_mine(entry.sid)) continue;
    const uint32_t concerned = PipeRights(entry.rights) & missing;
    if (entry.type == kDeny && concerned != 0) return false;
    if (entry.type == kAllow) missing &= ~concerned;
  }
  return missing == 0;
}

void Npfs::Remove(Instance* instance) {
  Pipe* const pipe = instance->pipe;
  pipe->instances.remove_if([&](const auto& owned) { return owned.get() == instance; });
  if (pipe->instances.empty()) pipes_.erase(std::string(pipe->path));
}

absl::StatusOr<Npfs::Client> Npfs::Open(const std::string& path,
                                        const std::vector<std::string>& sids, uint32_t rights) {
  std::lock_guard lock(mutex_);
  const auto found = pipes_.find(path);
  if (found == pipes_.end() || found->second->servers == 0) {
    return Error(win32_error::kFileNotFound);
  }
  Pipe& pipe = *found->second;
  if (!Grants(pipe.security, sids, ClientRights(rights))) {
    return Error(win32_error::kAccessDenied);
  }
  for (const auto& instance : pipe.instances) {
    if (instance->state != Instance::State::kListening) continue;
    instance->state = Instance::State::kConnected;
    instance->client = new ClientEnd{.instance = instance.get()};
    return instance->client;
  }
  return Error(win32_error::kPipeBusy);
}

void Npfs::Close(Client client) {
  std::lock_guard lock(mutex_);
  const std::unique_ptr<ClientEnd> owned(client);
  auto* const instance = static_cast<Instance*>(client->instance);
  if (instance == nullptr) return;
  instance->client = nullptr;
  instance->unread.clear();
  flushed_.notify_all();
  instance->state = Instance::State::kClosing;
  if (!instance->server_open) Remove(instance);
}

absl::StatusOr<std::string> Npfs::Read(Client client) {
  std::lock_guard lock(mutex_);
  auto* const instance = static_cast<Instance*>(client->instance);
  if (instance == nullptr) return Error(kPipeNotConnected);
  if (!instance->unread.empty()) {
    flushed_.notify_all();
    return std::exchange(instance->unread, "");
  }
  return Error(instance->state == Instance::State::kConnected ? kNoData : kBrokenPipe);
}

bool Npfs::HasName(const std::string& path) const {
  std::lock_guard lock(mutex_);
  return pipes_.contains(path);
}

size_t Npfs::instances(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const auto found = pipes_.find(path);
  return found == pipes_.end() ? 0 : found->second->instances.size();
}

void Npfs::CloseServer(Instance* instance) {
  flushed_.notify_all();
  instance->server_open = false;
  --instance->pipe->servers;
  // The client can still read the unread bytes, and the client's handle keeps the instance.
  if (instance->client != nullptr) {
    instance->state = Instance::State::kClosing;
  } else {
    Remove(instance);
  }
}

Npfs::Process::Process(std::shared_ptr<Npfs> npfs, ObjectSecurity ours, Token token)
    : npfs_(std::move(npfs)), ours_(std::move(ours)), token_(std::move(token)) {}

bool Npfs::Process::MayOwn(const std::string& owner) const {
  return owner.empty() ||
         std::find(token_.sids.begin(), token_.sids.end(), owner) != token_.sids.end();
}

void Npfs::Process::Crash() {
  std::lock_guard lock(npfs_->mutex_);
  for (Instance* const instance : std::exchange(handles_, {})) npfs_->CloseServer(instance);
}

void Npfs::Process::Write(void* instance, const std::string& data) {
  std::lock_guard lock(npfs_->mutex_);
  static_cast<Instance*>(instance)->unread += data;
}

absl::StatusOr<void*> Npfs::Process::Create(const std::string& path, Creation creation) {
  absl::StatusOr<void*> made = MakeInstance(path, creation);
  if (after_create) after_create();
  return made;
}

absl::StatusOr<void*> Npfs::Process::MakeInstance(const std::string& path, Creation creation) {
  std::lock_guard lock(npfs_->mutex_);
  if (!MayOwn(ours_.owner)) return Error(kInvalidOwner);
  std::unique_ptr<Pipe>& pipe = npfs_->pipes_[path];
  if (pipe == nullptr) {
    pipe = std::make_unique<Pipe>(
        Pipe{.path = path, .max_instances = max_instances, .security = ours_, .instances = {}});
    if (ours_.owner.empty()) pipe->security.owner = token_.sids.front();
    for (AccessEntry& entry : pipe->security.dacl) entry.rights = PipeRights(entry.rights);
  } else {
    const uint32_t rights = kGenericRead | kGenericWrite | kCreatePipeInstance |
                            (creation == Creation::kInheriting ? kWriteDac | kWriteOwner : 0);
    if (!Grants(pipe->security, token_.sids, rights)) return Error(win32_error::kAccessDenied);
    if (pipe->instances.size() >= pipe->max_instances) return Error(win32_error::kPipeBusy);
    if (creation == Creation::kFirst) return Error(win32_error::kAccessDenied);
  }
  auto owned = std::make_shared<Instance>();
  Instance* const instance = owned.get();
  instance->pipe = pipe.get();
  instance->process = token_.id;
  pipe->instances.push_back(std::move(owned));
  ++pipe->servers;
  handles_.insert(instance);
  return instance;
}

absl::StatusOr<uint32_t> Npfs::Process::Look(const std::string& path) {
  const absl::StatusOr<Client> client = npfs_->Open(path, token_.sids);
  uint32_t process = 0;
  if (client.ok()) {
    {
      std::lock_guard lock(npfs_->mutex_);
      process = static_cast<Instance*>((*client)->instance)->process;
    }
    npfs_->Close(*client);
  }
  if (after_look) after_look();
  if (!client.ok()) return client.status();
  return process;
}

absl::StatusOr<ObjectSecurity> Npfs::Process::Security(void* instance) {
  std::lock_guard lock(npfs_->mutex_);
  return static_cast<Instance*>(instance)->pipe->security;
}

absl::Status Npfs::Process::MakeOurs(void* instance) {
  std::lock_guard lock(npfs_->mutex_);
  if (!MayOwn(ours_.owner)) return Error(kInvalidOwner);
  static_cast<Instance*>(instance)->pipe->security = ours_;
  return absl::OkStatus();
}

void Npfs::Process::Flush(void* handle) {
  std::unique_lock lock(npfs_->mutex_);
  if (!Has(handle)) return;
  const std::shared_ptr<Instance> flushed = static_cast<Instance*>(handle)->shared_from_this();
  npfs_->flushed_.wait(lock, [&] {
    return flushed->unread.empty() || flushed->state != Instance::State::kConnected;
  });
}

void Npfs::Process::Disconnect(void* handle) {
  std::lock_guard lock(npfs_->mutex_);
  if (!Has(handle)) return;
  auto* const instance = static_cast<Instance*>(handle);
  if (instance->client != nullptr) instance->client->instance = nullptr;
  instance->client = nullptr;
  instance->unread.clear();
  npfs_->flushed_.notify_all();
  instance->state = Instance::State::kDisconnected;
}

void Npfs::Process::Close(void* handle) {
  std::lock_guard lock(npfs_->mutex_);
  if (!Has(handle)) return;
  auto* const instance = static_cast<Instance*>(handle);
  handles_.erase(instance);
  npfs_->CloseServer(instance);
}

}  // namespace csi_proxy::pipe
