// Tests the walk for links: the links found, the entries skipped, and the limits.
#include "server/host/list_links.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/host/odd_machine_testing.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

using machine::Access;
using machine::File;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kRoot[] = R"(C:\var\lib\kubelet)";

std::string Below(absl::string_view rest) { return absl::StrCat(kRoot, "\\", rest); }

// A directory of the simulated machine, with a callback after each listing.
class WatchedFile final : public machine::FileWrapper<> {
 public:
  using Listed = std::function<void(const std::string& name)>;

  WatchedFile(std::unique_ptr<File> file, std::string name, const Listed& listed)
      : FileWrapper(std::move(file)), name_(std::move(name)), listed_(listed) {}

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name, Access access) override {
    return OpenBelow({name}, access);
  }
  absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                  Access access) override {
    auto file = FileWrapper::OpenBelow(names, access);
    if (file.ok()) file = std::make_unique<WatchedFile>(*std::move(file), names.back(), listed_);
    return file;
  }
  absl::StatusOr<std::vector<machine::DirectoryEntry>> ListNext(bool restart) override {
    auto entries = FileWrapper::ListNext(restart);
    if (entries.ok() && !entries->empty()) listed_(name_);
    return entries;
  }

 private:
  const std::string name_;
  const Listed& listed_;
};

class WatchedOs final : public OddOs {
 public:
  WatchedOs(Machine& node, WatchedFile::Listed listed) : OddOs(node), listed_(std::move(listed)) {}

  absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string& root) override {
    auto file = OddOs::OpenRoot(root);
    if (file.ok()) file = std::make_unique<WatchedFile>(*std::move(file), root, listed_);
    return file;
  }

 private:
  const WatchedFile::Listed listed_;
};

class ListLinksTest : public testing::Test {
 protected:
  const HostDeps& Over(machine::Os& os) {
    deps_.os = &os;
    deps_.reads = &reads_;
    return deps_;
  }
  // Walks the working directory without a time limit, unless the test sets one.
  LinkList Walk(LinkWalkLimits limits = {}, machine::Os* os = nullptr) {
    if (limits.time == LinkWalkLimits().time) limits.time = absl::InfiniteDuration();
    auto list = ListLinks(Over(os != nullptr ? *os : *os_), context_, {In(kRoot)}, limits);
    EXPECT_THAT(list, IsOk());
    return list.ok() ? *std::move(list) : LinkList();
  }
  static std::vector<std::string> Paths(const LinkList& list) {
    std::vector<std::string> paths;
    for (const FoundLink& link : list.links) paths.push_back(link.path.substr(sizeof(kRoot)));
    return paths;
  }
  void MakeLink(absl::string_view path, absl::string_view target) {
    ASSERT_THAT(node_->MakeLink(Below(path), target), IsOk());
  }
  void Hold(absl::string_view path) {
    ASSERT_THAT(node_->SetOtherOpens({{.path = Below(path), .access = 1, .share = 0}}), IsOk());
  }
  // Opens the entry at the path `names` below the working directory.
  std::unique_ptr<File> Open(std::vector<std::string> names, Access access,
                             machine::Os* os = nullptr) {
    std::vector<std::unique_ptr<File>> held;
    held.push_back(*(os != nullptr ? os : os_.get())->OpenRoot("C:\\"));
    names.insert(names.begin(), {"var", "lib", "kubelet"});
    for (size_t i = 0; i < names.size(); ++i) {
      auto file = held.back()->Open(names[i], i + 1 == names.size() ? access : Access::kRead);
      EXPECT_THAT(file, IsOk()) << names[i];
      held.push_back(*std::move(file));
    }
    return std::move(held.back());
  }
  // Adds entries to the kubelet's tree. Their paths are relative to the working directory.
  void Fill(const std::vector<std::string>& directories, const std::vector<std::string>& links) {
    NodeState state = node_->Snapshot();
    Tree& tree = state.disks[0].partitions[2].volume->tree;
    const auto enter = [&](Tree::Id at, const std::string& name) {
      const auto there = tree.Find(at, name);
      return there.has_value() ? *there : *tree.Add(at, Tree::Directory(name));
    };
    const auto parent_of = [&](const std::string& path, std::string* last) {
      std::vector<std::string> names = absl::StrSplit(path, '\\');
      *last = names.back();
      names.pop_back();
      names.insert(names.begin(), {"var", "lib", "kubelet"});
      Tree::Id at = Tree::kRoot;
      for (const std::string& name : names) at = enter(at, name);
      return at;
    };
    std::string last;
    for (const std::string& path : directories) {
      const Tree::Id at = parent_of(path, &last);
      enter(at, last);
    }
    for (const std::string& path : links) {
      const Tree::Id at = parent_of(path, &last);
      ASSERT_THAT(tree.Add(at, Tree::Link(last, kRoot)), IsOk());
    }
    auto node = Machine::Create(std::move(state));
    ASSERT_THAT(node, IsOk());
    os_.reset();
    node_ = *std::move(node);
    os_ = machine::simulator::NewSimulatedOs(node_->core());
  }

  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode();
  std::unique_ptr<machine::Os> os_ = machine::simulator::NewSimulatedOs(node_->core());
  HostDeps deps_;
  DetachedRuns reads_{128};
};

