// Kills StageShare and UnstageShare at each call to Windows and repeats them, and starts one while
// the other runs. Every mapping must keep a link, and every link its mapping.
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "server/groups/smb/mapping.h"
#include "server/groups/storage/crash_testing.h"

namespace csi_proxy::storage {
namespace {

constexpr char kScenario[] = R"(
  behaviour { volume_cache_ms: 0 }
  disk { number: 0 size_bytes: 68719476736 style: GPT
         partition { type: EFI_SYSTEM size_bytes: 104857600 }
         partition { size_bytes: 60000000000 volume {
           id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\"
           file_system: "NTFS" drive_letter: "C" file { path: "var\\lib\\kubelet\\plugins" } } } }
  smb_server { name: "srv" user { name: "u" password: "p" }
               share { name: "data" file { path: "sub" } } }
)";
constexpr char kShare[] = R"(\\srv\data)";
constexpr char kBelow[] = R"(\\srv\data\sub)";
constexpr char kOther[] = R"(C:\var\lib\kubelet\plugins\other)";

absl::Status Stage(Process& process, const std::string& remote = kShare,
                   const std::string& target = kTarget) {
  return process.storage
      ->StageShare(process.context,
                   {.remote_path = remote, .target_path = target, .username = "u", .password = "p"})
      .status();
}
absl::Status Unstage(Process& process, const std::string& target = kTarget,
                     const std::string& remote = "") {
  return process.storage
      ->UnstageShare(process.context, {.target_path = target, .remote_path = remote})
      .status();
}

std::set<std::string> Mapped(Machine& node) {
  std::set<std::string> shares;
  for (const auto& mapping : node.Snapshot().smb_mappings) shares.insert(mapping.remote_path);
  return shares;
}
// Returns the shares with links.
std::set<std::string> Linked(Machine& node) {
  std::set<std::string> shares;
  Process process(&node);
  const auto links = smb::FindLinks(process.deps, process.context, [&](const UncPath& target) {
    shares.insert(target.Share());
    return true;
  });
  EXPECT_TRUE(links.ok() && !links->incomplete) << links.status();
  return shares;
}

struct ShareStart {
  const char* name;
  std::function<void(Machine& node)> prepare;
  // True if a mapping has no link.
  bool has_leak = false;

  friend void PrintTo(const ShareStart& start, std::ostream* out) { *out << start.name; }
};

void StageIn(Machine& node, const std::string& remote = kShare,
             const std::string& target = kTarget) {
  Process process(&node);
  const absl::Status staged = Stage(process, remote, target);
  EXPECT_TRUE(staged.ok()) << staged;
}
void LoseMapping(Machine& node) {
  node.core()->Change([](NodeState& state) { state.smb_mappings.clear(); });
}
void LoseLink(Machine& node) {
  Process process(&node);
  EXPECT_TRUE(process.host->filesystem()
                  .Remove(process.context,
                          {*WindowsPath::Parse("path", kTarget), process.deps.roots}, false)
                  .ok());
}

std::vector<ShareStart> Starts() {
  return {
      {"Nothing", [](Machine&) {}},
      {"AnEmptyDirectory", [](Machine& node) { EXPECT_TRUE(node.MakeDirectory(kTarget).ok()); }},
      {"Staged", [](Machine& node) { StageIn(node); }},
      {"StagedBelowTheShareToo",
       [](Machine& node) {
         StageIn(node);
         StageIn(node, kBelow, kOther);
       }},
      {"StagedElsewhere", [](Machine& node) { StageIn(node, kBelow, kOther); }},
      {"TheMappingIsLost",
       [](Machine& node) {
         StageIn(node);
         LoseMapping(node);
       }},
      {"TheMappingIsBroken",
       [](Machine& node) {
         StageIn(node);
         EXPECT_TRUE(node.BreakMapping(kShare).ok());
       }},
      {"AnotherBoot",
       [](Machine& node) {
         StageIn(node);
         node.Reboot();
       }},
      {"TheLinkIsLost",
       [](Machine& node) {
         StageIn(node);
         LoseLink(node);
       },
       true},
      {"PublishedToo",
       [](Machine& node) {
         StageIn(node);
         EXPECT_TRUE(node.MakeLink(kOther, kTarget).ok());
       }},
  };
}

NodeState StateAt(const ShareStart& start) {
  auto node = machine::simulator::LoadScenario(kScenario, "test");
  EXPECT_TRUE(node.ok()) << node.status();
  start.prepare(**node);
  return (*node)->Snapshot();
}

class ShareCrashTest : public testing::TestWithParam<ShareStart> {
 protected:
  static absl::Status UnstageAct(Process& process) {
    // Only a call that names the share finds the mapping of a lost link.
    return Unstage(process, kTarget, GetParam().has_leak ? kShare : "");
  }
  static absl::Status StageAct(Process& process) { return Stage(process); }
  static void ExpectNoLeak(Machine& node) {
    if (GetParam().has_leak) return;
    const std::set<std::string> linked = Linked(node);
    for (const std::string& share : Mapped(node)) EXPECT_THAT(linked, testing::Contains(share));
  }
};

TEST_P(ShareCrashTest, StageShareKilledAtAnyStepAndRepeatedReachesTheSameState) {
  KillEverywhere(StateAt(GetParam()), StageAct, UnstageAct, ExpectNoLeak);
}
TEST_P(ShareCrashTest, UnstageShareKilledAtAnyStepAndRepeatedReachesTheSameState) {
  KillEverywhere(StateAt(GetParam()), UnstageAct, StageAct, ExpectNoLeak);
}

INSTANTIATE_TEST_SUITE_P(From, ShareCrashTest, testing::ValuesIn(Starts()),
                         [](const auto& info) { return std::string(info.param.name); });

// Runs `first` on a node with one staged link, and starts `second` at each of its calls to Windows.
// Both must succeed, and one link and its mapping must be left.
void Interrupt(const Act& first, const Act& second) {
  int at = 1;
  for (;; ++at) {
    SCOPED_TRACE(absl::StrCat("at call ", at));
    const auto node = NodeIn(StateAt({"Staged", [](Machine& staged) { StageIn(staged); }}));
    Process process(node.get());
    std::thread thread;
    absl::Notification done;
    process.life.before_call = [&](int number) {
      if (number != at) return;
      thread = std::thread([&] {
        EXPECT_TRUE(second(process).ok());
        done.Notify();
      });
      done.WaitForNotificationWithTimeout(absl::Milliseconds(10));
    };
    EXPECT_TRUE(first(process).ok());
    // The first call has made all its calls to Windows.
    if (!thread.joinable()) break;
    thread.join();
    EXPECT_THAT(Mapped(*node), testing::ElementsAre(kShare));
    EXPECT_THAT(Linked(*node), testing::ElementsAre(kShare));
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(at, 20);
}

TEST(ShareLivesTest, ALinkMadeWhileTheLastOneIsRemovedKeepsItsMapping) {
  const Act stage = [](Process& process) { return Stage(process, kBelow, kOther); };
  const Act unstage = [](Process& process) { return Unstage(process); };
  Interrupt(unstage, stage);
  Interrupt(stage, unstage);
}

}  // namespace
}  // namespace csi_proxy::storage
