// Tests where links and mount points may lead, through the filesystem and volume hosts.
#include "server/host/resolve_path.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/host/testing.h"
#include "server/simulator/win32/os_double.h"

namespace csi_proxy::host {
namespace {

class ResolverTest : public testing::Test {
 protected:
  absl::StatusOr<bool> Exists(const ConfinedPath& path) {
    return host_->filesystem().Exists(context_, path);
  }

  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode();
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(ResolverTest, LinksInsideTheRootsAreFollowedExceptAtTheEndOfAPath) {
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\in", "C:\\var\\lib\\kubelet\\pods"), IsOk());
  EXPECT_THAT(Exists(Kubelet("in\\p1")), Yields(true));
  EXPECT_THAT(Exists(Kubelet("IN\\P1")), Yields(true));
  EXPECT_THAT(Exists(Kubelet("in\\p2")), Yields(false));
  ASSERT_THAT(host_->filesystem().Remove(context_, Kubelet("in"), true), IsOk());
  EXPECT_THAT(Exists(Kubelet("pods\\p1")), Yields(true));
}

TEST_F(ResolverTest, AnExpiredCallFollowsNoLink) {
  ASSERT_THAT(node_->MakeLink(R"(C:\var\lib\kubelet\in)", R"(C:\var\lib\kubelet\pods)"), IsOk());
  FaultRule slow;
  slow.operation = "win32.ReadReparsePoint";
  slow.latency = absl::Milliseconds(40);
  ASSERT_THAT(node_->InjectFault(slow), IsOk());
  EXPECT_THAT(
      host_->filesystem().Exists(context_.WithTimeout(absl::Milliseconds(10)), Kubelet("in\\p1")),
      HasCode(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(ResolverTest, LinksAboveTheRootsMayLeadToAMountPoint) {
  ASSERT_THAT(node_->MakeDirectory(R"(C:\mnt)"), IsOk());
  ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), Anywhere(R"(C:\mnt)")), IsOk());
  ASSERT_THAT(node_->MakeDirectory(R"(C:\mnt\kubelet\pods)"), IsOk());
  ASSERT_THAT(node_->MakeLink(R"(C:\alias)", R"(C:\mnt)"), IsOk());
  const auto roots =
      std::make_shared<PathRoots>(std::vector<WindowsPath>{Path(R"(C:\alias\kubelet)")});
  EXPECT_THAT(Exists({Path(R"(C:\alias\kubelet\pods)"), roots}), Yields(true));
  EXPECT_THAT(Exists({Path(R"(C:\alias\kubelet\none)"), roots}), Yields(false));
}

// An administrator may keep the working directory on a server, by links above it.
TEST_F(ResolverTest, LinksAboveTheRootsMayLeadToAServer) {
  node_ = TestNode(R"(smb_server {
      name: "fileserver.example"
      user { name: "u" password: "p" }
      share { name: "data" file { path: "kubelet\\pods" } }
  })");
  host_ = NewSimulatedHost(*node_);
  ASSERT_THAT(host_->smb().CreateMapping(context_, R"(\\fileserver.example\data)",
                                         {"u", Secret("p")}, true),
              IsOk());
  ASSERT_THAT(node_->MakeLink(R"(C:\server)", R"(\\fileserver.example\data)"), IsOk());
  ASSERT_THAT(node_->MakeLink(R"(C:\alias)", R"(C:\server)"), IsOk());
  const auto roots =
      std::make_shared<PathRoots>(std::vector<WindowsPath>{Path(R"(C:\alias\kubelet)")});
  EXPECT_THAT(Exists({Path(R"(C:\alias\kubelet)"), roots}), Yields(true));
  EXPECT_THAT(Exists({Path(R"(C:\alias\kubelet\pods)"), roots}), Yields(true));
  EXPECT_THAT(Exists({Path(R"(C:\alias\kubelet\none)"), roots}), Yields(false));
  // The server resolves the rest of the path.
  const std::unique_ptr<machine::Os> os = machine::simulator::NewSimulatedOs(node_->core());
  for (const char* link : {"C:\\server", "C:\\alias"}) {
    const std::string text = absl::StrCat(link, R"(\kubelet\pods)");
    for (const ConfinedPath& path :
         {Anywhere(text),
          ConfinedPath{Path(text), std::make_shared<PathRoots>(std::vector<WindowsPath>{
                                       Path(absl::StrCat(link, "\\kubelet"))})}}) {
      const auto walked = ResolvePath(*os, context_, path);
      ASSERT_THAT(walked, IsOk());
      EXPECT_EQ(walked->server->ToString(), R"(\\fileserver.example\data\kubelet\pods)");
      EXPECT_EQ(walked->missing, std::vector<std::string>());
      EXPECT_FALSE(walked->found());
    }
  }
}

// Entries made through a dangling link would be at another place once the target exists again.
TEST_F(ResolverTest, DanglingLinksAboveTheRootsAreErrors) {
  ASSERT_THAT(node_->MakeLink(R"(C:\alias)", R"(C:\gone)"), IsOk());
  ASSERT_THAT(node_->MakeLink(R"(C:\drive)", R"(Q:\)"), IsOk());
  for (const char* link : {R"(C:\alias)", R"(C:\drive)"}) {
    const std::string root = absl::StrCat(link, "\\kubelet");
    for (const ConfinedPath& path :
         {Anywhere(root + "\\x"),
          ConfinedPath{Path(root + "\\x"),
                       std::make_shared<PathRoots>(std::vector<WindowsPath>{Path(root)})}}) {
      EXPECT_EQ(host_->filesystem().MakeDirectories(context_, path),
                absl::AlreadyExistsError(
                    absl::StrCat("a link without a target is in the way of ", root, "\\x")));
    }
  }
  EXPECT_THAT(Exists(Anywhere("C:\\gone")), Yields(false));
}

// Windows' errors for a missing file, directory, drive or medium, for an entry being deleted and
// for an unrecognised volume (learn.microsoft.com/windows/win32/debug/system-error-codes).
TEST_F(ResolverTest, AnAbsentEntryIsNotAnError) {
  const auto exists_when_open_says = [&](uint32_t code) {
    FaultRule rule;
    rule.operation = "win32.Open";
    rule.times = 1;
    rule.code = kInternal;
    rule.error.code = code;
    EXPECT_THAT(node_->InjectFault(rule), IsOk());
    return Exists(Kubelet("pods"));
  };
  for (const uint32_t code : {2u, 3u, 15u, 21u, 303u, 1005u}) {
    EXPECT_THAT(exists_when_open_says(code), Yields(false)) << code;
  }
  for (const uint32_t code : {5u, 31u, 1117u}) {
    EXPECT_FALSE(exists_when_open_says(code).ok()) << code;
  }
}

// The look-ups of volumes follow more links than Windows does, but must stay in the roots too.
TEST_F(ResolverTest, AMountOfTheRootsOwnVolumeIsNotEnteredBehindManyLinks) {
  ASSERT_THAT(node_->MakeLink("C:\\k0", "C:\\var\\lib\\kubelet"), IsOk());
  for (int i = 1; i < 100; ++i) {
    ASSERT_THAT(node_->MakeLink(absl::StrCat("C:\\k", i), absl::StrCat("C:\\k", i - 1)), IsOk());
  }
  NodeState state = node_->Snapshot();
  Tree& tree = state.disks[2].partitions[0].volume->tree;
  tree.SetMounted(*tree.Add(Tree::kRoot, Tree::Directory("c")), TestVolume(1));
  node_ = *Machine::Create(std::move(state));
  host_ = NewSimulatedHost(*node_);
  ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  const auto roots = std::make_shared<PathRoots>(std::vector<WindowsPath>{Path("C:\\k99")});
  EXPECT_THAT(host_->volume().GetVolumeHolding(context_, {Path("C:\\k99\\pods\\p1\\c"), roots}),
              Yields(TestVolume(1)));
  EXPECT_THAT(
      host_->volume().GetVolumeHolding(context_, {Path("C:\\k99\\pods\\p1\\c\\Windows"), roots}),
      FailsWith(kDenied, "mount point"));
}

// C:\var\lib contains the root `kubelet`, but is itself outside.
TEST_F(ResolverTest, ALinkToADirectoryAboveTheRootsIsOutside) {
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\up", "C:\\var\\lib"), IsOk());
  EXPECT_THAT(Exists(Kubelet("up\\kubelet\\pods")), HasCode(kDenied));
}

TEST_F(ResolverTest, PathsMayHave63LinksAndVolumeLookUpsMayHave256) {
  for (int i = 0; i < 300; ++i) {
    const std::string target = i == 0 ? "pods" : absl::StrCat("l", i - 1);
    ASSERT_THAT(node_->MakeLink(absl::StrCat("C:\\var\\lib\\kubelet\\l", i),
                                "C:\\var\\lib\\kubelet\\" + target),
                IsOk());
  }
  EXPECT_THAT(Exists(Kubelet("l62\\p1")), Yields(true));
  EXPECT_THAT(Exists(Kubelet("l63\\p1")), HasCode(kPrecondition));
  EXPECT_THAT(host_->volume().GetVolumeHolding(context_, Kubelet("l255\\p1")),
              Yields(TestVolume(1)));
  EXPECT_THAT(host_->volume().GetVolumeHolding(context_, Kubelet("l256\\p1")),
              HasCode(kPrecondition));
}

TEST_F(ResolverTest, LinksInsideAMountedVolumeStayConfined) {
  VolumeHost& volumes = host_->volume();
  FilesystemHost& files = host_->filesystem();
  ASSERT_THAT(volumes.Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  ASSERT_THAT(files.MakeDirectories(context_, Kubelet("pods\\p1\\data")), IsOk());
  EXPECT_THAT(volumes.GetVolumeHolding(context_, Kubelet("pods\\p1\\data")), Yields(TestVolume(2)));
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\pods\\p1\\out", "C:\\Windows"), IsOk());
  EXPECT_THAT(Exists(Kubelet("pods\\p1\\out\\secret.txt")), HasCode(kDenied));
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\pods\\p1\\in", "C:\\var\\lib\\kubelet"),
              IsOk());
  EXPECT_THAT(Exists(Kubelet("pods\\p1\\in\\pods")), Yields(true));
}

// Mounting the system volume below the roots would open all of it.
TEST_F(ResolverTest, AMountOfTheRootsOwnVolumeIsNotEntered) {
  NodeState state = node_->Snapshot();
  Tree& tree = state.disks[2].partitions[0].volume->tree;
  const Tree::Id id = *tree.Add(Tree::kRoot, Tree::Directory("c"));
  tree.SetMounted(id, TestVolume(1));
  node_ = *Machine::Create(std::move(state));
  host_ = NewSimulatedHost(*node_);
  ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), Kubelet("pods\\p1")), IsOk());
  EXPECT_THAT(Exists(Kubelet("pods\\p1\\c")), Yields(true));
  EXPECT_THAT(
      Exists(Kubelet("pods\\p1\\c\\Windows")),
      FailsWith(kDenied, R"(the mount point C:\var\lib\kubelet\pods\p1\c leads to the volume of )"
                         R"(C:\var\lib\kubelet, outside C:\var\lib\kubelet)"));
  EXPECT_THAT(host_->filesystem().Remove(context_, Kubelet("pods\\p1\\c\\Windows"), true),
              HasCode(kDenied));
}

