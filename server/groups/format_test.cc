// Tests drivers that format one volume simultaneously.
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/condition.h"
#include "server/groups/testing.h"
#include "server/groups/testing/random_calls.h"
#include "server/groups/testing/random_nodes.h"

namespace csi_proxy::groups {
namespace {

constexpr char kNewVolume[] = R"(\\?\Volume{55555555-0000-4000-8000-000000000001}\)";
// Windows' disk, and a new disk with an unformatted volume.
constexpr char kNewDisk[] = R"(
  disk {
    number: 0 size_bytes: 68719476736 style: GPT
    partition { size_bytes: 60000000000 volume {
      file_system: "NTFS" drive_letter: "C"
      file { path: "var\\lib\\kubelet\\plugins\\0" } file { path: "var\\lib\\kubelet\\plugins\\1" }
      file { path: "var\\lib\\kubelet\\plugins\\2" } file { path: "var\\lib\\kubelet\\disks\\1" }
    } }
  }
  disk {
    number: 1 size_bytes: 10737418240 style: GPT
    partition { type: MICROSOFT_RESERVED size_bytes: 16777216 }
    partition { size_bytes: 10699669504
      volume { id: "\\\\?\\Volume{55555555-0000-4000-8000-000000000001}\\" } }
  }
)";

// Drivers that stage the new volume simultaneously, each at its own folder. The order of their
// calls is random, and so are the calls that run while another call waits for a lock.
class FormatRace {
 public:
  FormatRace(const machine::simulator::NodeState& node, uint64_t seed)
      : seed_(seed), random_(seed), node_(*machine::simulator::Machine::Create(node)) {
    for (size_t i = 0; i < 3; ++i) {
      drivers_.push_back(std::make_unique<Driver>(node_.get(), i));
      drivers_.back()->kind = static_cast<Kind>(random_.Below(4));
      drivers_.back()->file_system = random_.OneIn(4) ? "ReFS" : "";
    }
  }

  void Run() {
    while (Step(nullptr)) {
    }
    if (testing::Test::HasFailure()) return;
    // Every driver but the wipers repeats its calls. Afterwards its volume must be mounted.
    for (const auto& driver : drivers_) {
      if (driver->kind == Kind::kWiper) continue;
      const Kind as_it_is = driver->kind;
      driver->calls_left = kCalls;
      if (as_it_is == Kind::kStager) driver->file_system = "";
      while (driver->calls_left > 0) Call(driver.get());
      if (!driver->is_mounted) Complain("a driver has no volume in the end");
    }
    Check();
  }

 private:
  // The drivers use the older group, the storage group, or StageVolume. A wiper formats the volume
  // even if it holds data, and does not mount it.
  enum class Kind { kOlder, kStorage, kStager, kWiper };
  // A driver's calls: IsVolumeFormatted, FormatVolume, MountVolume and a write.
  static constexpr int kCalls = 4;

  struct Driver {
    Driver(machine::simulator::Machine* node, size_t i)
        : name(absl::StrCat(i)),
          folder(absl::StrCat(storage::kRoot, R"(\plugins\)", i)),
          process(node, &meanwhile) {}
    const std::string name;
    const std::string folder;
    Kind kind = Kind::kOlder;
    std::string file_system;
    int calls_left = kCalls;
    bool sees_format = false;
    bool is_mounted = false;
    bool is_calling = false;
    std::function<void()> meanwhile;
    storage::NodeProcess process;
  };

  void Complain(const std::string& what) {
    if (testing::Test::HasFailure()) return;
    ADD_FAILURE() << what << "\nseed: " << seed_ << "\n" << absl::StrJoin(log_, "\n");
  }

  // Picks a driver that is not in a call, and runs its next call. Returns false if there is none.
  bool Step(const Driver* waiting) {
    std::vector<Driver*> ready;
    for (const auto& driver : drivers_) {
      if (driver->calls_left > 0 && !driver->is_calling) ready.push_back(driver.get());
    }
    if (ready.empty() || testing::Test::HasFailure()) return false;
    Driver* const driver = random_.Of(ready);
    if (random_.OneIn(2)) driver->meanwhile = [this, driver] { Meanwhile(driver); };
    if (waiting != nullptr) log_.push_back(absl::StrCat("while ", waiting->name, " waits:"));
    Call(driver);
    return true;
  }