TEST_F(ListLinksTest, LinksAreSortedByPath) {
  MakeLink("z", R"(C:\var\lib\kubelet\pods)");
  MakeLink(R"(pods\p1\b\c\d)", R"(C:\var\lib\kubelet)");
  MakeLink(R"(pods\p1\a)", R"(C:\var\lib\kubelet\file.txt)");
  const LinkList list = Walk();
  EXPECT_THAT(Paths(list), ElementsAre(R"(pods\p1\a)", R"(pods\p1\b\c\d)", "z"));
  EXPECT_FALSE(list.incomplete);
  EXPECT_EQ(list.links[0].end, LinkEnd::kNowhere) << "a directory's link to a file";
  EXPECT_EQ(list.links[1].end, LinkEnd::kThere);
  EXPECT_EQ(list.links[1].target, kRoot);
}

TEST_F(ListLinksTest, APodsEntriesDoNotHideAnotherPodsMounts) {
  // In the kubelet's layout, a pod's own entries begin as deep as another pod's mounts.
  constexpr char kPod[] = R"(pods\a\volumes\kubernetes.io~empty-dir\)";
  constexpr char kMount[] = R"(pods\z\volumes\kubernetes.io~csi\pv\mount)";
  std::vector<std::string> directories, links;
  for (int i = 0; i < 3000; ++i) directories.push_back(absl::StrCat(kPod, R"(big\d)", i, R"(\e)"));
  for (int i = 0; i < 300; ++i) links.push_back(absl::StrCat(kPod, R"(links\l)", i));
  links.push_back(kMount);
  Fill(directories, links);
  const LinkList all = Walk();
  EXPECT_EQ(all.links.size(), 301u) << "large directories have their turn";
  EXPECT_FALSE(all.incomplete);
  // The limit is lower than the number of the first pod's entries.
  const LinkList some = Walk({.entries = 3500});
  EXPECT_TRUE(some.incomplete);
  ASSERT_FALSE(some.links.empty());
  EXPECT_EQ(some.links.back().path, Below(kMount));
  EXPECT_EQ(some.links.size(), LinkWalkLimits().links_at_once + 1);
}