// A program that may write to a folder makes a junction in it, by hand or through the mount
// manager.
TEST_F(ResolverTest, AMountIsEnteredOnlyIfNoPodCanHaveMadeIt) {
  const struct {
    const char* folder;
    bool by_hand;
    bool is_entered;
  } kRows[] = {{"plugins\\driver", false, true},
               {"plugins\\driver", true, false},
               {"pods\\p1", false, true},
               {"pods\\p1\\volumes\\kubernetes.io~csi\\pv", false, true},
               {"pods\\p1\\volumes\\kubernetes.io~csi\\pv\\mount", false, false},
               {"pods\\p1\\volumes\\kubernetes.io~empty-dir\\e", false, false}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.folder);
    // The flags of early releases name the kubelet's folders themselves.
    const auto split = std::make_shared<PathRoots>(std::vector<WindowsPath>{
        Path(R"(C:\var\lib\kubelet\PODS)"), Path(R"(C:\var\lib\kubelet\plugins)")});
    node_->Reset();
    ASSERT_THAT(host_->filesystem().MakeDirectories(context_, Kubelet(row.folder)), IsOk());
    node_->core()->Change([&](NodeState& state) {
      Tree& tree = state.disks[0].partitions.back().volume->tree;
      Tree::Id at = *tree.Find(*tree.Find(*tree.Find(Tree::kRoot, "var"), "lib"), "kubelet");
      for (const absl::string_view name : absl::StrSplit(row.folder, '\\')) {
        at = *tree.Find(at, std::string(name));
      }
      tree.SetMounted(*tree.Add(at, Tree::Directory("j")), TestVolume(2), row.by_hand);
    });
    const auto below = Kubelet(absl::StrCat(row.folder, "\\j\\d"));
    const absl::Status made = host_->filesystem().MakeDirectories(context_, below);
    EXPECT_EQ(made.code(), row.is_entered ? absl::StatusCode::kOk : kDenied) << made;
    EXPECT_EQ(Exists(below).status().code(), made.code());
    EXPECT_EQ(Exists({below.path, split}).status().code(), made.code());
  }
}

