// Kills StageShare and UnstageShare at each call of Windows and repeats them; also makes many calls
// at the same time in a process that is killed now and then. No mapping may stay without a link,
// and no link may lose its mapping.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
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

using testing::IsEmpty;

constexpr char kScenario[] = R"(
  behaviour { volume_cache_ms: 0 }
  disk { number: 0 size_bytes: 68719476736 style: GPT
         partition { type: EFI_SYSTEM size_bytes: 104857600 }
         partition { size_bytes: 60000000000 volume {
           id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\"
           file_system: "NTFS" drive_letter: "C" file { path: "var\\lib\\kubelet\\plugins" } } } }
  smb_server { name: "srv" user { name: "u" password: "p" }
               share { name: "data" file { path: "sub" } }
               share { name: "s0" } share { name: "s1" } share { name: "s2" } share { name: "s3" }
               share { name: "s4" } share { name: "s5" } share { name: "s6" } share { name: "s7" }
               share { name: "s8" } share { name: "s9" } share { name: "s10" } }
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

TEST_P(ShareCrashTest, StagingIsRepeatedAndEndsTheSame) {
  KillEverywhere(StateAt(GetParam()), StageAct, UnstageAct, ExpectNoLeak);
}
TEST_P(ShareCrashTest, UnstagingIsRepeatedAndEndsTheSame) {
  KillEverywhere(StateAt(GetParam()), UnstageAct, StageAct, ExpectNoLeak);
}

INSTANTIATE_TEST_SUITE_P(From, ShareCrashTest, testing::ValuesIn(Starts()),
                         [](const auto& info) { return std::string(info.param.name); });

// Runs `first` on a node with one staged link, and starts `second` at each call of Windows that
// `first` makes; both must succeed, and one link and its mapping must be left.
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
    // The first call has made all its calls of Windows.
    if (!thread.joinable()) break;
    thread.join();
    EXPECT_THAT(Mapped(*node), testing::ElementsAre(kShare));
    EXPECT_THAT(Linked(*node), testing::ElementsAre(kShare));
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(at, 20);
}

TEST(ShareLivesTest, ALinkThatComesWhileTheLastOneGoesHasItsMapping) {
  const Act stage = [](Process& process) { return Stage(process, kBelow, kOther); };
  const Act unstage = [](Process& process) { return Unstage(process); };
  Interrupt(unstage, stage);
  Interrupt(stage, unstage);
}

// A volume of the kubelet, which repeats a failed call or changes its mind.
struct Volume {
  std::string remote;
  std::string target;
  // The call that is running, or was when the process died.
  enum class Goal { kNone, kStaged, kUnstaged } goal = Goal::kNone;
  bool is_staged = false;
};

class Caller {
 public:
  Caller(int id, Machine* node) : node_(*node), random_(static_cast<unsigned>(id)) {
    for (int i = 0; i < 2; ++i) {
      // The first volumes of all callers are on one share. The second ones are on shares of two
      // callers each, so that a link is often the last.
      volumes_.push_back({.remote = absl::StrCat(R"(\\srv\s)", i == 0 ? 10 : id % 10),
                          .target = absl::StrCat(R"(C:\var\lib\kubelet\plugins\v)", id, "x", i)});
    }
  }

  // Calls until the process dies or `left` is used up.
  void Live(Process& process, std::atomic<int>& left) {
    for (Volume& volume : volumes_) {
      if (volume.goal != Volume::Goal::kNone && random_() % 4 == 0) {
        volume.goal =
            volume.goal == Volume::Goal::kStaged ? Volume::Goal::kUnstaged : Volume::Goal::kStaged;
      }
    }
    while (!process.life.end()->HasBeenNotified()) {
      Volume* volume = Pending();
      if (volume == nullptr) {
        if (left.fetch_sub(1) <= 0) return;
        volume = &volumes_[random_() % volumes_.size()];
        volume->goal = volume->is_staged ? Volume::Goal::kUnstaged : Volume::Goal::kStaged;
        ExpectMappedIfStaged(*volume);
      }
      Finish(process, *volume);
    }
  }
  // Without deaths.
  void End(Process& process) {
    while (Volume* const volume = Pending()) Finish(process, *volume);
  }
  const std::vector<Volume>& volumes() const { return volumes_; }

 private:
  Volume* Pending() {
    for (Volume& volume : volumes_) {
      if (volume.goal != Volume::Goal::kNone) return &volume;
    }
    return nullptr;
  }

  void Finish(Process& process, Volume& volume) {
    const bool stages = volume.goal == Volume::Goal::kStaged;
    if (!stages) volume.is_staged = false;
    const absl::Status done =
        stages ? Stage(process, volume.remote, volume.target) : Unstage(process, volume.target);
    if (!done.ok()) {
      EXPECT_TRUE(process.life.end()->HasBeenNotified()) << done;
      return;
    }
    volume.is_staged = stages;
    volume.goal = Volume::Goal::kNone;
    ExpectMappedIfStaged(volume);
  }

  void ExpectMappedIfStaged(const Volume& volume) {
    if (!volume.is_staged) return;
    EXPECT_THAT(Mapped(node_), testing::Contains(volume.remote)) << volume.target;
  }

  Machine& node_;
  std::mt19937 random_;
  std::vector<Volume> volumes_;
};

TEST(ShareLivesTest, AThousandCallsOfTwentyCallersWithCrashesLeaveNothing) {
  auto loaded = machine::simulator::LoadScenario(kScenario, "test");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Machine& node = **loaded;
  std::vector<Caller> callers;
  for (int id = 0; id < 20; ++id) callers.emplace_back(id, &node);
  std::mt19937 random(7);
  std::atomic<int> left = 1000;
  int deaths = 0;
  while (left > 0) {
    const Death death = random() % 2 == 0 ? Death::kBefore : Death::kBehind;
    Process process(&node, death, static_cast<int>(500 + random() % 3000));
    // Lets calls of different callers interleave.
    process.life.before_call = [](int number) {
      if (number % 7 == 0) absl::SleepFor(absl::Microseconds(number % 400));
    };
    {
      std::vector<std::jthread> threads;
      for (Caller& caller : callers) threads.emplace_back([&] { caller.Live(process, left); });
    }
    if (process.life.end()->HasBeenNotified()) ++deaths;
    EXPECT_EQ(process.locks.size(), 0u);
    const std::set<std::string> linked = Linked(node);
    for (const std::string& share : Mapped(node)) EXPECT_THAT(linked, testing::Contains(share));
  }
  EXPECT_GT(deaths, 5);
  Process last(&node);
  std::set<std::string> staged;
  for (Caller& caller : callers) {
    caller.End(last);
    for (const Volume& volume : caller.volumes()) {
      if (volume.is_staged) staged.insert(volume.remote);
    }
  }
  EXPECT_EQ(Mapped(node), staged);
  for (const Caller& caller : callers) {
    for (const Volume& volume : caller.volumes()) EXPECT_TRUE(Unstage(last, volume.target).ok());
  }
  EXPECT_THAT(Mapped(node), IsEmpty());
  EXPECT_THAT(Linked(node), IsEmpty());
}

}  // namespace
}  // namespace csi_proxy::storage