TEST_F(ListLinksTest, TheWalkIsBoundedInTimeEntriesDepthAndMemory) {
  std::string deep = R"(pods\p1)";
  for (int i = 0; i < 70; ++i) absl::StrAppend(&deep, "\\d");
  Fill({}, {"first", R"(pods\p1\second)", deep});
  EXPECT_THAT(Paths(Walk({.depth = 80})), ElementsAre("first", deep, R"(pods\p1\second)"));
  const std::vector<LinkWalkLimits> bounds = {
      {}, {.entries = 10}, {.depth = 5}, {.pending_bytes = 200}};
  for (const LinkWalkLimits& limits : bounds) {
    const LinkList list = Walk(limits);
    EXPECT_TRUE(list.incomplete);
    EXPECT_THAT(Paths(list), testing::Not(testing::Contains(deep)));
    EXPECT_THAT(Paths(list), testing::Contains("first"));
  }
  EXPECT_TRUE(Walk({.found_bytes = 1}).incomplete);
  EXPECT_THAT(Paths(Walk({.found_bytes = 1})), ElementsAre("first"));
  EXPECT_TRUE(Walk({.time = absl::ZeroDuration()}).incomplete);
  EXPECT_THAT(Walk({.time = absl::ZeroDuration()}).links, IsEmpty());
}

// The walk finds all links of the kubelet and of drivers, and `incomplete_outside_pods` stays
// false.
TEST_F(ListLinksTest, APodThatFillsItsDirectoriesHidesNoLinksOutsideThem) {
  const std::vector<std::string> placed = {R"(plugins\kubernetes.io\csi\smb\1\globalmount)",
                                           R"(pods\a\volumes\kubernetes.io~csi\pv\mount)",
                                           R"(pods\z\volumes\kubernetes.io~azure-disk\pv)"};
  const std::string own = R"(pods\a\volumes\kubernetes.io~empty-dir\v)";
  std::string deep = own;
  for (int i = 0; i < 70; ++i) absl::StrAppend(&deep, "\\d");
  std::vector<std::string> many;
  for (int i = 0; i < 3000; ++i) many.push_back(absl::StrCat(own, i < 300 ? "\\l" : "\\d", i));
  const std::vector<std::string> links(many.begin(), many.begin() + 300);
  struct Attack {
    std::vector<std::string> directories, links;
    LinkWalkLimits limits = {};
    std::string held = "", slow = "";
  };
  const Attack attacks[] = {
      {{deep}, {}},
      {{R"(pods\a\containers\c\d)"}, {}, {}, R"(pods\a\containers\c)"},
      {{R"(plugins\driver\a\b\c\d\e\f)"}, {}, {.depth = 6}},
      {many, {}, {.entries = 1000}},
      {many, {}, {.pending_bytes = 4000}},
      {{}, links, {.found_bytes = 2000}},
      {{own}, {}, {}, own},
      {many, {}, {.time = absl::Milliseconds(100)}, "", "v"},
  };
  for (const Attack& attack : attacks) {
    SCOPED_TRACE(&attack - attacks);
    node_ = TestNode();
    Fill(attack.directories, attack.links);
    for (const std::string& path : placed) MakeLink(path, R"(\\srv\s)");
    if (!attack.held.empty()) Hold(attack.held);
    WatchedOs os(*node_, [&](const std::string& name) {
      if (name == attack.slow) absl::SleepFor(absl::Milliseconds(150));
    });
    const LinkList list = Walk(attack.limits, &os);
    EXPECT_TRUE(list.incomplete && !list.incomplete_outside_pods);
    for (const std::string& path : placed) {
      EXPECT_THAT(list.links, testing::Contains(testing::AllOf(
                                  testing::Field(&FoundLink::path, Below(path)),
                                  testing::Field(&FoundLink::end, LinkEnd::kOnServer))));
    }
  }
  for (const char* held : {"plugins", R"(pods\a\volumes\kubernetes.io~csi\pv)"}) {
    Hold(held);
    EXPECT_TRUE(Walk().incomplete_outside_pods) << held;
  }
}

