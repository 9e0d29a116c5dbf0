// Test clients of Npfs, the model of named pipes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/pipe/testing/npfs.h"

namespace csi_proxy::pipe {

inline constexpr char kTestPipe[] = R"(\\.\pipe\csi-proxy-volume-v1)";

inline const std::vector<std::string> kPodSids = {"S-1-5-93-2-1", kAdministratorsSid};

// The default of --pipe-sddl: `O:SYD:P(A;;GA;;;SY)(A;;0x12019b;;;BA)(A;;RC;;;OW)`.
inline const ObjectSecurity kOurs{.owner = kSystemSid,
                                  .has_dacl = true,
                                  .dacl = {{.rights = 0x10000000, .sid = kSystemSid},
                                           {.rights = 0x12019b, .sid = kAdministratorsSid},
                                           {.rights = 0x20000, .sid = kOwnerRightsSid}}};

// Opens pipes and keeps the handles, as released Go clients do: NewClientWithPipePath opens the
// pipe once and drops the connection without closing it.
class LeakyClients {
 public:
  explicit LeakyClients(std::shared_ptr<Npfs> npfs) : npfs_(std::move(npfs)) {}
  ~LeakyClients() { Leave(); }

  absl::Status Open(const std::vector<std::string>& sids = kPodSids) {
    const absl::StatusOr<Npfs::Client> client = npfs_->Open(kTestPipe, sids);
    if (client.ok()) clients_.push_back(*client);
    return client.status();
  }
  Npfs::Client last() const { return clients_.back(); }
  size_t size() const { return clients_.size(); }
  void Leave() {
    for (const Npfs::Client client : clients_) npfs_->Close(client);
    clients_.clear();
  }

 private:
  const std::shared_ptr<Npfs> npfs_;
  std::vector<Npfs::Client> clients_;
};

}  // namespace csi_proxy::pipe
