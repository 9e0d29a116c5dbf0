#include "server/groups/smb/known_shares.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "server/base/windows_path.h"

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
  failures_.remove_if([&](const ShareFailure& one) { return one.share == share; });
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
  const std::string& tenant = context.peer().tenant;
  const MutexLock lock(mutex_);
  failures_.remove_if([&](const ShareFailure& one) {
    return one.share == share && (result.ok() || one.tenant == tenant);
  });
  if (result.ok()) return;
  if (failures_.size() >= kMostFailures) {
    std::map<std::string, size_t> by_tenant;
    for (const ShareFailure& one : failures_) ++by_tenant[one.tenant];
    const auto most = std::ranges::max_element(
        by_tenant, [](const auto& a, const auto& b) { return a.second < b.second; });
    failures_.erase(std::ranges::find(failures_, most->first, &ShareFailure::tenant));
  }
  failures_.push_back(
      {tenant, share, std::string(target_path), std::string(result.message()), SteadyTime::Now()});
}

std::vector<ShareFailure> KnownShares::failures() const {
  const MutexLock lock(mutex_);
  std::map<std::string, ShareFailure> last;
  for (const ShareFailure& one : failures_) last.insert_or_assign(one.share, one);
  std::vector<ShareFailure> failures;
  for (auto& [share, failure] : last) failures.push_back(std::move(failure));
  return failures;
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