// An administrator may keep all volumes' folders on a disk of their own.
TEST_F(ResolverTest, TheVolumesAreFoundInADiskMountedAtTheKubeletsFolder) {
  const struct {
    const char* disk;
    const char* volume;
    bool is_entered;
  } kRows[] = {{"plugins", R"(plugins\kubernetes.io\csi\d\globalmount)", true},
               {"PODS", R"(pods\u\volumes\kubernetes.io~csi\pv\mount)", true},
               {"pods", R"(pods\u\volumes\kubernetes.io~empty-dir\e\j)", false},
               {"other", R"(other\globalmount)", false},
               {R"(other\plugins)", R"(other\plugins\globalmount)", false}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.volume);
    node_ = TestNode(R"(disk { number: 4 size_bytes: 1073741824 style: GPT partition {
        size_bytes: 536870912 volume { file_system: "NTFS"
          id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000004}\\" } } })");
    host_ = NewSimulatedHost(*node_);
    FilesystemHost& files = host_->filesystem();
    ASSERT_THAT(files.Remove(context_, Kubelet("pods"), true), IsOk());
    ASSERT_THAT(files.MakeDirectories(context_, Kubelet(row.disk)), IsOk());
    ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), Kubelet(row.disk)), IsOk());
    ASSERT_THAT(files.MakeDirectories(context_, Kubelet(row.volume)), IsOk());
    ASSERT_THAT(host_->volume().Mount(context_, TestVolume(4), Kubelet(row.volume)), IsOk());
    const ConfinedPath below = Kubelet(absl::StrCat(row.volume, "\\sub"));
    const absl::StatusCode code = row.is_entered ? absl::StatusCode::kOk : kDenied;
    EXPECT_THAT(files.MakeDirectories(context_, below), HasCode(code));
    EXPECT_THAT(Exists(below), HasCode(code));
    EXPECT_THAT(host_->volume().GetVolumeHolding(context_, below), HasCode(code));
    ASSERT_THAT(files.MakeDirectories(context_, Kubelet("links")), IsOk());
    EXPECT_THAT(files.CreateLink(context_, below, Kubelet(R"(links\l)")), HasCode(code));
    if (!row.is_entered) continue;
    EXPECT_THAT(files.GetStats(context_, Kubelet(R"(links\l)")), IsOk());
    // A pod may write to the volume.
    ASSERT_THAT(host_->volume().Mount(context_, TestVolume(2), below), IsOk());
    EXPECT_THAT(Exists(Kubelet(absl::StrCat(row.volume, R"(\sub\x)"))), HasCode(kDenied));
  }
}