  // Makes up to eight calls of other drivers while a call of `driver` waits for a lock.
  void Meanwhile(Driver* driver) {
    for (uint64_t left = random_.Below(9); left > 0 && Step(driver); --left) {
    }
    if (random_.OneIn(2)) driver->meanwhile = [this, driver] { Meanwhile(driver); };
  }

  void Call(Driver* driver) {
    driver->is_calling = true;
    const int call = kCalls - driver->calls_left--;
    const absl::Status status = Answer(driver, call);
    driver->meanwhile = nullptr;
    log_.push_back(absl::StrCat(driver->name, " kind ", static_cast<int>(driver->kind), " call ",
                                call, ": ", status.ToString()));
    if (absl::IsInternal(status)) Complain("INTERNAL");
    if (!status.ok()) driver->calls_left = 0;
    driver->is_calling = false;
    Check();
  }

  absl::Status Answer(Driver* driver, int call) {
    const CallContext context;
    storage::NodeProcess& process = driver->process;
    const auto format = [&](bool storage, bool overwrite) {
      const std::string& wanted = driver->file_system;
      const absl::Status status =
          storage ? process.storage->FormatVolume(context, {kNewVolume, wanted, 0, "", overwrite})
                        .status()
                  : process.volume->FormatVolume(context, {kNewVolume, wanted, 0}).status();
      if (status.ok() && Volume().file_system != (wanted.empty() ? "NTFS" : wanted)) {
        Complain("OK, and the file system is another");
      }
      return status;
    };
    switch (driver->kind) {
      case Kind::kWiper:
        return call == 1 ? format(true, true) : absl::OkStatus();
      case Kind::kStager:
        if (call == 2) {
          const auto staged = process.storage->StageVolume(
              context, {{.number = "1"}, driver->folder, driver->file_system, 0, ""});
          driver->is_mounted = staged.ok();
          return staged.status();
        }
        break;
      case Kind::kOlder:
      case Kind::kStorage:
        if (call == 0) {
          const auto answer = process.volume->IsVolumeFormatted(context, {kNewVolume});
          driver->sees_format = answer.ok() && answer->formatted;
          return answer.status();
        }
        if (call == 1 && !driver->sees_format) {
          return format(driver->kind == Kind::kStorage, random_.OneIn(2));
        }
        if (call == 2) {
          const auto mounted = process.volume->MountVolume(context, {kNewVolume, driver->folder});
          driver->is_mounted = mounted.ok();
          return mounted.status();
        }
    }
    if (call != 3) return absl::OkStatus();
    const std::string file = absl::StrCat("written", written_.size());
    const absl::Status status =
        node_->WriteFile(absl::StrCat(driver->folder, "\\", file), 5, false);
    if (status.ok()) written_.push_back(file);
    return status;
  }

  machine::simulator::Volume Volume() { return *node_->Snapshot().disks[1].partitions[1].volume; }

  void Check() {
    const machine::simulator::Volume volume = Volume();
    for (const std::string& file : written_) {
      if (!volume.tree.Find(machine::simulator::Tree::kRoot, file).has_value()) {
        Complain(absl::StrCat(file, " is lost"));
      }
    }
  }

  const uint64_t seed_;
  storage::Random random_;
  const std::unique_ptr<machine::simulator::Machine> node_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::vector<std::string> written_;
  std::vector<std::string> log_;
};

// No order of calls loses data written after a mount. CSI_PROXY_TEST_CALLS sets the number of
// orders.
TEST(FormatRaceTest, EveryOrderOfCallsKeepsDataWrittenAfterAMount) {
  const char* const text = std::getenv("CSI_PROXY_TEST_CALLS");
  uint64_t orders = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &orders)) orders = 1000;
  const auto node = machine::simulator::LoadScenario(kNewDisk, "test");
  ASSERT_TRUE(node.ok()) << node.status();
  const machine::simulator::NodeState state = (*node)->Snapshot();
  for (uint64_t seed = 1; seed <= orders && !HasFailure(); ++seed) FormatRace(state, seed).Run();
}

