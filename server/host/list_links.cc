#include "server/host/list_links.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/host/link_ends.h"
#include "server/host/patient_open.h"
#include "server/host/resolve_path.h"
#include "server/machine/reparse_point.h"
#include "server/names/volume_id.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using machine::File;

bool IsGone(const absl::Status& status) {
  return IsFileNotFound(status) || HasWin32Code(status, win32_error::kDeletePending);
}

bool IsPrintable(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

// Returns true for the names of a kubelet's staging folder: `plugins`, any names, `globalmount`
// (github.com/kubernetes/kubernetes, makeDeviceMountPath() of pkg/volume/csi/csi_attacher.go).
bool IsStagingFolder(const std::vector<std::string>& names) {
  const auto find = [&](absl::string_view wanted) {
    return std::find_if(names.begin(), names.end(),
                        [&](const std::string& name) { return EqualNames(name, wanted); });
  };
  const auto staging = find("globalmount");
  return staging != names.end() && staging + 1 == names.end() && find("plugins") < staging;
}

bool IsRoot(const ConfinedPath& path) {
  if (path.roots == nullptr) return false;
  const std::vector<WindowsPath>& roots = path.roots->roots();
  return std::find(roots.begin(), roots.end(), path.path) != roots.end();
}

// A start of the walk.
struct Start {
  ConfinedPath path;
  std::vector<std::string> names_below_root;
  std::unique_ptr<File> directory;
};

// A directory that the walk has not read completely.
struct Pending {
  size_t start = 0;
  // The path below the start, joined by `\`. Empty for the start itself.
  std::string below;
  size_t depth = 0;
  // The number of the directory's entries that earlier turns have read.
  size_t seen = 0;
};

// A link, and the path to follow to its end.
struct LinkToFollow {
  FoundLink link;
  ConfinedPath path;
  std::optional<VolumeId> volume;
};

class LinkWalker {
 public:
  LinkWalker(const HostDeps& deps, const CallContext& context, const LinkWalkLimits& limits)
      : os_(*deps.os), context_(context), limits_(limits), ends_(deps, context) {
    const SteadyTime now = SteadyTime::Now();
    until_ = now + limits.time;
    if (context.deadline() != SteadyTime::InfiniteFuture()) {
      until_ = std::min(until_, now + (context.deadline() - now) * 3 / 4);
    }
  }

  absl::StatusOr<LinkList> Run(const std::vector<ConfinedPath>& starts) {
    for (const ConfinedPath& start : starts) {
      ABSL_RETURN_IF_ERROR(Begin(start));
    }
    for (const bool in_pods : {false, true}) {
      in_pods_ = in_pods;
      Part& part = parts_[in_pods];
      while (!part.pending.empty() && !is_over_) {
        const Pending next = std::move(part.pending.front());
        part.pending.pop_front();
        part.pending_bytes -= BytesOf(next);
        ABSL_RETURN_IF_ERROR(LookAt(next));
      }
      chain_.clear();
      for (; limits_.follow && followed_ < found_.size(); ++followed_) {
        ABSL_RETURN_IF_ERROR(Follow(&found_[followed_]));
      }
    }
    return Answer();
  }

 private:
  static size_t BytesOf(const Pending& pending) { return sizeof(Pending) + pending.below.size(); }

  absl::Status Begin(const ConfinedPath& path) {
    ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, ResolvePath(os_, context_, path,
                                                           {.follow_last = IsRoot(path),
                                                            .access = machine::Access::kPeek}));
    if (!walked.found()) return IsRoot(path) ? absl::OkStatus() : MissingError(path.path);
    if (walked.link.has_value()) {
      // A volume mounted at a root belongs to the tree, because calls may work in it at any depth.
      if (!IsRoot(path) || !walked.link->volume.has_value()) {
        Note(*walked.link, path);
        return absl::OkStatus();
      }
      absl::StatusOr<std::unique_ptr<File>> root = os_.OpenRoot(walked.link->volume->ToString());
      if (!root.ok()) {
        if (!IsGone(root.status())) Miss();
        return absl::OkStatus();
      }
      walked.held.push_back(*std::move(root));
    } else if (!walked.is_directory()) {
      return absl::OkStatus();
    }
    // Keeps only the handle of the start itself.
    starts_.push_back(
        {path, path.roots == nullptr ? path.path.components() : NamesBelow(*path.roots, path.path),
         std::move(walked.held.back())});
    Push({.start = starts_.size() - 1, .below = "", .depth = 0, .seen = 0});
    return absl::OkStatus();
  }

  // Records that links may be missing.
  void Miss() {
    list_.incomplete = true;
    if (!in_pods_) list_.incomplete_outside_pods = true;
  }

  std::vector<std::string> NamesOf(const Pending& pending) const {
    std::vector<std::string> names = starts_[pending.start].names_below_root;
    for (const absl::string_view name : absl::StrSplit(pending.below, '\\', absl::SkipEmpty())) {
      names.emplace_back(name);
    }
    return names;
  }

  void NoteFilled(const Pending& at) {
    const WindowsPath& start = starts_[at.start].path.path;
    const absl::StatusOr<WindowsPath> path =
        at.below.empty() ? start : start.Join("path", at.below);
    if (!path.ok()) return;
    list_.filled_staging_folders.push_back(path->ToString());
    found_bytes_ += list_.filled_staging_folders.back().size();
  }

  void Push(Pending pending) {
    const bool in_pods = in_pods_ || IsPodsDirectory(NamesOf(pending));
    const bool is_too_deep = pending.depth > limits_.depth;
    Part& part = parts_[in_pods];
    if (is_too_deep || part.pending_bytes + BytesOf(pending) > limits_.pending_bytes) {
      list_.incomplete = true;
      list_.incomplete_outside_pods |= !in_pods && !is_too_deep;
      return;
    }
    part.pending_bytes += BytesOf(pending);
    part.pending.push_back(std::move(pending));
  }

  // Ends the walk if it has reached a limit. Returns an error if the call has ended.
  absl::Status CheckLimits() {
    ABSL_RETURN_IF_ERROR(context_.Check());
    if (entries_ > limits_.entries || found_bytes_ > limits_.found_bytes ||
        SteadyTime::Now() > until_) {
      Miss();
      is_over_ = true;
    }
    return absl::OkStatus();
  }

  // Opens `name` in `directory`. Returns null if the entry cannot be opened.
  std::unique_ptr<File> Open(File& directory, const std::string& name) {
    absl::StatusOr<std::unique_ptr<File>> file =
        TwiceIfInvalid([&] { return directory.Open(name, machine::Access::kPeek); });
    if (file.ok()) return *std::move(file);
    // Does not wait, because another process may hold the entry exclusively for a long time.
    if (!IsGone(file.status())) Miss();
    return nullptr;
  }

  // Opens the directory, and reuses the open directories on the path to the last one read. Returns
  // null if the directory cannot be opened, no longer exists, or is a link now.
  File* OpenDirectory(const Pending& at) {
    std::vector<std::string> names;
    if (!at.below.empty()) names = absl::StrSplit(at.below, '\\');
    size_t same = 0;
    if (chain_start_ != at.start) chain_.clear();
    chain_start_ = at.start;
    while (same < chain_.size() && same < names.size() && chain_[same].first == names[same]) ++same;
    chain_.resize(same);
    while (chain_.size() < names.size()) {
      File& above = chain_.empty() ? *starts_[at.start].directory : *chain_.back().second;
      const std::string& name = names[chain_.size()];
      std::unique_ptr<File> file = Open(above, name);
      if (file == nullptr) return nullptr;
      const absl::StatusOr<machine::FileAttributes> attributes = file->GetAttributes();
      if (!attributes.ok()) {
        Miss();
        return nullptr;
      }
      if (!attributes->is_directory || machine::IsNameSurrogate(*attributes)) return nullptr;
      chain_.emplace_back(name, std::move(file));
    }
    return chain_.empty() ? starts_[at.start].directory.get() : chain_.back().second.get();
  }

  absl::Status LookAt(const Pending& at) {
    ++entries_;
    if (absl::Status status = CheckLimits(); !status.ok() || is_over_) return status;
    File* const directory = OpenDirectory(at);
    if (directory == nullptr) return absl::OkStatus();
    size_t seen = 0;
    size_t links = 0;
    // Ignores the staging folders in directories that a pod can write, because the pod can make
    // folders of any name there.
    bool is_empty_staging = !in_pods_ && IsStagingFolder(NamesOf(at));
    for (bool restart = true;; restart = false) {
      const absl::StatusOr<std::vector<machine::DirectoryEntry>> entries =
          directory->ListNext(restart);
      if (!entries.ok()) {
        // The directory may no longer exist.
        if (!IsGone(entries.status())) Miss();
        return absl::OkStatus();
      }
      if (entries->empty()) return absl::OkStatus();
      entries_ += entries->size();
      if (absl::Status status = CheckLimits(); !status.ok() || is_over_) return status;
      for (const machine::DirectoryEntry& entry : *entries) {
        if (seen++ < at.seen) continue;
        // Reads the rest in a second turn, after the directories found so far. The second turn has
        // no limit of its own.
        if (at.seen == 0 && (seen > limits_.entries_at_once || links >= limits_.links_at_once)) {
          Push({at.start, at.below, at.depth, seen - 1});
          return absl::OkStatus();
        }
        if (is_empty_staging && !entry.is_reparse_point) {
          NoteFilled(at);
          is_empty_staging = false;
        }
        if (entry.is_directory && WindowsPath::IsName(entry.name) &&
            LookAtEntry(at, *directory, entry))
          ++links;
        if (found_bytes_ > limits_.found_bytes) return CheckLimits();
      }
    }
  }

  // Records the entry if it is a link. Adds any other directory to the pending ones. Returns true
  // if a link was recorded.
  bool LookAtEntry(const Pending& at, File& directory, const machine::DirectoryEntry& entry) {
    std::string below = absl::StrCat(at.below, at.below.empty() ? "" : "\\", entry.name);
    const absl::StatusOr<WindowsPath> path = starts_[at.start].path.path.Join("path", below);
    // The path is too long.
    if (!path.ok()) return false;
    const ConfinedPath confined{*path, starts_[at.start].path.roots};
    if (entry.is_reparse_point) {
      const std::unique_ptr<File> file = Open(directory, entry.name);
      if (file == nullptr) return false;
      const absl::StatusOr<machine::FileAttributes> attributes = file->GetAttributes();
      if (!attributes.ok()) Miss();
      if (!attributes.ok() || !attributes->is_directory) return false;
      if (machine::IsNameSurrogate(*attributes)) return NoteLink(*file, *attributes, confined);
    }
    // Skips a root that is also a start.
    const bool is_start = IsRoot(confined) &&
                          std::any_of(starts_.begin(), starts_.end(),
                                      [&](const Start& start) { return start.path.path == *path; });
    if (!is_start) Push({at.start, std::move(below), at.depth + 1, 0});
    return false;
  }

  bool NoteLink(File& file, const machine::FileAttributes& attributes, const ConfinedPath& path) {
    const bool is_link = attributes.reparse_tag == machine::kReparseTagSymlink ||
                         attributes.reparse_tag == machine::kReparseTagMountPoint;
    // Skips another program's kind of link, because no call follows such a link.
    if (!is_link) return false;
    const absl::StatusOr<machine::Bytes> data = file.ReadReparsePoint();
    if (!data.ok()) {
      Miss();
      return false;
    }
    absl::StatusOr<machine::ReparsePoint> point = machine::ParseReparsePoint(*data);
    if (!point.ok()) {
      // The link is malformed but exists.
      point = machine::ReparsePoint();
      point->tag = attributes.reparse_tag;
    }
    Note(*point, path);
    return true;
  }

  void Note(const machine::ReparsePoint& point, const ConfinedPath& path) {
    LinkToFollow found{{}, path, point.volume};
    found.link.path = path.path.ToString();
    if (point.volume.has_value()) {
      found.link.kind = LinkKind::kMountedVolume;
      found.link.target = point.volume->ToString();
    } else {
      found.link.kind =
          point.tag == machine::kReparseTagMountPoint ? LinkKind::kJunction : LinkKind::kSymlink;
      if (IsPrintable(point.target)) found.link.target = point.target;
    }
    found_bytes_ += sizeof(LinkToFollow) + found.link.path.size() + found.link.target.size();
    found_.push_back(std::move(found));
  }

  absl::Status Follow(LinkToFollow* found) {
    ABSL_RETURN_IF_ERROR(context_.Check());
    if (!found->volume.has_value() && found->link.target.empty()) return absl::OkStatus();
    if (SteadyTime::Now() > until_) {
      Miss();
      return absl::OkStatus();
    }
    if (!found->volume.has_value()) return ends_.Follow(found->path, &found->link);
    found->link.end = ends_.EndAt(*found->volume);
    return absl::OkStatus();
  }

  LinkList Answer() {
    for (LinkToFollow& found : found_) list_.links.push_back(std::move(found.link));
    const auto by_path = [](const FoundLink& a, const FoundLink& b) { return a.path < b.path; };
    const auto same = [](const FoundLink& a, const FoundLink& b) { return a.path == b.path; };
    std::stable_sort(list_.links.begin(), list_.links.end(), by_path);
    // Drops duplicates, because a directory may have been read twice.
    list_.links.erase(std::unique(list_.links.begin(), list_.links.end(), same), list_.links.end());
    std::vector<std::string>& filled = list_.filled_staging_folders;
    std::sort(filled.begin(), filled.end());
    filled.erase(std::unique(filled.begin(), filled.end()), filled.end());
    return std::move(list_);
  }

  machine::Os& os_;
  const CallContext& context_;
  const LinkWalkLimits limits_;
  LinkEnds ends_;
  SteadyTime until_;
  std::vector<Start> starts_;
  // The directories to read. Index 1 has the directories that a pod can write, index 0 all others.
  struct Part {
    std::deque<Pending> pending;
    size_t pending_bytes = 0;
  };
  Part parts_[2];
  bool in_pods_ = false;
  // The open directories from the start with index `chain_start_` down to the last directory that
  // was read.
  std::vector<std::pair<std::string, std::unique_ptr<File>>> chain_;
  size_t chain_start_ = 0;
  std::vector<LinkToFollow> found_;
  // The number of links at the front of `found_` that have been followed.
  size_t followed_ = 0;
  LinkList list_;
  size_t entries_ = 0;
  size_t found_bytes_ = 0;
  bool is_over_ = false;
};

}  // namespace

absl::StatusOr<LinkList> ListLinks(const HostDeps& deps, const CallContext& context,
                                   const std::vector<ConfinedPath>& starts,
                                   const LinkWalkLimits& limits) {
  return LinkWalker(deps, context, limits).Run(starts);
}

}  // namespace csi_proxy::host