TEST_F(ResolverTest, AMountIsNotEnteredIfTheVolumeOfARootIsUnknown) {
  ASSERT_THAT(host_->filesystem().MakeDirectories(context_, Kubelet("plugins\\j")), IsOk());
  node_->core()->Change([&](NodeState& state) {
    Tree& tree = state.disks[0].partitions.back().volume->tree;
    const Tree::Id kubelet =
        *tree.Find(*tree.Find(*tree.Find(Tree::kRoot, "var"), "lib"), "kubelet");
    tree.SetMounted(*tree.Find(*tree.Find(kubelet, "plugins"), "j"), TestVolume(1));
  });
  FaultRule rule;
  rule.operation = "win32.GetVolumeOfDrive";
  rule.code = kInternal;
  rule.error.code = 5;
  ASSERT_THAT(node_->InjectFault(rule), IsOk());
  EXPECT_FALSE(Exists(Kubelet("plugins\\j\\Windows")).ok());
}

TEST_F(ResolverTest, LinksAtTheRootsAreTrusted) {
  node_ = TestNode(R"(disk { number: 4 size_bytes: 1073741824 style: GPT partition {
      size_bytes: 536870912 volume { file_system: "NTFS" drive_letter: "D"
        file { path: "kube\\pods\\p9" } file { path: "secret" } } } })");
  host_ = NewSimulatedHost(*node_);
  FilesystemHost& files = host_->filesystem();
  ASSERT_THAT(files.Remove(context_, Anywhere("C:\\var\\lib\\kubelet"), true), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet", "D:\\kube"), IsOk());
  EXPECT_THAT(Exists(Kubelet("pods\\p9")), Yields(true));
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\pods\\in", "C:\\var\\lib\\kubelet\\pods"),
              IsOk());
  EXPECT_THAT(Exists(Kubelet("pods\\in\\p9")), Yields(true));
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\pods\\out", "D:\\"), IsOk());
  EXPECT_THAT(Exists(Kubelet("pods\\out\\secret")), HasCode(kDenied));
}

