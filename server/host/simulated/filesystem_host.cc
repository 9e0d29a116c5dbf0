#include <utility>

#include "absl/strings/str_cat.h"
#include "server/host/simulated/hosts.h"
#include "server/host/simulated/resolver.h"
#include "server/host/simulated/storage.h"

namespace csi_proxy::host::simulated {
namespace {

// Adds the directories of `names`, one below the other, or none of them.
absl::Status AddDirectories(const Resolved& at, const std::vector<std::string>& names,
                            const std::string& path) {
  if (!at.place.has_value()) {
    return absl::PermissionDeniedError(absl::StrCat(path, " lies on a server"));
  }
  const std::string operation = absl::StrCat("creating directory ", path);
  if (absl::Status s = CheckWritable(*at.place, names.size() * kKiB, operation); !s.ok()) return s;
  Tree::Id parent = at.entry;
  std::optional<Tree::Id> first;
  for (const std::string& name : names) {
    Tree::Entry directory;
    directory.name = name;
    const absl::StatusOr<Tree::Id> made = at.tree->Add(parent, std::move(directory));
    if (!made.ok()) {
      if (first.has_value()) at.tree->Remove(*first);
      return made.status();
    }
    parent = *made;
    if (!first.has_value()) first = parent;
  }
  return absl::OkStatus();
}

class SimulatedFilesystemHost final : public FilesystemHost {
 public:
  explicit SimulatedFilesystemHost(Core* core) : core_(core) {}

  absl::StatusOr<bool> Exists(const CallContext& context, const ConfinedPath& path) override {
    if (absl::Status s = Begin(context, "filesystem.Exists", path); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at = Resolve(core_->state, path);
    if (!at.ok()) return at.status();
    return at->found();
  }

  absl::Status MakeDirectories(const CallContext& context, const ConfinedPath& path) override {
    if (absl::Status s = Begin(context, "filesystem.MakeDirectories", path); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at = Resolve(core_->state, path, {.follow_last = true});
    if (!at.ok()) return at.status();
    const std::string text = path.path.ToString();
    if (at->dangling) {
      return absl::AlreadyExistsError(
          absl::StrCat("in the way of ", text, " is a link that leads nowhere"));
    }
    if (at->tree == nullptr) return MissingError(text);
    if (at->at().kind != Tree::Kind::kDirectory) {
      return absl::AlreadyExistsError(
          absl::StrCat("in the way of ", text, " is a file: ", at->tree->PathOf(at->entry)));
    }
    if (at->found()) return absl::OkStatus();
    return AddDirectories(*at, at->missing, text);
  }

  absl::Status Remove(const CallContext& context, const ConfinedPath& path,
                      bool recursive) override {
    if (absl::Status s = Begin(context, "filesystem.Remove", path); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at = Resolve(core_->state, path);
    if (!at.ok()) return at.status();
    const std::string text = path.path.ToString();
    if (!at->found()) return recursive ? absl::OkStatus() : MissingError(text);
    const Tree::Entry& entry = at->at();
    if (at->entry == Tree::kRoot) {
      return absl::FailedPreconditionError(absl::StrCat(text, " is the root of a volume"));
    }
    if (entry.mounted.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(text, " is in use: a volume is mounted there"));
    }
    if (!recursive && !entry.children.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(text, " is not empty"));
    }
    if (absl::Status s = CheckRemovable(*at, text); !s.ok()) return s;
    at->tree->Remove(at->entry);
    return absl::OkStatus();
  }

  absl::Status RemoveContents(const CallContext& context, const ConfinedPath& path) override {
    if (absl::Status s = Begin(context, "filesystem.RemoveContents", path); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at = Resolve(core_->state, path);
    if (!at.ok()) return at.status();
    const std::string text = path.path.ToString();
    if (!at->found()) return MissingError(text);
    if (at->at().kind != Tree::Kind::kDirectory || at->at().mounted.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(text, " is no plain directory: links and mount points are not followed"));
    }
    if (absl::Status s = CheckRemovable(*at, text); !s.ok()) return s;
    at->tree->RemoveChildren(at->entry);
    return absl::OkStatus();
  }

  absl::Status CreateLink(const CallContext& context, const ConfinedPath& source,
                          const ConfinedPath& link) override {
    if (absl::Status s = Begin(context, "filesystem.CreateLink", link); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> from = Resolve(core_->state, source, {.follow_last = true});
    if (!from.ok()) return from.status();
    const std::string target = source.path.ToString();
    if (!from->found()) return MissingError(target);
    if (from->at().kind != Tree::Kind::kDirectory) {
      return absl::FailedPreconditionError(absl::StrCat(target, " is no directory"));
    }
    return AddLink(link, target);
  }

  absl::Status CreateLinkToShare(const CallContext& context, const UncPath& target,
                                 const ConfinedPath& link) override {
    if (absl::Status s = Begin(context, "filesystem.CreateLinkToShare", link); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    return AddLink(link, target.ToString());
  }

  absl::StatusOr<LinkInfo> ReadLink(const CallContext& context, const ConfinedPath& path) override {
    if (absl::Status s = Begin(context, "filesystem.ReadLink", path); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at = Resolve(core_->state, path);
    if (!at.ok()) return at.status();
    if (!at->found()) return MissingError(path.path.ToString());
    const Tree::Entry& entry = at->at();
    LinkInfo info;
    if (entry.mounted.has_value()) {
      info.is_link = true;
      info.target = entry.mounted->ToString();
      info.target_exists = FindVolume(core_->state, *entry.mounted).ok();
    } else if (entry.kind == Tree::Kind::kLink) {
      info.is_link = true;
      info.target = entry.target;
      const absl::StatusOr<Resolved> to = Resolve(core_->state, path, {.follow_last = true});
      if (!to.ok()) return to.status();
      info.target_exists = to->found();
    }
    return info;
  }

 private:
  absl::Status Begin(const CallContext& context, absl::string_view operation,
                     const ConfinedPath& path) {
    return core_->Begin(context, operation, path.path.ToString());
  }

  static absl::Status CheckRemovable(const Resolved& at, const std::string& path) {
    if (!at.place.has_value()) {
      return absl::PermissionDeniedError(absl::StrCat(path, " lies on a server"));
    }
    if (at.place->disk->read_only) {
      return Failure(absl::StrCat("removing ", path), kErrorWriteProtect);
    }
    return absl::OkStatus();
  }

  absl::Status AddLink(const ConfinedPath& link, const std::string& target)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    const absl::StatusOr<Resolved> at = Resolve(core_->state, link);
    if (!at.ok()) return at.status();
    const std::string path = link.path.ToString();
    if (at->found()) return absl::AlreadyExistsError(absl::StrCat(path, " exists already"));
    if (at->tree == nullptr || at->missing.size() > 1 || at->dangling) {
      return MissingError(link.path.Parent().ToString());
    }
    if (!at->place.has_value()) {
      return absl::PermissionDeniedError(absl::StrCat(path, " lies on a server"));
    }
    const std::string operation = absl::StrCat("creating link ", path);
    if (absl::Status s = CheckWritable(*at->place, 0, operation); !s.ok()) return s;
    Tree::Entry entry;
    entry.kind = Tree::Kind::kLink;
    entry.name = at->missing[0];
    entry.target = target;
    return at->tree->Add(at->entry, std::move(entry)).status();
  }

  Core* const core_;
};

}  // namespace

std::unique_ptr<FilesystemHost> NewFilesystemHost(Core* core) {
  return std::make_unique<SimulatedFilesystemHost>(core);
}

}  // namespace csi_proxy::host::simulated