// The flags of early releases name the kubelet's folders themselves.
TEST_F(ListLinksTest, APodHidesNoLinksOutsideItsDirectoriesIfTheRootIsTheFolderOfThePods) {
  const std::string own = R"(pods\a\volumes\kubernetes.io~empty-dir\v)";
  const std::string staging = R"(plugins\kubernetes.io\csi\smb\1\globalmount)";
  std::vector<std::string> many = {absl::StrCat(staging, "\\d")};
  for (int i = 0; i < 3000; ++i) many.push_back(absl::StrCat(own, "\\d", i));
  Fill(many, {});
  const auto roots = std::make_shared<PathRoots>(
      std::vector<WindowsPath>{Path(Below("Pods")), Path(Below("plugins"))});
  const std::vector<ConfinedPath> starts = {{roots->roots()[0], roots}, {roots->roots()[1], roots}};
  const auto list = ListLinks(Over(*os_), context_, starts, {.entries = 1000});
  ASSERT_THAT(list, IsOk());
  EXPECT_TRUE(list->incomplete && !list->incomplete_outside_pods);
  EXPECT_THAT(list->filled_staging_folders, ElementsAre(Below(staging)));
}

TEST_F(ListLinksTest, TheWalkEndsWithItsCall) {
  const CallContext over(absl::Now() - absl::Seconds(1));
  EXPECT_THAT(ListLinks(Over(*os_), over, {In(kRoot)}),
              HasCode(absl::StatusCode::kDeadlineExceeded));
  // A call also fails if its time ends during the walk.
  const CallContext soon(absl::Now() + absl::Milliseconds(200));
  WatchedOs slow(*node_, [](const std::string&) { absl::SleepFor(absl::Milliseconds(300)); });
  EXPECT_THAT(ListLinks(Over(slow), soon, {In(kRoot)}),
              HasCode(absl::StatusCode::kDeadlineExceeded));
  // If the walk's own time ends, it returns the links found so far.
  const CallContext shortly(absl::Now() + absl::Seconds(60));
  MakeLink("first", kRoot);
  WatchedOs late(*node_, [](const std::string&) { absl::SleepFor(absl::Milliseconds(100)); });
  const auto list = ListLinks(Over(late), shortly, {In(kRoot)}, {.time = absl::Milliseconds(50)});
  ASSERT_THAT(list, IsOk());
  EXPECT_TRUE(list->incomplete);
}

TEST_F(ListLinksTest, TheWalkDoesNotPreventDeletion) {
  ASSERT_THAT(node_->MakeDirectory(Below(R"(pods\p1\inside)")), IsOk());
  int deleted = 0;
  machine::Os* walked = nullptr;
  WatchedOs watched(*node_, [&](const std::string& name) {
    if (name != "p1") return;
    // The walk holds `pods` and `p1` open.
    const auto pods = Open({"pods"}, Access::kRead, walked);
    const auto file = pods->Open("p1", Access::kDelete);
    ASSERT_THAT(file, IsOk());
    const auto inside = (*file)->Open("inside", Access::kDelete);
    ASSERT_THAT(inside, IsOk());
    EXPECT_THAT((*inside)->Delete(), IsOk());
    ++deleted;
  });
  walked = &watched;
  EXPECT_FALSE(Walk({}, &watched).incomplete);
  EXPECT_EQ(deleted, 1);
}

TEST_F(ListLinksTest, EntriesThatChangeDuringTheWalkAreNotFollowed) {
  ASSERT_THAT(node_->MakeLink(R"(C:\outside\link)", R"(C:\Windows)"), IsOk());
  ASSERT_THAT(node_->MakeDirectory(Below(R"(pods\p2)")), IsOk());
  WatchedOs watched(*node_, [&, done = false](const std::string& name) mutable {
    if (name != "pods" || std::exchange(done, true)) return;
    // One directory disappears, another becomes a link that leads out.
    EXPECT_THAT(node_->RemoveFolder(Below(R"(pods\p1)")), IsOk());
    EXPECT_THAT(node_->RemoveFolder(Below(R"(pods\p2)")), IsOk());
    EXPECT_THAT(node_->MakeLink(Below(R"(pods\p2)"), R"(C:\outside)"), IsOk());
  });
  const LinkList list = Walk({}, &watched);
  EXPECT_THAT(list.links, IsEmpty());
  EXPECT_FALSE(list.incomplete) << "what goes meanwhile is not missing";
}

