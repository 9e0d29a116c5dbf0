#include "server/simulator/tree.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"
#include "server/simulator/failure.h"

namespace csi_proxy::machine::simulator {
namespace {
constexpr size_t kMaxPathLength = 32767;
constexpr uint64_t kCluster = 4096;

Tree::Id NextId() {
  static std::atomic<Tree::Id> next{Tree::kRoot + 1};
  return next++;
}

}  // namespace

Tree::Entry Tree::Directory(std::string name) {
  Entry entry;
  entry.name = std::move(name);
  return entry;
}

Tree::Entry Tree::File(std::string name, uint64_t size_bytes, bool read_only) {
  Entry entry;
  entry.kind = Kind::kFile;
  entry.name = std::move(name);
  entry.size_bytes = size_bytes;
  entry.read_only = read_only;
  return entry;
}

Tree::Entry Tree::Link(std::string name, std::string target, bool junction) {
  Entry entry;
  entry.kind = Kind::kLink;
  entry.name = std::move(name);
  entry.target = std::move(target);
  entry.junction = junction;
  return entry;
}

Tree::Tree() { entries_[kRoot]; }

std::optional<Tree::Id> Tree::Find(Id directory, absl::string_view name) const {
  const Entry& entry = at(directory);
  const auto it = entry.children.find(FoldName(name));
  if (it == entry.children.end()) return std::nullopt;
  return it->second;
}

std::string Tree::PathOf(Id id) const {
  std::vector<absl::string_view> names;
  for (; id != kRoot; id = at(id).parent) names.push_back(at(id).name);
  std::reverse(names.begin(), names.end());
  return absl::StrJoin(names, "\\");
}

std::vector<Tree::Id> Tree::Walk() const {
  std::vector<Id> order;
  std::vector<Id> pending = {kRoot};
  while (!pending.empty()) {
    const Id id = pending.back();
    pending.pop_back();
    if (id != kRoot) order.push_back(id);
    const auto& children = at(id).children;
    for (auto it = children.rbegin(); it != children.rend(); ++it) pending.push_back(it->second);
  }
  return order;
}

std::vector<Tree::Id> Tree::MountsOf(const VolumeId& volume) const {
  std::vector<Id> mounts;
  for (auto it = mounts_.lower_bound({volume, kRoot}); it != mounts_.end() && it->first == volume;
       ++it) {
    mounts.push_back(it->second);
  }
  if (mounts.size() < 2) return mounts;
  std::vector<Id> order = Walk();
  std::erase_if(order, [&](Id id) { return !mounts_.contains({volume, id}); });
  return order;
}

void Tree::ForgetMount(Id id) {
  if (at(id).mounted.has_value()) mounts_.erase({*at(id).mounted, id});
}

void Tree::NoteMount(Id id) {
  if (at(id).mounted.has_value() && !at(id).mounted_by_hand) {
    mounts_.emplace(*at(id).mounted, id);
  }
}

absl::StatusOr<Tree::Id> Tree::Add(Id directory, Entry entry) {
  Entry& parent = entries_.at(directory);
  if (parent.kind != Kind::kDirectory) {
    return absl::FailedPreconditionError(absl::StrCat("'", parent.name, "' is not a directory"));
  }
  std::string key = FoldName(entry.name);
  if (parent.children.contains(key)) {
    return absl::AlreadyExistsError(absl::StrCat("'", entry.name, "' exists"));
  }
  entry.parent = directory;
  entry.children.clear();
  entry.path_length = parent.path_length + 1 + entry.name.size();
  if (entry.path_length > kMaxPathLength) {
    return Failure(absl::StrCat("creating '", entry.name, "'"), win32_error::kFileNameTooLong);
  }
  const Id id = NextId();
  parent.children.emplace(std::move(key), id);
  file_bytes_ += RoundedSize(entry.size_bytes);
  entries_.emplace(id, std::move(entry));
  NoteMount(id);
  return id;
}

void Tree::Remove(Id id) {
  RemoveChildren(id);
  ForgetMount(id);
  const Entry& entry = at(id);
  entries_.at(entry.parent).children.erase(FoldName(entry.name));
  file_bytes_ -= RoundedSize(entry.size_bytes);
  entries_.erase(id);
}

void Tree::RemoveChildren(Id id) {
  std::vector<Id> pending;
  const auto take_children = [&](Id parent) {
    for (const auto& [name, child] : at(parent).children) pending.push_back(child);
  };
  take_children(id);
  entries_.at(id).children.clear();
  while (!pending.empty()) {
    const Id child = pending.back();
    pending.pop_back();
    take_children(child);
    ForgetMount(child);
    file_bytes_ -= RoundedSize(at(child).size_bytes);
    entries_.erase(child);
  }
}

void Tree::SetMounted(Id directory, std::optional<VolumeId> volume, bool by_hand) {
  ForgetMount(directory);
  Entry& entry = entries_.at(directory);
  entry.kind = Kind::kDirectory;
  entry.target.clear();
  entry.junction = false;
  entry.reparse_tag = 0;
  entry.mounted = volume;
  entry.mounted_by_hand = by_hand;
  NoteMount(directory);
}

void Tree::SetLink(Id id, std::string target, bool junction) {
  ForgetMount(id);
  Entry& entry = entries_.at(id);
  entry.kind = Kind::kLink;
  entry.target = std::move(target);
  entry.junction = junction;
  entry.mounted.reset();
}

void Tree::SetFile(Id file, uint64_t size_bytes, bool read_only) {
  Entry& entry = entries_.at(file);
  file_bytes_ += RoundedSize(size_bytes) - RoundedSize(entry.size_bytes);
  entry.size_bytes = size_bytes;
  entry.read_only = read_only;
}

void Tree::ExchangeNames(Id one, Id other) {
  Entry& a = entries_.at(one);
  Entry& b = entries_.at(other);
  auto& children = entries_.at(a.parent).children;
  std::swap(children.at(FoldName(a.name)), children.at(FoldName(b.name)));
  std::swap(a.name, b.name);
}

uint64_t Tree::RoundedSize(uint64_t size_bytes) {
  return (size_bytes + kCluster - 1) / kCluster * kCluster;
}

}  // namespace csi_proxy::machine::simulator
