#include "absl/strings/str_cat.h"
#include "server/machine/simulated/files.h"
#include "server/machine/simulated/hosts.h"

namespace csi_proxy::machine::simulated {
namespace {

class SimulatedFilesystem final : public FilesystemHost {
 public:
  explicit SimulatedFilesystem(Core* core) : core_(*core) {}

  absl::StatusOr<bool> Exists(const CallContext& context, const ConfinedPath& path) override {
    return core_.Run(context, "filesystem.Exists", path.path.ToString(),
                     [&](NodeState& state) { return EntryExists(state, path); });
  }

  absl::Status MakeDirectories(const CallContext& context, const ConfinedPath& path) override {
    return core_.Run(context, "filesystem.MakeDirectories", path.path.ToString(),
                     [&](NodeState& state) { return MakeEntryDirectories(state, path); });
  }

  absl::Status Remove(const CallContext& context, const ConfinedPath& path,
                      bool recursive) override {
    return core_.Run(context, "filesystem.Remove", path.path.ToString(),
                     [&](NodeState& state) { return RemoveEntry(state, path, recursive); });
  }

  absl::Status RemoveContents(const CallContext& context, const ConfinedPath& path) override {
    return core_.Run(context, "filesystem.RemoveContents", path.path.ToString(),
                     [&](NodeState& state) { return RemoveEntryContents(state, path); });
  }

  absl::Status CreateLink(const CallContext& context, const ConfinedPath& source,
                          const ConfinedPath& link) override {
    return core_.Run(context, "filesystem.CreateLink", link.path.ToString(),
                     [&](NodeState& state) -> absl::Status {
                       const absl::StatusOr<Resolved> at =
                           Resolve(state, source, {.follow_last = true});
                       if (!at.ok()) return at.status();
                       if (!at->found()) return MissingError(source.path.ToString());
                       if (at->at().kind != Tree::Kind::kDirectory) {
                         return absl::FailedPreconditionError(
                             absl::StrCat(source.path.ToString(), " is no directory"));
                       }
                       return MakeLinkEntry(state, source.path.ToString(), link);
                     });
  }

  absl::Status CreateLinkToShare(const CallContext& context, const UncPath& target,
                                 const ConfinedPath& link) override {
    return core_.Run(
        context, "filesystem.CreateLinkToShare", link.path.ToString(),
        [&](NodeState& state) { return MakeLinkEntry(state, target.ToString(), link); });
  }

  absl::StatusOr<LinkInfo> ReadLink(const CallContext& context, const ConfinedPath& path) override {
    return core_.Run(context, "filesystem.ReadLink", path.path.ToString(),
                     [&](NodeState& state) { return DescribeLink(state, path); });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<FilesystemHost> NewFilesystemHost(Core* core) {
  return std::make_unique<SimulatedFilesystem>(core);
}

}  // namespace csi_proxy::machine::simulated
