// Runs the rpcs of Rows(), which end a mount, a link, a mapping or a session, while each call to
// the machine in turn fails, hangs, is late, or is the last before the process dies, and while
// another process keeps the folder open. The rpc must still end its object. Waits take no time,
// because the program has the clock of random_nodes_test.cc.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/groups/storage/crash_testing.h"
#include "server/machine/access.h"

namespace csi_proxy::storage {
namespace {

using machine::simulator::FaultRule;
using machine::simulator::Tree;
using testing::HasSubstr;

// Disk 1 is mounted at `tree\vol`, and LUN 0 of the target with the suffix `data` at `lun`. `share`
// is a link to a mapped share. All other objects belong to other tenants and must stay.
constexpr char kScenario[] = R"(
  behaviour { volume_cache_ms: 0 }
  disk { number: 0 size_bytes: 68719476736 style: GPT partition { size_bytes: 60000000000 volume {
    id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000000}\\" file_system: "NTFS" drive_letter: "C"
    file { path: "var\\lib\\kubelet\\tree\\vol"
           mounted_volume_id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000001}\\" }
    file { path: "var\\lib\\kubelet\\lun"
           mounted_volume_id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000002}\\" }
    file { path: "var\\lib\\kubelet\\others"
           mounted_volume_id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000003}\\" }
    file { path: "var\\lib\\kubelet\\share" kind: LINK target: "\\\\srv\\data" }
    file { path: "var\\lib\\kubelet\\links\\share" kind: LINK target: "\\\\srv\\other" }
    file { path: "var\\lib\\kubelet\\othershare" kind: LINK target: "\\\\srv\\other" } } } }
  disk { number: 1 size_bytes: 1073741824 style: GPT partition { size_bytes: 536870912 volume {
    id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000001}\\" file_system: "NTFS" } } }
  disk { number: 3 size_bytes: 1073741824 style: GPT partition { size_bytes: 536870912 volume {
    id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000003}\\" file_system: "NTFS" } } }
  smb_server { name: "srv" anonymous: true share { name: "data" } share { name: "other" } }
  smb_mapping { remote_path: "\\\\srv\\data" }
  smb_mapping { remote_path: "\\\\srv\\other" }
  iscsi_portal {
    address: "10.0.0.5" registered: true
    target { iqn: "iqn.2026-01.example:data" connected: true persistent: true
      disk { number: 10 size_bytes: 1073741824 style: GPT bus_type: BUS_ISCSI
        location: "iSCSI : Adapter 1 : Port 0 : Target 0 : LUN 0"
        partition { size_bytes: 536870912 volume {
          id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000002}\\" file_system: "NTFS" } } } }
    target { iqn: "iqn.2026-01.example:other" connected: true disk { number: 11 size_bytes: 1073741824 bus_type: BUS_ISCSI } }
  }
  iscsi_portal { address: "10.0.0.6" registered: true }
)";
constexpr char kVolume[] = R"(\\?\Volume{00000000-0000-0000-0000-000000000001}\)";
constexpr char kShare[] = R"(\\srv\data)";

std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }

// The warnings of an answer, and a line for each disk in `disks_in_use`.
using Said = std::vector<std::string>;

template <typename Response>
absl::StatusOr<Said> SaidBy(const absl::StatusOr<Response>& response) {
  if (!response.ok()) return response.status();
  Said said;
  if constexpr (requires { response->warnings; }) said = response->warnings;
  if constexpr (requires { response->disks_in_use; }) {
    for (const uint32_t disk : response->disks_in_use)
      said.push_back(absl::StrCat("in use: ", disk));
  }
  return said;
}

struct Row {
  const char* name;
  // The mounted folder or link, and the entry that the call deletes with it, both below the
  // kubelet's directory. If `target` is empty, the call removes the mapping.
  std::string target;
  std::string removed;
  std::function<absl::StatusOr<Said>(Process&, const CallContext&)> call;
  bool keeps_online = true;
};

const std::vector<Row>& Rows() {
  const auto rmdir = [](const std::string& path, bool force) {
    return [=](Process& p, const CallContext& c) {
      return SaidBy(filesystem::NewFilesystemService(p.deps)->Rmdir(c, {Below(path), force}));
    };
  };
  static const auto* const kRows = new std::vector<Row>{
      {"UnmountVolume", "tree\\vol", "",
       [](Process& p, const CallContext& c) {
         return SaidBy(p.volume->UnmountVolume(c, {kVolume, Below("tree\\vol")}));
       }},
      {"Rmdir", "tree\\vol", "tree\\vol", rmdir("tree\\vol", false)},
      {"Rmdir of a tree", "tree\\vol", "tree", rmdir("tree", true)},
      {"Rmdir of a link", "share", "share", rmdir("share", false)},
      {"Rmdir of a tree with a link", "links\\share", "links", rmdir("links", true)},
      {"RmdirContents", "tree\\vol", "tree\\vol",
       [](Process& p, const CallContext& c) {
         return SaidBy(filesystem::NewFilesystemService(p.deps)->RmdirContents(c, {Below("tree")}));
       }},
      {"UnstageVolume", "tree\\vol", "tree\\vol",
       [](Process& p, const CallContext& c) {
         return SaidBy(p.storage->UnstageVolume(c, {Below("tree\\vol")}));
       },
       false},
      {"UnstageTarget", "lun", "lun",
       [](Process& p, const CallContext& c) {
         return SaidBy(p.storage->UnstageTarget(c, {.target_path = Below("lun"),
                                                    .iqn = "iqn.2026-01.example:data",
                                                    .lun_id = "0",
                                                    .remove_portals = {"10.0.0.6"}}));
       },
       false},
      {"UnstageShare", "share", "share",
       [](Process& p, const CallContext& c) {
         return SaidBy(p.storage->UnstageShare(c, {Below("share"), kShare}));
       }},
      {"RemoveSmbGlobalMapping", "", "",
       [](Process& p, const CallContext& c) {
         return SaidBy(smb::NewSmbService(p.deps)->RemoveSmbGlobalMapping(c, {kShare}));
       }},
  };
  return *kRows;
}

bool Unstages(const Row& row, const char* what) { return absl::StartsWith(row.name, what); }

const NodeState& Prepared() {
  static const auto* const kState = [] {
    auto node = machine::simulator::LoadScenario(kScenario, "test");
    EXPECT_TRUE(node.ok()) << node.status();
    return new NodeState((*node)->Snapshot());
  }();
  return *kState;
}

Tree& SystemTree(NodeState& state) { return state.disks[0].partitions.back().volume->tree; }

std::optional<Tree::Id> Find(const Tree& tree, const std::string& path) {
  for (const Tree::Id id : tree.Walk()) {
    if (tree.PathOf(id) == "var\\lib\\kubelet\\" + path) return id;
  }
  return std::nullopt;
}

bool IsMapped(const NodeState& state) {
  return std::ranges::any_of(state.smb_mappings,
                             [](const auto& each) { return each.remote_path == kShare; });
}
bool IsConnected(const NodeState& state) {
  return state.iscsi_portals[0].targets[0].connected ||
         state.iscsi_portals[0].targets[0].persistent;
}

// Returns true if the row's mount, link or mapping still exists.
bool IsThere(NodeState state, const Row& row) {
  if (row.target.empty()) return IsMapped(state);
  const Tree& tree = SystemTree(state);
  const auto entry = Find(tree, row.target);
  return entry.has_value() &&
         (tree.at(*entry).mounted.has_value() || tree.at(*entry).kind == Tree::Kind::kLink);
}

// Returns a word for each object that the row should have removed and that still exists. The
// answers must contain these words.
std::set<std::string> Left(NodeState state, const Row& row) {
  std::set<std::string> left;
  if (!row.removed.empty() && Find(SystemTree(state), row.target).has_value()) {
    left.insert("folder stays");
  }
  if (row.keeps_online) return left;
  if (Unstages(row, "UnstageShare") && IsMapped(state)) left.insert("mapping");
  if (Unstages(row, "UnstageVolume") && state.disks[1].online) left.insert("stays online");
  if (Unstages(row, "UnstageTarget") && IsConnected(state)) left.insert("example:data");
  // A portal is only removed after the sessions have ended.
  if (Unstages(row, "UnstageTarget") && !IsConnected(state) && state.iscsi_portals[1].registered) {
    left.insert("10.0.0.6");
  }
  return left;
}

// Returns the node without the objects that the row may change.
std::string Others(NodeState state, const Row& row) {
  state.faults.clear();
  state.other_opens.clear();
  Tree& tree = SystemTree(state);
  const std::string own = row.target.substr(0, row.target.find('\\'));
  if (const auto entry = Find(tree, own); !own.empty() && entry.has_value()) tree.Remove(*entry);
  const auto forgive = [](machine::simulator::Disk& disk) {
    disk.online = true;
    for (auto& partition : disk.partitions) partition.volume->stale_folders.clear();
  };
  if (own == "tree") forgive(state.disks[1]);
  if (own == "lun") {
    auto& target = state.iscsi_portals[0].targets[0];
    target.connected = target.persistent = false;
    forgive(target.disks[0]);
    state.iscsi_portals[1].registered = false;
  }
  if (Unstages(row, "UnstageShare") || row.target.empty()) {
    std::erase_if(state.smb_mappings, [](const auto& each) { return each.remote_path == kShare; });
  }
  return machine::simulator::StateToProto(state).DebugString();
}

// Runs the row up to three times on a node that `spoil` has changed, then once more without faults.
// The mount, link or mapping must be gone after the repeats, unless `may_stay`, and after the last
// run. Returns the errors and warnings of the first runs.
std::string Spoil(const Row& row, const std::function<void(NodeState&)>& spoil,
                  bool may_stay = false) {
  const auto node = NodeIn(Prepared());
  node->core()->Change(spoil);
  const NodeState spoilt = node->Snapshot();
  const bool is_wmi =
      !spoilt.faults.empty() && absl::StartsWith(spoilt.faults[0].operation, "wmi.");
  Process process(node.get());
  const auto call = [&] { return row.call(process, CallContext().WithTimeout(absl::Seconds(10))); };
  absl::StatusOr<Said> answer;
  Said said;
  for (int repeat = 0; repeat < 3; ++repeat) {
    answer = call();
    if (answer.ok()) {
      said.insert(said.end(), answer->begin(), answer->end());
      break;
    }
    said.push_back(absl::StrCat("error: ", answer.status().message()));
    // The error of a call that ran out of time in WMI must name the operation.
    EXPECT_TRUE(!is_wmi ||
                answer.status() != absl::DeadlineExceededError("the call's deadline has passed"));
  }
  const std::string told = absl::StrJoin(said, "\n");
  EXPECT_EQ(Others(node->Snapshot(), row), Others(Prepared(), row));
  EXPECT_EQ(process.locks.size(), 0u);
  // A row without a target only removes the mapping, and fails if the removal fails.
  if (!may_stay && !row.target.empty()) {
    EXPECT_FALSE(IsThere(node->Snapshot(), row)) << told;
    for (const std::string& word : Left(node->Snapshot(), row)) EXPECT_THAT(told, HasSubstr(word));
  }
  node->core()->Change([](NodeState& state) {
    state.faults.clear();
    state.other_opens.clear();
  });
  answer = call();
  EXPECT_TRUE(answer.ok() || absl::IsNotFound(answer.status())) << answer.status();
  EXPECT_FALSE(IsThere(node->Snapshot(), row)) << told;
  std::set<std::string> left = Left(node->Snapshot(), row);
  // The last run cannot find the disk, because the mount was its only trace, and may leave portals,
  // because other tenants share them.
  for (const char* word : {"stays online", "10.0.0.6"}) left.erase(word);
  EXPECT_THAT(left, testing::IsEmpty()) << told;
  return told;
}

// Returns true for a call that is needed to find or remove the entry at a target.
bool IsOfTheEntry(absl::string_view operation) {
  return operation == "win32.Open" || operation == "win32.OpenBelow" ||
         operation == "win32.GetAttributes" || operation == "win32.ReadReparsePoint" ||
         operation == "win32.List";
}

// Returns true for an error by which an rpc sees that the disk, entry or portal is absent.
bool SaysNothingIsThere(absl::string_view operation, uint32_t error) {
  return (error == 2 || error == 3) &&
         (operation == "win32.Control" || operation == "win32.Delete" ||
          operation == "wmi.Invoke/MSFT_iSCSITargetPortal.Remove");
}

std::vector<std::string> MachineCalls(const char* of) {
  std::vector<std::string> calls;
  for (const absl::string_view call : machine::simulator::Operations()) {
    if (absl::StartsWith(call, of)) calls.emplace_back(call);
  }
  return calls;
}

FaultRule Rule(const std::string& operation, uint32_t error) {
  FaultRule rule;
  rule.operation = operation;
  if (error == 0) return rule;
  rule.code = absl::StatusCode::kInternal;
  rule.error = machine::simulator::KnownError(error);
  return rule;
}

// The errors that Windows documents for a device that fails or is locked, for an entry that other
// processes hold, and for WMI. The return values are common ones, or of MSFT_Disk.Offline
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-offline).
constexpr uint32_t kWin32Errors[] = {2,   5,   21,  23,   31,   32,   55,   87,
                                     112, 433, 483, 1006, 1117, 1167, 1392, 0x80310000};
constexpr uint32_t kWmiErrors[] = {0x80041001, 0x80041003, 0x80041013};
constexpr uint32_t kReturnValues[] = {1, 2, 3, 4, 5, 6, 40001, 40002, 40003, 41009, 41018};

TEST(TeardownTest, TheObjectIsRemovedEvenIfOneWindowsCallAlwaysFails) {
  for (const Row& row : Rows()) {
    const auto fail = [&](const std::string& operation, uint32_t error) {
      if (SaysNothingIsThere(operation, error)) return;
      SCOPED_TRACE(absl::StrCat(row.name, ", ", operation, " fails with ", error));
      Spoil(
          row, [&](NodeState& state) { state.faults = {Rule(operation, error)}; },
          IsOfTheEntry(operation));
    };
    for (const std::string& operation : MachineCalls("win32.")) {
      for (const uint32_t error : kWin32Errors) fail(operation, error);
    }
    for (const std::string& operation : MachineCalls("wmi.")) {
      for (const uint32_t error : kWmiErrors) fail(operation, error);
      if (!absl::StartsWith(operation, "wmi.Invoke/")) continue;
      for (const uint32_t error : kReturnValues) fail(operation, error);
    }
  }
}

TEST(TeardownTest, TheObjectIsRemovedEvenIfOneWindowsCallHangsOrIsLate) {
  std::vector<std::string> calls = MachineCalls("");
  calls.emplace_back("wmi.*");
  for (const Row& row : Rows()) {
    for (const std::string& operation : calls) {
      const bool is_wmi = absl::StartsWith(operation, "wmi.");
      if (!is_wmi && !absl::StartsWith(operation, "win32.")) continue;
      FaultRule rule = Rule(operation, 0);
      rule.goes_on = true;
      rule.times = 1;
      for (const int seconds : {3, 6, 20}) {
        SCOPED_TRACE(absl::StrCat(row.name, ", ", operation, " takes ", seconds, " s"));
        rule.latency = absl::Seconds(seconds);
        Spoil(row, [&](NodeState& state) { state.faults = {rule}; });
      }
      // A volume may never answer if its disk hangs.
      if (!is_wmi && operation != "win32.GetFileSystem") continue;
      SCOPED_TRACE(absl::StrCat(row.name, ", ", operation, " hangs"));
      rule.latency = absl::Hours(1);
      rule.times = 0;
      rule.goes_on = false;
      Spoil(row, [&](NodeState& state) { state.faults = {rule}; });
    }
  }
}

// Another process, like a virus scanner, has the folder open and its sharing mode forbids deletion.
// Windows may be slow to name that process; then the error does not name it.
TEST(TeardownTest, AMountOrLinkEndsWhileAnotherProcessHasTheFolderOpen) {
  for (const Row& row : Rows()) {
    for (const int seconds : {0, 2}) {
      SCOPED_TRACE(absl::StrCat(row.name, ", ", seconds, " s"));
      if (row.target.empty()) continue;
      FaultRule rule = Rule("win32.ListUsers", 0);
      rule.latency = absl::Seconds(seconds);
      rule.goes_on = true;
      const std::string told = Spoil(row, [&](NodeState& state) {
        if (seconds > 0) state.faults = {rule};
        state.other_opens = {{Below(row.target), machine::right::kReadData,
                              machine::share::kRead | machine::share::kWrite, 7, "scanner.exe"}};
      });
      EXPECT_EQ(absl::StrContains(told, "open in scanner.exe (pid 7)"),
                seconds == 0 && !row.removed.empty())
          << told;
      EXPECT_EQ(absl::StrContains(told, "error: "), absl::StartsWith(row.name, "Rmdir")) << told;
    }
  }
}

TEST(TeardownTest, ACallKilledAtAnyStepAndRepeatedReachesTheSameState) {
  for (const Row& row : Rows()) {
    for (const bool reboots : {false, true}) {
      const auto whole = NodeIn(Prepared());
      Process undisturbed(whole.get());
      ASSERT_TRUE(row.call(undisturbed, {}).ok()) << row.name;
      if (reboots) whole->Reboot();
      const std::string wanted = Dump(*whole);
      for (int at = 1; at <= undisturbed.life.calls(); ++at) {
        for (const Death death : {Death::kBefore, Death::kBehind, Death::kNone}) {
          SCOPED_TRACE(absl::StrCat(row.name, ", death ", static_cast<int>(death), " at call ", at,
                                    reboots ? ", then a reboot" : ""));
          const auto node = NodeIn(Prepared());
          Process killed(node.get(), death, at);
          (void)row.call(killed, {});
          if (reboots) node->Reboot();
          Process next(node.get());
          const absl::Status repeated = row.call(next, {}).status();
          EXPECT_TRUE(repeated.ok() || absl::IsNotFound(repeated)) << repeated;
          EXPECT_EQ(Dump(*node), wanted);
        }
      }
    }
  }
}

// Windows finishes a removal after its caller has given up. In between, another call has staged the
// same share, disk or session, and must keep it.
TEST(TeardownTest, ALateRemovalDoesNotUndoTheNextCallsStaging) {
  struct Case {
    const char* row;
    const char* operation;
    std::function<absl::Status(Process&, const CallContext&)> stage;
    std::function<bool(const NodeState&)> is_staged;
  };
  const Case cases[] = {
      {"UnstageShare", "wmi.Invoke/MSFT_SmbGlobalMapping.Remove",
       [](Process& p, const CallContext& c) {
         return p.storage->StageShare(c, {.remote_path = kShare, .target_path = Below("new")})
             .status();
       },
       IsMapped},
      {"UnstageVolume", "wmi.Invoke/MSFT_Disk.Offline",
       [](Process& p, const CallContext& c) {
         return p.storage->StageVolume(c, {.disk = {.number = "1"}, .target_path = Below("new")})
             .status();
       },
       [](const NodeState& state) { return state.disks[1].online; }},
      {"UnstageTarget", "wmi.Invoke/MSFT_iSCSITarget.Disconnect",
       [](Process& p, const CallContext& c) {
         return p.storage
             ->StageTarget(c, {.portals = {"10.0.0.5"},
                               .iqn = "iqn.2026-01.example:data",
                               .lun_id = "0",
                               .target_path = Below("new")})
             .status();
       },
       [](const NodeState& state) { return state.iscsi_portals[0].targets[0].connected; }},
      // The calls of the older groups also wait.
      {"UnstageVolume", "wmi.Invoke/MSFT_Disk.Offline",
       [](Process& p, const CallContext& c) {
         return disk::NewDiskService(p.deps)
             ->SetDiskState(c, {.disk_number = 1, .is_online = true})
             .status();
       },
       [](const NodeState& state) { return state.disks[1].online; }},
      {"UnstageTarget", "wmi.Invoke/MSFT_iSCSITarget.Disconnect",
       [](Process& p, const CallContext& c) {
         return iscsi::NewIscsiService(p.deps)
             ->ConnectTarget(
                 c, {.target_portal = {"10.0.0.5", 3260}, .iqn = "iqn.2026-01.example:data"})
             .status();
       },
       [](const NodeState& state) { return state.iscsi_portals[0].targets[0].connected; }},
      {"UnstageTarget", "wmi.Invoke/MSFT_iSCSITargetPortal.Remove",
       [](Process& p, const CallContext& c) {
         return iscsi::NewIscsiService(p.deps)
             ->AddTargetPortal(c, {.target_portal = {"10.0.0.6", 3260}})
             .status();
       },
       [](const NodeState& state) { return state.iscsi_portals[1].registered; }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.row);
    const Row& row = *std::ranges::find_if(
        Rows(), [&](const Row& one) { return absl::string_view(one.name) == each.row; });
    const auto node = NodeIn(Prepared());
    const FaultRule late = Late(each.operation);
    node->core()->Change([&](NodeState& state) { state.faults = {late}; });
    Process process(node.get());
    (void)row.call(process, CallContext().WithTimeout(absl::Seconds(10)));
    EXPECT_FALSE(IsThere(node->Snapshot(), row));
    EXPECT_TRUE(each.is_staged(node->Snapshot()));
    const absl::Status staged = each.stage(process, CallContext().WithTimeout(absl::Minutes(2)));
    EXPECT_TRUE(staged.ok()) << staged;
    LetLateChangesEnd();
    EXPECT_TRUE(each.is_staged(node->Snapshot()));
  }
}

// Windows sets up an object after the caller has given up. The caller's teardown must remove it.
TEST(TeardownTest, ATeardownRemovesWhatALateSetupMakes) {
  using Call = std::function<absl::Status(Process&, const CallContext&)>;
  struct Case {
    const char* operation;
    Call set_up;
    Call tear_down;
    std::function<bool(const NodeState&)> is_there;
  };
  const iscsi::TargetPortal portal = {"10.0.0.5", 3260};
  const std::string iqn = "iqn.2026-01.example:data";
  const Call unstage_share = [](Process& p, const CallContext& c) {
    return p.storage->UnstageShare(c, {Below("share"), kShare}).status();
  };
  const Call unstage_target = [&](Process& p, const CallContext& c) {
    return p.storage->UnstageTarget(c, {.target_path = Below("lun"), .iqn = iqn}).status();
  };
  const Case cases[] = {
      {"wmi.Invoke/MSFT_SmbGlobalMapping.Create",
       [](Process& p, const CallContext& c) {
         return p.storage->StageShare(c, {.remote_path = kShare, .target_path = Below("share")})
             .status();
       },
       unstage_share, IsMapped},
      {"wmi.Invoke/MSFT_SmbGlobalMapping.Create",
       [](Process& p, const CallContext& c) {
         return smb::NewSmbService(p.deps)
             ->NewSmbGlobalMapping(c, {.remote_path = kShare})
             .status();
       },
       [](Process& p, const CallContext& c) {
         return smb::NewSmbService(p.deps)->RemoveSmbGlobalMapping(c, {kShare}).status();
       },
       IsMapped},
      {"wmi.Invoke/MSFT_iSCSITarget.Connect",
       [&](Process& p, const CallContext& c) {
         return p.storage
             ->StageTarget(c, {.portals = {"10.0.0.5"},
                               .iqn = iqn,
                               .lun_id = "0",
                               .persistent = true,
                               .target_path = Below("lun")})
             .status();
       },
       unstage_target, IsConnected},
      {"wmi.Invoke/MSFT_iSCSITarget.Connect",
       [&](Process& p, const CallContext& c) {
         return iscsi::NewIscsiService(p.deps)
             ->ConnectTarget(c, {.target_portal = portal, .iqn = iqn})
             .status();
       },
       [&](Process& p, const CallContext& c) {
         return iscsi::NewIscsiService(p.deps)
             ->DisconnectTarget(c, {.target_portal = portal, .iqn = iqn})
             .status();
       },
       IsConnected},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.operation);
    const auto node = NodeIn(Prepared());
    Process process(node.get());
    const CallContext long_enough = CallContext().WithTimeout(absl::Minutes(2));
    ASSERT_EQ(unstage_share(process, long_enough), absl::OkStatus());
    ASSERT_EQ(unstage_target(process, long_enough), absl::OkStatus());
    const FaultRule late = Late(each.operation, absl::Seconds(30));
    node->core()->Change([&](NodeState& state) {
      state.faults = {late};
      // UnstageTarget keeps a session whose disk is online with a volume that it has not unmounted.
      state.iscsi_portals[0].targets[0].disks[0].partitions.clear();
    });
    EXPECT_FALSE(each.set_up(process, CallContext().WithTimeout(absl::Seconds(10))).ok());
    EXPECT_TRUE(node->Snapshot().faults.empty());
    EXPECT_FALSE(each.is_there(node->Snapshot()));
    EXPECT_EQ(each.tear_down(process, CallContext().WithTimeout(absl::Minutes(2))),
              absl::OkStatus());
    LetLateChangesEnd();
    EXPECT_FALSE(each.is_there(node->Snapshot()));
  }
}

TEST(TeardownTest, ALateResizeDoesNotUndoTheNextResize) {
  const auto node = NodeIn(Prepared());
  const FaultRule late = Late("wmi.Invoke/MSFT_Partition.Resize");
  node->core()->Change([&](NodeState& state) { state.faults = {late}; });
  Process process(node.get());
  const auto resize = [&](int64_t mib, absl::Duration limit) {
    return process.volume
        ->ResizeVolume(CallContext().WithTimeout(limit),
                       {.volume_id = kVolume, .size_bytes = mib << 20})
        .status();
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(resize(700, absl::Seconds(10))));
  EXPECT_EQ(resize(900, absl::Minutes(2)), absl::OkStatus());
  LetLateChangesEnd();
  EXPECT_EQ(node->Snapshot().disks[1].partitions.back().size_bytes, uint64_t{900} << 20);
}

// Windows finishes a format after its caller has given up. The late format must not erase data of
// the next call.
TEST(TeardownTest, TheNextCallWaitsForTheEndOfALateFormat) {
  const auto node = NodeIn(Prepared());
  const FaultRule late = Late("wmi.Invoke/MSFT_Volume.Format", absl::Minutes(1));
  node->core()->Change([&](NodeState& state) {
    state.disks[1].partitions.back().volume->file_system = "";
    state.faults = {late};
  });
  Process process(node.get());
  ASSERT_TRUE(process.volume->UnmountVolume({}, {kVolume, Below("tree\\vol")}).ok());
  const auto format = [&](absl::Duration limit) {
    return process.storage
        ->FormatVolume(CallContext().WithTimeout(limit), {.volume_id = kVolume, .overwrite = true})
        .status();
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(format(absl::Seconds(10))));
  const auto mount = [&](absl::Duration limit) {
    return process.volume
        ->MountVolume(CallContext().WithTimeout(limit), {kVolume, Below("tree\\vol")})
        .status();
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(format(absl::Seconds(1))));
  EXPECT_TRUE(absl::IsDeadlineExceeded(mount(absl::Seconds(1))));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      process.storage
          ->StageVolume(CallContext().WithTimeout(absl::Seconds(1)),
                        {.disk = {.number = "1"}, .target_path = Below("tree\\vol")})
          .status()));
  EXPECT_EQ(mount(absl::Minutes(2)), absl::OkStatus());
}

// A listing waits at most a second for an optional class of WMI, and then reports which facts are
// unknown.
TEST(ListingsTest, ListingsAnswerEvenIfOneWmiClassHangs) {
  for (const std::string& operation : MachineCalls("wmi.Query/")) {
    SCOPED_TRACE(operation);
    const auto node = NodeIn(Prepared());
    FaultRule rule = Rule(operation, 0);
    rule.latency = absl::Hours(1);
    node->core()->Change([&](NodeState& state) { state.faults = {rule}; });
    Process process(node.get());
    const auto context = [] { return CallContext().WithTimeout(absl::Minutes(1)); };
    const auto hurried = [] { return CallContext().WithTimeout(absl::Milliseconds(100)); };
    const absl::Time begin = absl::Now();
    const auto mounts = process.storage->ListMounts(context(), {});
    ASSERT_TRUE(mounts.ok()) << mounts.status();
    for (const Mount& mount : mounts->mounts) {
      const bool is_unknown =
          operation == "wmi.Query/MSFT_SmbGlobalMapping" && mount.kind == MountKind::kSymlink;
      EXPECT_EQ(mount.state, is_unknown ? MountState::kUndetermined : MountState::kAlive);
    }
    const auto health = process.storage->GetVolumeHealth(context(), {kVolume});
    ASSERT_TRUE(health.ok()) << health.status();
    const bool is_part = operation == "wmi.Query/MSFT_Volume" || operation == "wmi.Query/MSFT_Disk";
    EXPECT_EQ(absl::StartsWith(health->message, "not known: "), is_part) << health->message;
    EXPECT_FALSE(health->abnormal);
    const bool is_needed = operation == "wmi.Query/MSFT_Disk";
    const auto disks =
        process.storage->ListDisks(is_needed ? hurried() : context(), {.read_content = true});
    EXPECT_EQ(disks.ok(), !is_needed) << disks.status();
    if (is_needed) {
      EXPECT_THAT(std::string(disks.status().message()), HasSubstr("listing disks: "));
    } else {
      EXPECT_EQ(absl::StartsWith(disks->disks[1].content, "not known: "),
                operation == "wmi.Query/MSFT_Partition");
    }
    EXPECT_LE(absl::Now() - begin, absl::Seconds(3));
    // A call fails if its own time ends first.
    EXPECT_EQ(process.storage->ListMounts(hurried(), {}).ok(),
              operation != "wmi.Query/MSFT_SmbGlobalMapping");
    EXPECT_EQ(process.storage->GetVolumeHealth(hurried(), {kVolume}).ok(), !is_part);
  }
}

}  // namespace
}  // namespace csi_proxy::storage