TEST_F(ResolverTest, TheResolverRefusesPathsOutsideTheRoots) {
  EXPECT_THAT(Exists(In("C:\\Windows")), HasCode(kDenied));
  EXPECT_THAT(Exists(In("C:\\var\\lib\\kubelet-evil")), HasCode(kDenied));
}

TEST_F(ResolverTest, AReadOnlyCallOpensALinkFreePathInOneStep) {
  const auto calls = [&](const char* path, bool exists) {
    const int64_t before = node_->CountCalls().win32_calls;
    EXPECT_THAT(Exists(Kubelet(path)), Yields(exists)) << path;
    return node_->CountCalls().win32_calls - before;
  };
  ASSERT_THAT(node_->MakeDirectory(R"(C:\var\lib\kubelet\a\b\c\d\e)"), IsOk());
  // Each entry needs two calls: one opens the entry, one reads its attributes.
  EXPECT_EQ(calls("pods", true), 4);
  EXPECT_EQ(calls(R"(a\b\c\d\e)", true), 4);
  EXPECT_EQ(calls(R"(a\b\c\none\e)", false), 3);
  ASSERT_THAT(node_->MakeLink(R"(C:\var\lib\kubelet\link)", R"(C:\var\lib\kubelet\a\b)"), IsOk());
  EXPECT_EQ(calls("link", true), 5);
  // 2: the root. 1: a failed attempt at the whole path. 9: var, lib, kubelet, and the link with its
  // target. 4: the root again, and the rest of the path.
  EXPECT_EQ(calls(R"(link\c\d\e)", true), 2 + 1 + 9 + 4);
}