// While a format waits for the volume's lock, another driver makes the row's calls.
TEST(QueuedFormatTest, AFormatChecksTheVolumeAgainUnderTheLock) {
  using storage::Api;
  const std::string staged = absl::StrCat(storage::kRoot, R"(\plugins\1)");
  const std::string by_hand = absl::StrCat(storage::kRoot, R"(\disks\1)");
  const storage::Call format = {.api = Api::kOldFormat, .volume = kNewVolume};
  const storage::Call refs = {.api = Api::kFormat, .volume = kNewVolume, .file_system = "ReFS"};
  const auto mount = [](const std::string& folder) {
    return storage::Call{.api = Api::kMount, .volume = kNewVolume, .target = folder};
  };
  const storage::Call unmount = {.api = Api::kUnmount, .volume = kNewVolume, .target = staged};
  const std::string mounted = "is mounted at a folder and keeps its content";
  const std::string other = "another call has just formatted volume";
  const struct {
    std::vector<storage::Call> before, meanwhile;
    // The errors of the older group and of the storage group. An empty text means OK.
    std::string older, newer;
    // True if the calls of both groups format.
    bool formats = false;
    // Requested by the call; the older group has no label.
    uint32_t unit = 0;
    std::string label = {};
  } rows[] = {
      {{}, {}, "", "", true},
      {{}, {format}, "", ""},
      {{}, {refs}, other, other},
      {{}, {format}, other, other, false, 65536},
      {{}, {format}, "", other, false, 0, "data"},
      {{}, {format, mount(staged)}, mounted, mounted},
      {{}, {format, mount(staged), unmount}, "", ""},
      {{format}, {mount(staged)}, mounted, mounted},
      {{format, mount(by_hand)}, {}, "", mounted},
      {{format, mount(R"(C:\var\lib\kubelet\PLUGINS\1)")}, {}, mounted, mounted},
  };
  for (const auto& row : rows) {
    for (const bool is_older : {true, false}) {
      auto node = machine::simulator::LoadScenario(kNewDisk, "test");
      ASSERT_TRUE(node.ok()) << node.status();
      std::function<void()> nothing;
      storage::NodeProcess other_process(node->get(), &nothing);
      const auto act = [&](const std::vector<storage::Call>& calls) {
        for (const storage::Call& call : calls) {
          EXPECT_EQ(other_process.Answer(call), absl::OkStatus());
        }
      };
      act(row.before);
      std::function<void()> meanwhile = [&] { act(row.meanwhile); };
      std::vector<std::string> lines;
      HandlerDeps deps;
      deps.log = [&](absl::string_view line) { lines.emplace_back(line); };
      storage::NodeProcess process(node->get(), &meanwhile, nullptr, deps);
      const CallContext context;
      const absl::Status status =
          is_older
              ? process.volume->FormatVolume(context, {kNewVolume, "", row.unit}).status()
              : process.storage->FormatVolume(context, {kNewVolume, "", row.unit, row.label, true})
                    .status();
      const std::string& refused = is_older ? row.older : row.newer;
      const bool formats = row.formats || (refused.empty() && !row.before.empty());
      const std::string log = absl::StrJoin(lines, "\n");
      EXPECT_EQ(absl::StrContains(log, "started"), formats);
      EXPECT_EQ(status.ok(), refused.empty()) << status;
      EXPECT_THAT(status.message(), testing::HasSubstr(refused));
      // The error does not name the folder, which may be another tenant's.
      EXPECT_THAT(status.message(), testing::Not(testing::HasSubstr("kubelet")));
      EXPECT_EQ(absl::StrContains(log, "it is mounted at C:"), refused == mounted);
    }
  }
}

}  // namespace
}  // namespace csi_proxy::groups
