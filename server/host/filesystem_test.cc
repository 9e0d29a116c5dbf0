#include "server/host/remove_tree.h"
#include "server/host/testing.h"
#include "server/machine/os_wrapper_testing.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::host {
namespace {

constexpr char kSmb[] = R"(
  smb_server {
    name: "srv" user { name: "u" password: "p" }
    share { name: "data" file { path: "dir\\sub" } file { path: "f" kind: FILE size_bytes: 3 } }
  }
  smb_mapping { remote_path: "\\\\srv\\data" username: "u" }
)";

class FilesystemTest : public testing::Test {
 protected:
  FilesystemHost& files() { return host_->filesystem(); }
  absl::Status Link(absl::string_view name, absl::string_view target) {
    return node_->MakeLink("C:\\var\\lib\\kubelet\\" + std::string(name), target);
  }
  LinkInfo Read(absl::string_view name) {
    const absl::StatusOr<LinkInfo> info = files().ReadLink(context_, Kubelet(name));
    EXPECT_THAT(info, IsOk());
    return info.value_or(LinkInfo{});
  }

  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode(kSmb);
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(FilesystemTest, MakeDirectoriesDoesNotFollowDanglingLinks) {
  ASSERT_THAT(Link("in", "C:\\var\\lib\\kubelet\\pods"), IsOk());
  ASSERT_THAT(Link("gone", "C:\\var\\lib\\kubelet\\nothing\\there"), IsOk());
  EXPECT_THAT(files().MakeDirectories(context_, Kubelet("in")), IsOk());
  EXPECT_THAT(files().MakeDirectories(context_, Kubelet("in\\p2\\x")), IsOk());
  EXPECT_THAT(files().Exists(context_, Kubelet("pods\\p2\\x")), Yields(true));
  EXPECT_THAT(files().MakeDirectories(context_, Kubelet("gone")), HasCode(kExists));
  EXPECT_THAT(files().MakeDirectories(context_, Kubelet("gone\\x")), HasCode(kExists));
  EXPECT_THAT(files().Exists(context_, Kubelet("nothing")), Yields(false));
}

TEST_F(FilesystemTest, WritesToAFullOrProtectedVolumeFail) {
  ASSERT_THAT(node_->WriteFile("C:\\var\\lib\\kubelet\\big", 8'500'000'000, false), IsOk());
  EXPECT_THAT(node_->WriteFile("C:\\var\\lib\\kubelet\\more", 500'000'000, false),
              FailsWith(kInternal, "error 0x70"));
  EXPECT_THAT(node_->WriteFile("C:\\var\\lib\\kubelet\\huge", ~uint64_t{0}, false),
              HasCode(kInvalid));
  NodeState state = node_->Snapshot();
  state.disks[0].read_only = true;
  node_ = *Machine::Create(std::move(state));
  host_ = NewSimulatedHost(*node_);
  EXPECT_THAT(files().MakeDirectories(context_, Kubelet("x")), FailsWith(kInternal, "0x13"));
  EXPECT_THAT(files().Remove(context_, Kubelet("pods"), true), FailsWith(kInternal, "0x13"));
  EXPECT_THAT(files().RemoveContents(context_, Kubelet("pods")), FailsWith(kInternal, "0x13"));
}

// The reparse points are a container's layer, a cloud directory and a deduplicated file.
TEST_F(FilesystemTest, RemovalEntersReparsePointsThatAreNotLinks) {
  node_ = TestNode(R"(disk { number: 4 size_bytes: 1073741824 style: GPT partition {
    size_bytes: 536870912 volume { file_system: "NTFS" drive_letter: "D"
      file { path: "pod\\layer" reparse_tag: 0x80000018 }
      file { path: "pod\\layer\\cloud" reparse_tag: 0x9000001A }
      file { path: "pod\\layer\\cloud\\f" kind: FILE size_bytes: 5 reparse_tag: 0x80000013 } } } })");
  host_ = NewSimulatedHost(*node_);
  EXPECT_THAT(files().Exists(context_, Anywhere("D:\\pod\\layer\\cloud\\f")), Yields(true));
  EXPECT_THAT(files().Remove(context_, Anywhere("D:\\pod"), true), IsOk());
  EXPECT_THAT(files().Exists(context_, Anywhere("D:\\pod")), Yields(false));
}

// Each listing returns at most some hundred entries, because a pod's directory may have millions.
TEST_F(FilesystemTest, RemovalAndMountingReadDirectoriesInBatches) {
  struct BatchFile final : machine::FileWrapper<> {
    using FileWrapper::FileWrapper;
    absl::StatusOr<std::vector<std::string>> List() override {
      return absl::InternalError("all entries at once");
    }
    std::unique_ptr<machine::File> Wrap(std::unique_ptr<machine::File> file) override {
      return std::make_unique<BatchFile>(std::move(file));
    }
  };
  struct BatchOs final : machine::OsWrapper<> {
    using OsWrapper::OsWrapper;
    std::unique_ptr<machine::File> Wrap(std::unique_ptr<machine::File> file) override {
      return std::make_unique<BatchFile>(std::move(file));
    }
  };
  Host host(machine::simulator::wmi::NewSimulatedSession(node_->core()),
            std::make_unique<BatchOs>(machine::simulator::NewSimulatedOs(node_->core())));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(node_->WriteFile(absl::StrCat("C:\\var\\lib\\kubelet\\tree\\", i), 1, false),
                IsOk());
  }
  EXPECT_THAT(host.volume().Mount(context_, TestVolume(2), Kubelet("tree")),
              FailsWith(kPrecondition, "is not empty"));
  EXPECT_THAT(host.filesystem().RemoveContents(context_, Kubelet("tree")), IsOk());
  EXPECT_THAT(host.volume().Mount(context_, TestVolume(2), Kubelet("tree")), IsOk());
}