// On nodes with random links and mounts, a read-only open and a walk must have equal results.
TEST_F(ResolverTest, AReadOnlyOpenFindsTheSameAsAWalk) {
  std::mt19937 random(20261125);
  const auto one_of = [&](size_t count) { return random() % count; };
  const std::string kRoot = R"(C:\var\lib\kubelet)";
  const auto random_path = [&](std::string path, size_t longest) {
    for (size_t left = 1 + one_of(longest); left > 0; --left) {
      absl::StrAppend(&path, "\\", std::string(1, static_cast<char>('a' + one_of(3))));
    }
    return path;
  };
  int found = 0, on_servers = 0, refused = 0, missing = 0;
  for (int round = 0; round < 60; ++round) {
    node_ = TestNode();
    host_ = NewSimulatedHost(*node_);
    for (int i = 0; i < 12; ++i) {
      const std::string at = random_path(kRoot, 3);
      // Some entries cannot be made, because another entry exists there.
      switch (one_of(6)) {
        case 0:
          node_->WriteFile(at, 1, false).IgnoreError();
          break;
        case 1:
          node_->MakeLink(at, random_path(kRoot, 2)).IgnoreError();
          break;
        case 2:
          node_->MakeLink(at, one_of(2) == 0 ? R"(C:\Windows)" : R"(\\srv\s)").IgnoreError();
          break;
        case 3: {
          node_->MakeDirectory(at).IgnoreError();
          host_->volume().Mount(context_, TestVolume(2), Anywhere(at)).IgnoreError();
          break;
        }
        default:
          node_->MakeDirectory(at).IgnoreError();
      }
    }
    const std::unique_ptr<machine::Os> os = machine::simulator::NewSimulatedOs(node_->core());
    for (int i = 0; i < 100; ++i) {
      const std::string text = random_path(kRoot, 5);
      for (const bool follow_last : {false, true}) {
        for (const ConfinedPath& path : {In(text), Anywhere(text)}) {
          SCOPED_TRACE(absl::StrCat(round, ": ", text, follow_last ? ", followed" : ""));
          const auto walk = ResolvePath(*os, context_, path, {.follow_last = follow_last});
          const auto look = ResolvePath(
              *os, context_, path, {.follow_last = follow_last, .access = machine::Access::kPeek});
          ASSERT_EQ(look.status(), walk.status());
          if (!walk.ok()) {
            ++refused;
            continue;
          }
          EXPECT_EQ(look->found(), walk->found());
          EXPECT_EQ(look->server.has_value() ? look->server->ToString() : "",
                    walk->server.has_value() ? walk->server->ToString() : "");
          if (walk->server.has_value()) ++on_servers;
          if (!walk->found()) {
            ++missing;
            continue;
          }
          ++found;
          EXPECT_EQ(look->Path(), walk->Path());
          EXPECT_EQ(look->attributes.is_directory, walk->attributes.is_directory);
          ASSERT_EQ(look->link.has_value(), walk->link.has_value());
          EXPECT_EQ(look->link.value_or(machine::ReparsePoint()).target,
                    walk->link.value_or(machine::ReparsePoint()).target);
        }
      }
    }
  }
  for (const int count : {found, on_servers, refused, missing}) EXPECT_GT(count, 100);
}

TEST_F(ResolverTest, ExistsIsFalseForAMissingEntry) {
  EXPECT_THAT(Exists(Kubelet("no\\such\\path")), Yields(false));
  EXPECT_THAT(Exists(Kubelet("file.txt\\below")), Yields(false));
  EXPECT_THAT(Exists(Anywhere("Q:\\x")), Yields(false));
  ASSERT_THAT(node_->MakeLink("C:\\var\\lib\\kubelet\\gone", "C:\\var\\lib\\kubelet\\nothing"),
              IsOk());
  EXPECT_THAT(Exists(Kubelet("gone")), Yields(true));
  EXPECT_THAT(Exists(Kubelet("gone\\x")), Yields(false));
}

}  // namespace
}  // namespace csi_proxy::host