TEST_F(ListLinksTest, TheWalkSkipsAndReportsALockedDirectory) {
  MakeLink(R"(pods\p1\hidden)", kRoot);
  MakeLink(R"(pods\p2\shown)", kRoot);
  Hold(R"(pods\p1)");
  const absl::Time begin = absl::Now();
  const LinkList list = Walk();
  EXPECT_THAT(Paths(list), ElementsAre(R"(pods\p2\shown)"));
  EXPECT_TRUE(list.incomplete);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2)) << "nobody makes it wait";
}

// Links in the volume may still lead to a share that a call would unmap.
TEST_F(ListLinksTest, TheListIsIncompleteIfAVolumeMountedAtARootCannotBeOpened) {
  class BrokenVolume final : public OddOs {
   public:
    BrokenVolume(Machine& node, uint32_t code) : OddOs(node), code_(code) {}
    absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string& root) override {
      if (root.find("Volume{") == root.npos) return OddOs::OpenRoot(root);
      return Win32Status(code_, root);
    }

   private:
    const uint32_t code_;
  };
  node_->core()->Change([](NodeState& state) {
    Tree& tree = state.disks[0].partitions[2].volume->tree;
    const Tree::Id var = *tree.Find(Tree::kRoot, "var"), lib = *tree.Find(var, "lib");
    tree.SetMounted(*tree.Find(lib, "kubelet"), machine::simulator::TestVolume(2));
  });
  for (const auto& [code, is_incomplete] :
       {std::pair(win32_error::kFileNotFound, false), std::pair(win32_error::kIoDevice, true)}) {
    BrokenVolume broken(*node_, code);
    EXPECT_EQ(Walk({}, &broken).incomplete, is_incomplete) << code;
  }
}

TEST_F(ListLinksTest, NamesThatNoWindowsPathCanContainAreSkipped) {
  const machine::Bytes link = *machine::MakeSymlink(Path(kRoot));
  const auto pods = Open({"pods"}, Access::kRead);
  for (const char* name : {"dot.", "CON", "space "}) {
    const auto directory = *pods->CreateDirectory(name);
    EXPECT_THAT((*directory->CreateDirectory("link"))->WriteReparsePoint(link), IsOk());
    EXPECT_THAT((*pods->CreateDirectory(absl::StrCat(name, ".")))->WriteReparsePoint(link), IsOk());
  }
  const LinkList list = Walk();
  EXPECT_THAT(list.links, IsEmpty());
  EXPECT_FALSE(list.incomplete);
}

TEST_F(ListLinksTest, AMalformedReparsePointIsListedAndNotFollowed) {
  MakeLink(R"(pods\p1\link)", kRoot);
  machine::Bytes cut = *machine::MakeSymlink(Path(kRoot));
  cut.resize(12);
  OddOs odd(*node_, cut);
  LinkList list = Walk({}, &odd);
  ASSERT_EQ(list.links.size(), 1u);
  EXPECT_EQ(list.links[0].target, "");
  EXPECT_EQ(list.links[0].end, LinkEnd::kUnknown);
  // A target with control characters is not shown either, because a terminal would execute them.
  machine::Bytes escape = *machine::MakeSymlink(Path("C:\\~"));
  std::replace(escape.begin(), escape.end(), uint8_t{'~'}, uint8_t{0x1b});
  OddOs rude(*node_, escape);
  list = Walk({}, &rude);
  ASSERT_EQ(list.links.size(), 1u);
  EXPECT_EQ(list.links[0].target, "");
  EXPECT_EQ(list.links[0].end, LinkEnd::kUnknown);
}