TEST_F(FilesystemTest, RemovalOfADeepTreeRemovesTheDirectoriesOnEachLevel) {
  std::string path = "tree";
  for (int level = 0; level < 100; ++level) {
    for (const char* name : {"\\b", "\\c\\d"}) {
      ASSERT_THAT(files().MakeDirectories(context_, Kubelet(path + name)), IsOk());
    }
    path += "\\b";
  }
  EXPECT_THAT(files().Remove(context_, Kubelet("tree"), true), IsOk());
  EXPECT_THAT(files().Exists(context_, Kubelet("tree")), Yields(false));
}

// A directory that contains itself. A program can nest directories very deep by renaming them.
struct EndlessDirectory final : machine::FileWrapper<> {
  EndlessDirectory() : FileWrapper(nullptr) {}
  absl::StatusOr<std::unique_ptr<machine::File>> Open(const std::string&,
                                                      machine::Access) override {
    return std::make_unique<EndlessDirectory>();
  }
  absl::StatusOr<machine::FileAttributes> GetAttributes() override {
    return machine::FileAttributes{.is_directory = true};
  }
  absl::StatusOr<std::vector<machine::DirectoryEntry>> ListNext(bool) override {
    return std::vector<machine::DirectoryEntry>{{.name = "a", .is_directory = true}};
  }
};

TEST_F(FilesystemTest, RemovalRefusesATreeThatNoPathCanName) {
  EndlessDirectory directory;
  EXPECT_THAT(RemoveBelow({}, context_, directory, "C:\\tree"),
              FailsWith(kPrecondition, "C:\\tree: directories are nested more than 16384 deep"));
}

// Makes a call of the machine, then runs the function of the other program.
struct AfterEachCall {
  template <typename Call>
  auto operator()(Call call) const -> decltype(call()) {
    auto result = call();
    other_program();
    return result;
  }

  std::function<void()> other_program;
};

TEST_F(FilesystemTest, RemovalAlsoRemovesEntriesThatAreAddedDuringTheCall) {
  int left = 0;
  const AfterEachCall through = {[&] {
    if (left-- <= 0) return;
    for (const char* name : {"tree\\new", "tree\\below\\new"}) {
      (void)node_->WriteFile(absl::StrCat("C:\\var\\lib\\kubelet\\", name), 1, false);
    }
  }};
  Host host(machine::simulator::wmi::NewSimulatedSession(node_->core()),
            std::make_unique<machine::OsWrapper<AfterEachCall>>(
                machine::simulator::NewSimulatedOs(node_->core()), through));
  ASSERT_THAT(files().MakeDirectories(context_, Kubelet("tree\\below")), IsOk());
  left = 12;
  EXPECT_THAT(host.filesystem().Remove(context_, Kubelet("tree"), true), IsOk());
  EXPECT_THAT(files().Exists(context_, Kubelet("tree")), Yields(false));
}

TEST_F(FilesystemTest, ALinkToAShareHasATargetOnlyIfTheTargetIsReached) {
  const auto unc = [](absl::string_view text) { return *UncPath::Parse("target", text); };
  ASSERT_THAT(files().CreateLinkToShare(context_, unc("\\\\Srv\\Data\\dir"), Kubelet("share")),
              IsOk());
  ASSERT_THAT(files().CreateLinkToShare(context_, unc("\\\\srv\\data\\no"), Kubelet("gone")),
              IsOk());
  ASSERT_THAT(files().CreateLinkToShare(context_, unc("\\\\Srv\\Data"), Kubelet("root")), IsOk());
  EXPECT_EQ(Read("root").target, "\\\\Srv\\Data\\");
  EXPECT_TRUE(Read("root").target_exists);
  EXPECT_THAT(files().CreateLinkToShare(context_, unc("\\\\srv\\data"), Kubelet("share")),
              HasCode(kExists));
  EXPECT_EQ(Read("share").target, "\\\\Srv\\Data\\dir\\");
  EXPECT_TRUE(Read("share").target_exists);
  EXPECT_FALSE(Read("gone").target_exists);
  // Drivers publish a share by a link to the staged link.
  ASSERT_THAT(files().CreateLink(context_, Kubelet("share"), Kubelet("pods\\p1\\mount")), IsOk());
  EXPECT_TRUE(Read("pods\\p1\\mount").target_exists);
  EXPECT_THAT(files().Exists(context_, Kubelet("share\\sub")), HasCode(kDenied));
  EXPECT_THAT(files().MakeDirectories(context_, Kubelet("share")), IsOk());

  ASSERT_THAT(node_->SetServerReachable("srv", false), IsOk());
  EXPECT_FALSE(Read("pods\\p1\\mount").target_exists);
  // The link is made nevertheless, because the call does not access the server.
  ASSERT_THAT(files().CreateLink(context_, Kubelet("share"), Kubelet("pods\\p1\\late")), IsOk());
  ASSERT_THAT(node_->SetServerReachable("SRV", true), IsOk());
  EXPECT_TRUE(Read("share").target_exists);
  ASSERT_THAT(node_->BreakMapping("\\\\srv\\data"), IsOk());
  EXPECT_FALSE(Read("share").target_exists);
}

