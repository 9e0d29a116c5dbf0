#include "server/groups/smb/known_shares.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/names/windows_path.h"

namespace csi_proxy::smb {
namespace {

LinkCount LinkCountOf(const ShareLinks& links) {
  if (links.paths.size() > 1) return LinkCount::kSeveral;
  if (links.incomplete) return LinkCount::kUnknown;
  return links.paths.empty() ? LinkCount::kNone : LinkCount::kOne;
}

}  // namespace

void KnownShares::Keep(const std::string& share, const host::SmbCredentials& credentials) {
  const MutexLock lock(mutex_);
  kept_.insert_or_assign(share, credentials);
}

void KnownShares::Forget(const std::string& share) {
  const MutexLock lock(mutex_);
  kept_.erase(share);
  denials_.erase(share);
  failures_.Forget([&](const ShareFailures::Entry& one) { return one.key == share; });
}

std::optional<bool> KnownShares::Match(const std::string& share,
                                       const host::SmbCredentials& given) const {
  const MutexLock lock(mutex_);
  const auto found = kept_.find(share);
  if (found == kept_.end()) return std::nullopt;
  const bool same_user = EqualNames(found->second.username, given.username);
  return (found->second.password == given.password) && same_user;
}

void KnownShares::NoteDenied(const UncPath& path, const std::string& user) {
  const MutexLock lock(mutex_);
  if (denials_.size() >= kMostDenials) denials_.erase(denials_.begin());
  denials_.insert_or_assign(path.Share(), Denial{CanonicalUnc(path.ToString()), user});
}

bool KnownShares::WasDenied(const UncPath& path, const std::string* user) const {
  const MutexLock lock(mutex_);
  const auto found = denials_.find(path.Share());
  if (found == denials_.end()) return false;
  return user == nullptr || (found->second.path == CanonicalUnc(path.ToString()) &&
                             EqualNames(found->second.user, *user));
}

void KnownShares::RecordAttempt(const CallContext& context, const std::string& share,
                                absl::string_view target_path, const absl::Status& result) {
  if (result.ok()) {
    failures_.Forget([&](const ShareFailures::Entry& one) { return one.key == share; });
  } else {
    failures_.Set(context.peer().tenant, share,
                  {std::string(target_path), std::string(result.message())});
  }
}

std::map<std::string, ShareFailures::Entry> KnownShares::failures() const {
  std::map<std::string, ShareFailures::Entry> last;
  for (auto& one : failures_.Select([](const auto&) { return true; })) {
    last.insert_or_assign(one.key, std::move(one));
  }
  return last;
}

void KnownShares::RecordRemoval(const std::string& share, RemovalOutcome outcome,
                                const ShareLinks& links) {
  const LinkCount link_count = LinkCountOf(links);
  {
    const MutexLock lock(mutex_);
    ++counts_[static_cast<size_t>(outcome)][static_cast<size_t>(link_count)];
  }
  if (link_count == LinkCount::kNone) return;
  std::string text = absl::StrCat(
      "the mapping of ", share, outcome == RemovalOutcome::kRemoved ? " was removed" : " was kept");
  if (!links.paths.empty()) {
    absl::StrAppend(&text,
                    outcome == RemovalOutcome::kRemoved ? " although links lead to the share: "
                                                        : " because of the links ",
                    PathsText(links.paths));
  }
  if (links.incomplete) absl::StrAppend(&text, "; some links could not be read");
  log_(text);
}

KnownShares::Counts KnownShares::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace csi_proxy::smb