// A link whose end cannot be read may work, so no call may report the link as dangling.
TEST_F(ListLinksTest, TheEndOfALinkIsUnknownIfWindowsRefusesToOpenIt) {
  Fill({R"(pods\p1\end)"}, {});
  MakeLink(R"(pods\p1\a)", Below(R"(pods\p1\end)"));
  MakeLink(R"(pods\p1\b)", Below(R"(pods\p1\b)"));
  FaultRule refused;
  refused.operation = "win32.*";
  refused.resource = Below(R"(pods\p1\end)");
  refused.code = kInternal;
  refused.error.code = 5;
  ASSERT_THAT(node_->InjectFault(refused), IsOk());
  const LinkList list = Walk();
  ASSERT_EQ(list.links.size(), 2u);
  EXPECT_EQ(list.links[0].end, LinkEnd::kUnknown);
  EXPECT_EQ(list.links[1].end, LinkEnd::kNowhere) << "a link to itself";
}

TEST_F(ListLinksTest, ARootInsideAnotherIsWalkedOnce) {
  MakeLink(R"(pods\p1\link)", kRoot);
  const auto roots = std::make_shared<PathRoots>(
      std::vector<WindowsPath>{Path(kRoot), Path(Below("pods")), Path(R"(D:\absent)")});
  std::vector<ConfinedPath> starts;
  for (const WindowsPath& root : roots->roots()) starts.push_back({root, roots});
  std::multiset<std::string> listed;
  WatchedOs watched(*node_, [&](const std::string& name) { listed.insert(name); });
  const auto list = ListLinks(Over(watched), context_, starts);
  ASSERT_THAT(list, IsOk());
  EXPECT_THAT(Paths(*list), ElementsAre(R"(pods\p1\link)"));
  EXPECT_EQ(listed.count("p1"), 1u);
}

// Counts calls of Win32, not time.
TEST_F(ListLinksTest, TheWalkCallsWindowsPerDirectoryAndNotPerFile) {
  const auto calls_for = [&](int directories, int files) {
    node_ = TestNode();
    os_ = machine::simulator::NewSimulatedOs(node_->core());
    std::vector<std::string> names;
    for (int i = 0; i < directories; ++i) names.push_back(absl::StrCat(R"(pods\p1\d)", i));
    Fill(names, {R"(pods\p1\zz\link)"});
    NodeState state = node_->Snapshot();
    Tree& tree = state.disks[0].partitions[2].volume->tree;
    Tree::Id at = Tree::kRoot;
    for (const char* name : {"var", "lib", "kubelet", "pods", "p1"}) at = *tree.Find(at, name);
    for (int i = 0; i < files; ++i) {
      EXPECT_THAT(tree.Add(at, Tree::File(absl::StrCat("f", i), 1, false)), IsOk());
    }
    os_.reset();
    node_ = *Machine::Create(std::move(state));
    os_ = machine::simulator::NewSimulatedOs(node_->core());
    const int64_t before = node_->CountCalls().win32_calls;
    const LinkList list = Walk();
    EXPECT_EQ(list.links.size(), 1u);
    EXPECT_FALSE(list.incomplete);
    return node_->CountCalls().win32_calls - before;
  };
  const int64_t none = calls_for(0, 0);
  const int64_t files = calls_for(0, 50'000);
  const int64_t few = calls_for(500, 0);
  const int64_t many = calls_for(50'000, 0);
  std::printf("Win32 calls: %d, with 50000 files %d, with 500 directories %d, with 50000 %d\n",
              static_cast<int>(none), static_cast<int>(files), static_cast<int>(few),
              static_cast<int>(many));
  EXPECT_LT(files - none, 50'000 / 100);
  EXPECT_LE(many - none, 50'000 * 5);
  EXPECT_LE(many - none, (few - none) * 110);
}

}  // namespace
}  // namespace csi_proxy::host