// SYSTEM would sign in as the node at any server that a pod's link names.
TEST_F(FilesystemTest, OnlyMappedServersAreContacted) {
  const auto fail = [&](const char* call) {
    FaultRule rule;
    rule.operation = call;
    rule.times = 1;
    rule.code = kInternal;
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
  };
  fail("win32.Reach");
  fail("win32.GetSpace");
  const char* const targets[] = {"\\\\evil\\share\\a", "\\\\evil@8080\\DavWWWRoot\\a",
                                 "\\\\srv\\data2"};
  for (const char* target : targets) {
    SCOPED_TRACE(target);
    ASSERT_THAT(Link("bait", target), IsOk());
    EXPECT_TRUE(Read("bait").is_link);
    EXPECT_FALSE(Read("bait").target_exists);
    EXPECT_THAT(files().Exists(context_, Kubelet("bait")), Yields(true)) << "the link itself";
    EXPECT_FALSE(files().MakeDirectories(context_, Kubelet("bait")).ok());
    EXPECT_FALSE(files().GetStats(context_, Kubelet("bait")).ok());
    ASSERT_THAT(files().Remove(context_, Kubelet("bait"), false), IsOk());
  }
  EXPECT_EQ(node_->Snapshot().faults.size(), 2u) << "they were not called";
  node_->ClearFaults();
  // Other programs map folders (github.com/kubernetes-csi/csi-driver-smb/issues/1035).
  node_->core()->Change([](machine::simulator::NodeState& state) {
    state.smb_mappings[0].remote_path = "\\\\SRV\\data\\dir";
  });
  fail("win32.Reach");
  ASSERT_THAT(Link("beside", "\\\\srv\\data\\f"), IsOk());
  EXPECT_FALSE(Read("beside").target_exists);
  EXPECT_EQ(node_->Snapshot().faults.size(), 1u);
  ASSERT_THAT(Link("folder", "\\\\srv\\Data\\dir\\sub"), IsOk());
  EXPECT_FALSE(Read("folder").target_exists);
  EXPECT_THAT(node_->Snapshot().faults, testing::IsEmpty()) << "asked";
}

// The server may not answer, and operations on the node itself must not wait for it.
TEST_F(FilesystemTest, ACallThatWaitsForAServerYieldsItsSlot) {
  const UncPath share = *UncPath::Parse("path", "\\\\srv\\data\\dir");
  ASSERT_THAT(files().CreateLinkToShare(context_, share, Kubelet("share")), IsOk());
  TestSlot slot;
  const CallContext with_slot = context_.With(&slot);
  EXPECT_THAT(files().Exists(with_slot, Kubelet("share")), Yields(true));
  EXPECT_THAT(files().MakeDirectories(with_slot, Kubelet("dir")), IsOk());
  EXPECT_THAT(files().CreateLink(with_slot, Kubelet("dir"), Kubelet("to_dir")), IsOk());
  EXPECT_THAT(files().ReadLink(with_slot, Kubelet("to_dir")), IsOk());
  EXPECT_THAT(files().GetStats(with_slot, Kubelet("to_dir")), IsOk());
  // A call that makes a link to a share does not access the server.
  EXPECT_THAT(files().CreateLink(with_slot, Kubelet("share"), Kubelet("to_share")), IsOk());
  EXPECT_FALSE(slot.TakeYielded()) << "all of that is on the node";
  EXPECT_THAT(files().MakeDirectories(with_slot, Kubelet("share")), IsOk());
  EXPECT_TRUE(slot.TakeYielded());
  EXPECT_THAT(files().ReadLink(with_slot, Kubelet("share")), IsOk());
  EXPECT_TRUE(slot.TakeYielded());
  EXPECT_THAT(files().GetStats(with_slot, Kubelet("share")), IsOk());
  EXPECT_TRUE(slot.TakeYielded());
}

}  // namespace
}  // namespace csi_proxy::host
