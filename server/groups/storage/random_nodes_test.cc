// Makes random calls on random nodes. Drivers may request anything in any order, but the disks that
// Windows uses must not change, and pods' files must stay where they were written.
#include "server/groups/testing/random_nodes.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/groups/testing/random_calls.h"
#include "server/groups/testing/random_rules.h"
#include "server/groups/testing/random_tenants.h"
#include "server/machine/access.h"
#include "server/simulator/win32/os_double.h"

namespace csi_proxy::storage {
// The steady clock. Sleeps advance it without waiting, and so do reads by the main thread while
// other threads sleep. The product and the simulated machine both use this clock, because the
// linker prefers the three functions below.
std::atomic<int64_t> clock_ns = 0;
// The wall clock is this far ahead of the steady clock. Sequences change it.
std::atomic<int64_t> wall_clock_ns = int64_t{1'800'000'000} * 1'000'000'000;

// A sleep on the main thread ends immediately. Sleeps of other threads end while the main thread
// waits for these threads. The main thread counts as waiting if more than kPause of real time
// passes between two of its reads of the clock.
const std::thread::id main_thread = std::this_thread::get_id();
std::atomic<int> sleepers = 0;
constexpr auto kPause = std::chrono::milliseconds(6);

void PassTimeIfMainThreadWaits() {
  if (std::this_thread::get_id() != main_thread) return;
  static auto last = std::chrono::steady_clock::now();
  const auto now = std::chrono::steady_clock::now();
  if (sleepers > 0 && now - last > kPause) clock_ns += int64_t{1'000'000'000};
  last = now;
}

// Sleeps until the clock reaches `wake`. If the main thread does not read the clock, because its
// call has no deadline or it is in a destructor, advances the clock in steps of kUnseen.
void SleepBesideMainThread(int64_t wake) {
  constexpr auto kMost = std::chrono::microseconds(40'000);
  constexpr int64_t kUnseen = int64_t{10'000'000'000};
  ++sleepers;
  while (clock_ns < wake) {
    int64_t before = clock_ns;
    // Many threads look seldom, so that they leave the processors to the main thread.
    const auto look = std::chrono::microseconds(200) * std::max(1, sleepers / 4);
    for (auto slept = 0 * look; clock_ns == before && slept < kMost; slept += look) {
      std::this_thread::sleep_for(look);
    }
    if (clock_ns == before) clock_ns.compare_exchange_strong(before, before + kUnseen);
  }
  --sleepers;
}
}  // namespace csi_proxy::storage

csi_proxy::SteadyTime csi_proxy::SteadyTime::Now() {
  csi_proxy::storage::PassTimeIfMainThreadWaits();
  return SteadyTime() + absl::Nanoseconds(csi_proxy::storage::clock_ns.load());
}

namespace absl {
ABSL_NAMESPACE_BEGIN
int64_t GetCurrentTimeNanos() {
  return csi_proxy::storage::wall_clock_ns + csi_proxy::storage::clock_ns;
}
ABSL_NAMESPACE_END
}  // namespace absl
extern "C" void ABSL_INTERNAL_C_SYMBOL(AbslInternalSleepFor)(absl::Duration duration) {
  using namespace csi_proxy::storage;  // NOLINT: only for this file
  // A wait of less than a nanosecond must also end.
  const int64_t ns = absl::ToInt64Nanoseconds(absl::Ceil(duration, absl::Nanoseconds(1)));
  if (std::this_thread::get_id() != main_thread) return SleepBesideMainThread(clock_ns + ns);
  clock_ns += ns;
}

namespace csi_proxy::storage {
namespace {

using machine::simulator::AnsweredObjects;
using machine::simulator::FaultRule;
using machine::simulator::Machine;

const std::vector<std::string>& Targets() {
  static const auto* const kTargets = new std::vector<std::string>{
      R"(C:\var\lib\kubelet\plugins\a)", R"(C:\var\lib\kubelet\plugins\b)",
      R"(C:\var\lib\kubelet\pods\c)", R"(C:\var\lib\kubelet\pods\d\mount)"};
  return *kTargets;
}
const std::vector<std::string>& WrongTargets() {
  static const auto* const kTargets =
      new std::vector<std::string>{kRoot,
                                   R"(C:\data)",
                                   R"(C:\data\1)",
                                   R"(D:\x)",
                                   R"(C:\var\lib\kubelet\file)",
                                   R"(C:\var\lib\kubelet\link)",
                                   R"(C:\var\lib\kubelet\link\1)",
                                   R"(C:\var\lib\kubelet\plugins\..\..\..\..\Windows)",
                                   ""};
  return *kTargets;
}

class Sequence {
 public:
  // The time limits of a call that its caller leaves, and of a teardown.
  static constexpr absl::Duration kShort = absl::Seconds(5), kTeardown = absl::Seconds(15);

  explicit Sequence(uint64_t seed)
      : seed_(seed), random_(seed), nodes_(&random_), tenants_(&random_) {
    node_text_ = nodes_.Make().DebugString() + tenants_.Scenario();
    auto made = machine::simulator::LoadScenario(node_text_, "random");
    if (!made.ok()) Complain(made.status().ToString());
    if (failed_) return;
    node_ = *std::move(made);
    faults_ = node_->Snapshot().faults;
    groups::HandlerDeps deps;
    deps.bind_smb_credentials = tenants_.is_bound();
    for (auto* const process : {&process_, &other_}) {
      *process = std::make_unique<NodeProcess>(node_.get(), &meanwhile_, &held_, deps);
    }
    // Counts only this thread's calls, because a flush has a thread of its own.
    process_->life.before_call = [this, own = std::this_thread::get_id()](int) {
      if (std::this_thread::get_id() == own && calls_to_swap_ > 0 && --calls_to_swap_ == 0) {
        HappenMeanwhile([this] { Plant(); });
      }
    };
  }

  // Returns true if all rules held.
  bool Run() {
    for (uint64_t left = 5 + random_.Below(26); left > 0 && !failed_; --left) {
      if (random_.OneIn(3)) {
        Happen();
        continue;
      }
      Call call = Draw();
      const bool leaves = random_.OneIn(10);
      if (leaves) call.limit = kShort;
      if (Tenants::IsSwapped(call) && random_.OneIn(2)) {
        calls_to_swap_ = 1 + random_.Below(60);
      } else if (leaves || random_.OneIn(4)) {
        AwaitLock(random_.Below(3), leaves);
      }
      is_calm_ = true;
      begun_.reset();
      Make(*process_, call);
      meanwhile_ = nullptr;
      calls_to_swap_ = 0;
    }
    is_calm_ = true;
    begun_.reset();
    Lift();
    NodeState state = node_->Snapshot();
    // UnstageTarget is last, because UnstageVolume does not end sessions.
    for (const auto& [target, volume] : Mounts(state, true)) {
      if (!tenants_.HasTried(target)) TearDown({.api = Api::kUnstage, .target = target});
    }
    for (const Call& call : tenants_.Teardown(state)) TearDown(call);
    state = node_->Snapshot();
    if (const auto left = Mounts(state, true); !left.empty()) {
      Complain("teardown: a mount at " + left.begin()->first);
    }
    if (const std::string left = tenants_.Left(state); !left.empty()) Complain(left);
    return !failed_;
  }

 private:
  // Repeats a call until it succeeds, at most three times.
  void TearDown(Call call) {
    call.limit = kTeardown;
    for (int repeat = 0; repeat < 3 && !failed_ && !Make(*process_, call);) ++repeat;
  }

  // Ends all faults except the faults of the whole sequence, and the handles of other programs.
  void Lift() {
    node_->core()->Change([this](NodeState& state) {
      state.faults = faults_;
      state.other_opens.clear();
    });
  }

  // Returns true if the machine works and no other program holds an entry open.
  bool IsUndisturbed(const NodeState& state) const {
    return state.faults.size() == faults_.size() && state.other_opens.empty();
  }

  void Complain(const std::string& what) {
    if (std::exchange(failed_, true)) return;
    ADD_FAILURE() << what << "\nseed: " << seed_ << "\nnode:\n"
                  << node_text_ << "calls:\n"
                  << absl::StrJoin(log_, "\n");
  }

  Disk AnyDisk(NodeState& state) {
    std::vector<Disk*> disks = AllDisks(state);
    std::erase_if(disks, [](const Disk* disk) { return disk->number >= Tenants::kFirstDisk; });
    return *disks[random_.Below(disks.size())];
  }

  std::string AnyVolume(NodeState& state) {
    std::vector<std::string> volumes = {R"(\\?\Volume{00000000-c511-4c0d-9000-0000000000ff}\)"};
    for (const Disk* disk : AllDisks(state)) {
      if (disk->number >= Tenants::kFirstDisk) continue;
      for (const DiskPartition& p : disk->partitions) {
        if (p.volume.has_value()) volumes.push_back(p.volume->id.ToString());
      }
    }
    return random_.Of(volumes);
  }

  Call Draw() {
    NodeState state = node_->Snapshot();
    Call call = random_.OneIn(2) ? tenants_.Draw() : DrawOfNode(state);
    if (!state.faults.empty() && random_.OneIn(2)) call.limit = absl::Seconds(30);
    return call;
  }

  Call DrawOfNode(NodeState& state) {
    const Disk disk = AnyDisk(state);
    drawn_ = disk.number;
    Call call;
    // Calls that stage are the most frequent.
    call.api = random_.OneIn(3) ? Api::kStage
                                : static_cast<Api>(random_.Below(static_cast<uint64_t>(Api::kEnd)));
    call.number = random_.OneIn(12) ? 20 : disk.number;
    call.volume = AnyVolume(state);
    call.target = random_.Of(random_.OneIn(10) ? WrongTargets() : Targets());
    call.file_system = random_.Of<std::string>({"", "", "", "NTFS", "ReFS", "exFAT"});
    call.flag = random_.OneIn(2);
    call.size = random_.OneIn(2) ? 0 : static_cast<int64_t>(random_.Below(64) << 26);
    const auto mounts = Mounts(state, true);
    if (random_.OneIn(2) && mounts.contains(call.target)) call.volume = mounts.at(call.target);
    // The kubelet creates the directory of a mount.
    if (call.api == Api::kMount) (void)node_->MakeDirectory(call.target);
    if (call.api == Api::kRmdir && random_.OneIn(5)) call.target = R"(C:\var\lib\kubelet\pods)";
    switch (call.api == Api::kStage ? random_.Below(5) : 5) {
      case 0:
        call.selector.number = absl::StrCat(call.number);
        break;
      case 1:
        call.selector.serial_number = disk.serial_number.substr(0, disk.serial_number.find('_'));
        break;
      case 2:
        call.selector.page83 = disk.page83;
        break;
      case 3:
        call.selector.adapter = absl::StrCat(random_.Below(3));
        [[fallthrough]];
      case 4:
        call.selector.lun_id = absl::StrCat(random_.Below(4));
    }
    return call;
  }

  // Returns true if the call succeeded.
  bool Make(NodeProcess& process, const Call& call) {
    // The tenants' rules hold while calls hang, but not while faults falsify results.
    const auto is_wrong = [](const FaultRule& rule) {
      return rule.code != absl::StatusCode::kOk || rule.goes_on ||
             rule.objects != AnsweredObjects::kAll;
    };
    if (call.caller >= 0) {
      node_->core()->Change([&](NodeState& state) { std::erase_if(state.faults, is_wrong); });
    }
    before_ = node_->Snapshot();
    // Windows continues a method after its caller has left, and a method that hangs may still run.
    const auto goes_on = [&] {
      return std::ranges::any_of(before_.faults, [](const FaultRule& rule) {
        const bool hangs = rule.latency > absl::ZeroDuration() && rule.resource.empty();
        return rule.goes_on || (hangs && absl::StartsWith(rule.operation, "wmi."));
      });
    };
    const bool went_on = goes_on();
    bool is_undisturbed = IsUndisturbed(before_);
    const std::set<std::string> held = held_.names;
    held_.longest = absl::ZeroDuration();
    std::string answer;
    const SteadyTime begin = held_.OwnTime();
    if (call.caller >= 0) tenants_.Note(call);
    const absl::Status status = process.Answer(call, &answer);
    log_.push_back(absl::StrCat(log_.size() + 1, " ", call.Text(), " -> ", status.ToString()));
    // Windows refuses a size beyond its limit.
    const bool unsupported = absl::StrContains(status.message(), "Size not supported (4097)");
    // Another call that ran during this one may have used up a fault.
    is_undisturbed = is_undisturbed && IsUndisturbed(before_);
    if (absl::IsInternal(status) && !unsupported && is_undisturbed) {
      Complain("INTERNAL, and no fault was injected");
    }
    // Windows may still be executing the call.
    if (absl::IsDeadlineExceeded(status) && (went_on || goes_on())) {
      late_.push_back({call, before_});
    }
    if (process.locks.size() != 0 || held_.names != held) Complain("a lock is still held");
    // A call may wait for Windows to finish an earlier call, although the fault that delays the
    // earlier one has ended.
    if (held_.longest > Tenants::kLongestHold && is_undisturbed && late_.empty()) {
      Complain(absl::StrCat("waiting: a lock for ", absl::FormatDuration(held_.longest)));
    }
    NodeState after = node_->Snapshot();
    JudgeDisks(call, absl::StrContains(status.message(), "stays online"), after);
    JudgeMounts(call, status, after);
    const std::string broken =
        tenants_.Judge(call, status, answer, held_.OwnTime() - begin, is_calm_ && is_undisturbed,
                       begun_.has_value() ? *begun_ : before_, before_, after);
    if (!broken.empty()) Complain(broken);
    return status.ok();
  }

  // Complains about a change of a disk that the call must not make. `stays_online` is true if the
  // answer reports that the disk could not be taken offline again.
  void JudgeDisks(const Call& call, bool stays_online, NodeState& after) {
    std::vector<uint32_t> changed;
    for (const Disk* was : AllDisks(before_)) {
      const Disk* const is = Find(after, was->number);
      if (is == nullptr) return Complain("a disk is gone");
      const std::string now = Lasting(*is).SerializeAsString();
      if (Lasting(*was).SerializeAsString() == now) continue;
      changed.push_back(was->number);
      const auto is_allowed_from = [&](NodeState& state) {
        const Disk* const first = Find(state, was->number);
        if (first == nullptr) return false;
        Disk allowed = *first;
        Allow(call, state, *is, &allowed);
        if (stays_online) AllowOnline(state, *is, &allowed);
        // A refused call undoes its changes.
        const Disk* const begun = begun_.has_value() ? Find(*begun_, was->number) : nullptr;
        if (call.api == Api::kStage && begun != nullptr) {
          if (is->online == begun->online) allowed.online = is->online;
          if (is->read_only == begun->read_only) allowed.read_only = is->read_only;
        }
        for (LateCall& late : late_) AllowLate(late.call, late.state, state, *is, &allowed);
        return Lasting(allowed).SerializeAsString() == now;
      };
      if (is_allowed_from(before_) || (begun_.has_value() && is_allowed_from(*begun_))) continue;
      return Complain(absl::StrCat("disk ", was->number, " was\n", Lasting(*was).DebugString(),
                                   "and is\n", Lasting(*is).DebugString()));
    }
    if (changed.size() > 1 + late_.size())
      Complain(absl::StrCat("changed: ", absl::StrJoin(changed, ", ")));
  }

  void JudgeMounts(const Call& call, const absl::Status& status, NodeState& after) {
    const auto was = Mounts(before_, true);
    const auto is = Mounts(after, true);
    const bool is_mounting =
        call.api == Api::kStage || call.api == Api::kMount || call.api == Api::kStageTarget;
    const bool is_ending = call.api == Api::kUnstage || call.api == Api::kUnmount ||
                           call.api == Api::kRmdir || call.api == Api::kUnstageTarget ||
                           call.api == Api::kRemoveMount;
    for (const auto& [folder, volume] : is) {
      if (was.contains(folder) && was.at(folder) == volume) continue;
      if (!is_mounting || folder != call.target) return Complain("nobody asked for a mount");
      const Disk* const disk = DiskOf(after, volume);
      if (disk == nullptr || IsWindows(*disk)) return Complain("Windows itself is mounted");
    }
    for (const auto& [folder, volume] : was) {
      if (is.contains(folder) || (is_mounting && folder == call.target)) continue;
      if (!is_ending || !absl::StartsWith(folder + "\\", call.target + "\\")) {
        return Complain(absl::StrCat("the mount at ", folder, " is gone"));
      }
    }
    // A swap may have renamed the directory at which the call has just mounted a volume.
    if (!status.ok() || (Tenants::IsSwapped(call) && begun_.has_value())) return;
    if (call.api == Api::kStage) {
      const Disk* const disk =
          is.contains(call.target) ? DiskOf(after, is.at(call.target)) : nullptr;
      if (disk == nullptr || !Means(call.selector, *disk)) return Complain("that was not meant");
      if (IsBesideWindows(call.selector, after, *disk)) {
        return Complain("a LUN alone meant a disk beside the one of Windows");
      }
    }
    if (call.api == Api::kUnstage && is.contains(call.target)) Complain("it is mounted still");
  }

  // Calls HappenMeanwhile() before the next call takes a lock, after that call has taken `locks`
  // other locks. If `leaves`, the call's deadline then passes. The call is not cancelled instead,
  // because a wait for cancellation does not use the test's clock.
  void AwaitLock(uint64_t locks, bool leaves) {
    meanwhile_ = [this, locks, leaves] {
      if (locks > 0) return AwaitLock(locks - 1, leaves);
      HappenMeanwhile([this] { random_.OneIn(2) ? (void)Make(*other_, Draw()) : Happen(); });
      if (leaves) absl::SleepFor(kShort);
    };
  }

  // Lets another process, the cloud, a pod or an administrator act during a call.
  void HappenMeanwhile(const std::function<void()>& act) {
    log_.push_back("during the next one:");
    const NodeState begun = before_;
    act();
    before_ = node_->Snapshot();
    begun_ = begun;
  }

  // Lets the cloud, a pod, an administrator or time change the node.
  void Happen() {
    is_calm_ = false;
    NodeState state = node_->Snapshot();
    const Disk* const drawn = random_.OneIn(2) ? Find(state, drawn_) : nullptr;
    const Disk disk = drawn != nullptr ? *drawn : AnyDisk(state);
    absl::Status status;
    std::string what;
    switch (random_.Below(14)) {
      case 13:
        what = "all faults end";
        Lift();
        break;
      case 12:
        what = absl::StrCat("open ", Hold(state));
        break;
      case 11:
        what = "step the wall clock";
        wall_clock_ns += (random_.OneIn(2) ? 1 : -1) * absl::ToInt64Nanoseconds(absl::Hours(1));
        break;
      case 10:
        status = node_->InjectFault(*machine::simulator::FaultFromProto(nodes_.Fault(&what)));
        break;
      case 0:
      case 1:
        status = Attach(disk, std::nullopt, &what);
        break;
      case 2:
        if (IsWindows(disk)) return;
        what = absl::StrCat("detach ", disk.number);
        status = node_->DetachDisk(disk.number);
        // In half of the cases a new disk gets the number.
        if (random_.OneIn(2)) status = Attach(disk, disk.number, &what);
        break;
      case 3: {
        const uint64_t size = std::max(disk.size_bytes, disk.grown_size_bytes);
        what = absl::StrCat("grow ", disk.number);
        status = node_->GrowDisk(disk.number, size + (1 + random_.Below(4)) * (uint64_t{64} << 20));
        break;
      }
      case 4: {
        const auto mounts = Mounts(state, true);
        if (mounts.empty()) return;
        const auto mount = std::next(mounts.begin(), random_.Below(mounts.size()));
        const std::string& target = mount->first;
        const std::string file = absl::StrCat(target, "\\written", log_.size());
        what = absl::StrCat("write ", file);
        status = node_->WriteFile(file, 5, false);
        if (!status.ok() || random_.OneIn(2)) break;
        absl::StrAppend(&what, ", which stays open");
        status = node_->SetOtherOpens(
            {{file, machine::right::kReadData, machine::share::kRead | machine::share::kWrite}});
        break;
      }
      case 5:
        what = absl::StrCat("a letter for what is on disk ", disk.number);
        node_->core()->Change([&](NodeState& now) {
          for (DiskPartition& p : const_cast<Disk*>(Find(now, disk.number))->partitions) {
            if (!p.volume.has_value() || p.volume->drive_letter != 0 || !disk.online) continue;
            if (next_letter_ <= 'Z') p.volume->drive_letter = next_letter_++;
          }
        });
        break;
      case 6: {
        const std::string folder = absl::StrCat(R"(C:\data\by-hand)", log_.size());
        const std::string volume = AnyVolume(state);
        what = absl::StrCat("mount ", volume, " at ", folder);
        status = node_->MakeDirectory(folder);
        if (status.ok()) {
          status = machine::simulator::NewSimulatedOs(node_->core())
                       ->SetMountPoint(folder + "\\", volume);
        }
        break;
      }
      case 8:
        return Plant();
      case 7:
        // A reboot would end the calls under way.
        if (!held_.names.empty()) return;
        what = "reboot";
        node_->Reboot();
        break;
      default:
        what = "time";
        absl::SleepFor(absl::Seconds(static_cast<int64_t>(random_.Below(10))));
    }
    log_.push_back(absl::StrCat(log_.size() + 1, " (", what, ") -> ", status.ToString()));
  }

  void Plant() {
    const absl::Status status = tenants_.Plant(node_.get(), *process_->os);
    log_.push_back(absl::StrCat(log_.size() + 1, " (entries of a tenant) -> ", status.ToString()));
  }

  // Lets another program, like a virus scanner, open a target or the folder above it.
  std::string Hold(const NodeState& state) {
    std::string path = random_.Of(Targets());
    if (random_.OneIn(2)) path = tenants_.Draw().target;
    if (random_.OneIn(2)) path.resize(path.rfind('\\'));
    auto opens = state.other_opens;
    opens.push_back({path, machine::right::kReadData,
                     random_.Of<uint32_t>({0, machine::share::kRead | machine::share::kWrite})});
    node_->SetOtherOpens(opens).IgnoreError();
    return path;
  }

  // Attaches a disk, sometimes a copy of `original`. Windows keeps the copy offline only while
  // `original` is online.
  absl::Status Attach(const Disk& original, std::optional<uint32_t> number, std::string* what) {
    auto disk = machine::simulator::DiskFromProto(nodes_.DataDisk());
    if (!disk.ok()) return disk.status();
    const bool is_there =
        original.online && !original.awaits_rescan && HasArrived(original.arrives_at);
    if (random_.OneIn(4) && is_there && !number.has_value()) {
      if (absl::Status s = node_->CopyDisk(original.number, &*disk); !s.ok()) return s;
    }
    absl::StrAppend(what, " attach ", machine::simulator::DiskToProto(*disk).ShortDebugString());
    return node_->AttachDisk(*disk, number).status();
  }

  const uint64_t seed_;
  Random random_;
  RandomNode nodes_;
  Tenants tenants_;
  std::string node_text_;
  bool failed_ = false;
  // True if only calls have changed the node since the current call began.
  bool is_calm_ = true;
  std::vector<std::string> log_;
  // The faults of the whole sequence.
  std::vector<FaultRule> faults_;
  std::unique_ptr<Machine> node_;
  std::function<void()> meanwhile_;
  // Plant() runs before the machine call that counts this down to 0. Does not run if this is 0.
  uint64_t calls_to_swap_ = 0;
  HeldLocks held_;
  std::unique_ptr<NodeProcess> process_;
  std::unique_ptr<NodeProcess> other_;
  NodeState before_;
  // The state before the current call, if something happened during it.
  std::optional<NodeState> begun_;
  // The calls that ended before Windows finished them, with the state of the node at each call.
  struct LateCall {
    Call call;
    NodeState state;
  };
  std::vector<LateCall> late_;
  char next_letter_ = 'N';
  // The disk of the last call.
  uint32_t drawn_ = 0;
};

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

void RunSequences(uint64_t first, uint64_t count) {
  std::cout << "sequences " << first << " to " << first + count - 1 << std::endl;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    if (!Sequence(seed).Run()) return;
  }
}

TEST(RandomNodesTest, RandomCallsChangeNoDiskOfWindowsOrOfPods) {
  const bool is_one = std::getenv("CSI_PROXY_RANDOM_SEED") != nullptr;
  RunSequences(FromEnvironment("CSI_PROXY_RANDOM_SEED", 1),
               FromEnvironment("CSI_PROXY_RANDOM_SEQUENCES", is_one ? 1 : 1000));
}

}  // namespace
}  // namespace csi_proxy::storage
