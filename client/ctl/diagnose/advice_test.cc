// Tests the advice of `diagnose` and the acts of `repair` on nodes with random faults: a repair
// does what it promises and changes nothing else, and advice without a repair names who must act.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/serialized_node.h"
#include "client/ctl/diagnose/advice_testing.h"
#include "client/ctl/diagnose/diagnose.h"
#include "client/testing/simulated_node.h"
#include "gtest/gtest.h"
#include "server/names/refusals.h"
#include "server/simulator/scenario.h"
#include "server/simulator/storage.h"

namespace csi_proxy::ctl::diagnose {
namespace {

using machine::simulator::AllDisks;
using machine::simulator::Tree;

// Returns the state of the node's objects by name, such as `disk 1 read-only` and `C:\a`.
using Facts = std::map<std::string, std::string>;
Facts FactsOf(NodeState state) {
  Facts facts;
  for (const auto* disk : AllDisks(state)) {
    const std::string name = absl::StrCat("disk ", disk->number);
    facts[name + " read-only"] = absl::StrCat(disk->read_only);
    proto::Disk rest = machine::simulator::DiskToProto(*disk);
    rest.clear_read_only();
    for (proto::Partition& partition : *rest.mutable_partition()) {
      partition.clear_mounted_read_only();
      // Not compared, because a volume arrives again when the flag of its disk is cleared.
      partition.clear_arriving();
      partition.clear_uncached();
      partition.clear_awaits_online();
      partition.mutable_volume()->clear_file();
      partition.mutable_volume()->clear_stale_folder();
    }
    facts[name] = rest.ShortDebugString();
    for (const auto& partition : disk->partitions) {
      if (!partition.volume.has_value()) continue;
      const Tree& tree = partition.volume->tree;
      const bool is_c = partition.volume->drive_letter == 'C';
      for (const Tree::Id id : tree.Walk()) {
        const Tree::Entry& entry = tree.at(id);
        facts[absl::StrCat(is_c ? "C:" : absl::StrCat(name, " volume ", partition.number), "\\",
                           tree.PathOf(id))] =
            entry.mounted.has_value()
                ? absl::StrCat("mount ", entry.mounted->ToString())
                : (entry.kind == Tree::Kind::kLink ? absl::StrCat("link ", entry.target)
                                                   : absl::StrCat("bytes ", entry.size_bytes));
      }
    }
  }
  for (const auto& mapping : state.smb_mappings) {
    facts["mapping " + mapping.remote_path] = mapping.username + mapping.local_path;
  }
  for (const auto& server : state.smb_servers) {
    for (const auto& share : server.shares) {
      for (const Tree::Id id : share.tree.Walk()) {
        facts[absl::StrCat(server.name, share.name, share.tree.PathOf(id))] = "on a server";
      }
    }
  }
  for (const auto& portal : state.iscsi_portals) {
    for (const auto& target : portal.targets) {
      facts[absl::StrCat("session ", target.iqn, " ", portal.portal.address)] =
          absl::StrCat(target.connected, target.persistent);
    }
  }
  return facts;
}

// Returns true if a link with this target leads to `path` or below it.
bool Leads(absl::string_view target, absl::string_view path) {
  const auto folder = [](absl::string_view text) {
    return absl::AsciiStrToLower(absl::StrCat(absl::StripSuffix(text, "\\"), "\\"));
  };
  return absl::StartsWith(folder(target), folder(path));
}

// Returns true if links of the kubelet's directory lead to `path`.
bool IsUsed(const Facts& facts, absl::string_view path) {
  return std::any_of(facts.begin(), facts.end(), [&](const auto& fact) {
    absl::string_view target = fact.second;
    return absl::ConsumePrefix(&target, "link ") && fact.first != path && Leads(target, path);
  });
}

// Returns true if a link leads to a mounted folder, over other links or not.
bool LeadsToMount(const Facts& facts, absl::string_view target, int left = 8) {
  return left > 0 && std::any_of(facts.begin(), facts.end(), [&](const auto& fact) {
           absl::string_view next = fact.second;
           if (!absl::StartsWith(fact.first, "C:") || !Leads(target, fact.first)) return false;
           return absl::StartsWith(next, "mount ") ||
                  (absl::ConsumePrefix(&next, "link ") && LeadsToMount(facts, next, left - 1));
         });
}

// Returns why a repair should not have removed `name`, whose state was `was`; empty if it may.
std::string MustStay(NodeState& state, const Facts& facts, absl::string_view name,
                     absl::string_view was) {
  const bool is_published =
      absl::StrContains(name, "\\pods\\") && !absl::StrContains(name, "\\plugins\\");
  absl::string_view rest = name;
  if (absl::EndsWithIgnoreCase(name, R"(\kubelet\pods)")) return "it is the kubelet's";
  if (absl::ConsumePrefix(&rest, "mapping ")) {
    if (absl::StrContains(was, ':')) return "it has a letter";
    return IsUsed(facts, rest) ? "links lead to it" : "";
  }
  if (absl::ConsumePrefix(&was, "mount ")) {
    if (is_published || IsUsed(facts, name)) return "a pod uses it";
    for (const auto* disk : AllDisks(state)) {
      for (const auto& p : disk->partitions) {
        if (disk->online && p.volume.has_value() && p.volume->id.ToString() == was) return "works";
      }
    }
    return "";
  }
  if (absl::ConsumePrefix(&was, "link ")) {
    if (absl::StrContains(name, "empty-dir")) return "it is a pod's";
    if (LeadsToMount(facts, was)) return "it leads to a mount";
    if (facts.contains(std::string(absl::StripSuffix(was, "\\")))) return "its target exists";
    if (!absl::StartsWith(was, "\\\\")) return "";
    for (const auto& mapping : state.smb_mappings) {
      if (Leads(was, mapping.remote_path)) return "its share is mapped";
    }
    return is_published || IsUsed(facts, name) ? "a pod uses it" : "";
  }
  if (!absl::ConsumePrefix(&rest, "disk ") || !absl::ConsumeSuffix(&rest, " read-only")) {
    return "no repair may change it";
  }
  const machine::simulator::Disk* changed = nullptr;
  for (const auto* disk : AllDisks(state)) {
    if (absl::StrCat(disk->number) == rest) changed = disk;
  }
  for (const auto* disk : AllDisks(state)) {
    const bool is_same = !disk->page83.empty() && disk->page83 == changed->page83 &&
                         !disk->page83_error.has_value() && !changed->page83_error.has_value();
    if (disk != changed && is_same && !disk->awaits_rescan) return "another disk has its id";
  }
  return machine::simulator::IsBoot(*changed) || machine::simulator::IsSystem(*changed)
             ? "Windows runs on it"
             : "";
}

class InProcess final : public Pipes {
 public:
  explicit InProcess(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  bool Exists(const std::string&, const std::string&) override { return true; }
  PipeReport Examine(const std::string&, const std::string&) override { return {}; }
  absl::Status Send(const Method& method, const pb::Message& request,
                    pb::Message* response) override {
    std::string bytes;
    const absl::Status status =
        node_.Call(method.path(), CallContext().WithTimeout(absl::Minutes(1)),
                   request.SerializeAsString(), &bytes);
    if (status.ok()) response->ParseFromString(bytes);
    return status;
  }

 private:
  const client::SerializedNode node_;
};

class AdviceTest : public testing::Test {
 protected:
  // Injects faults into the node, repairs them and follows the advice.
  void Try(const std::string& scenario, uint64_t seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", scenario));
    NodeOptions options;
    options.log = [](Severity, const LogText&) {};
    auto opened = client::OpenSimulatedNode(options, scenario);
    ASSERT_TRUE(opened.ok()) << opened.status() << scenario;
    Machine& machine = *opened->machine;
    InProcess pipes(opened->node);
    Rpcs rpcs(catalog_, pipes);
    Ills ills(seed, &machine, &rpcs);
    ills.Make();
    const auto asked = machine.CountCalls().wmi_calls;
    const Diagnosis ill = Look(rpcs, ills.metrics());
    EXPECT_LE(machine.CountCalls().wmi_calls - asked, 15) << "as CHANGELOG.md says";
    for (const auto& list : {ill.findings(), ill.notes()}) {
      for (const Finding& finding : list) made_.insert(finding.id());
    }
    NodeState before = machine.Snapshot();
    const Facts was = FactsOf(before);
    const auto mended = Repair(
        rpcs, {std::begin(kKinds), std::end(kKinds)}, [](const Repairs&) {}, [] { return true; },
        [](absl::Duration) {});
    ASSERT_TRUE(mended.ok()) << mended.status();
    const Facts is = FactsOf(machine.Snapshot());
    std::set<std::string> may_change;
    const Diagnosis then = Look(rpcs, ills.metrics());
    for (const Act& act : mended->acts()) {
      const Finding& finding = act.finding();
      if (ills.is_frozen() && act.result() == FAILED) continue;
      EXPECT_EQ(act.result(), finding.can_be_repaired() ? DONE : REFUSED) << act.ShortDebugString();
      if (!finding.can_be_repaired()) continue;
      for (const char* name : {"", "mapping "}) may_change.insert(name + finding.where());
      may_change.insert(finding.where() + " read-only");
      EXPECT_FALSE(Has(then, finding.id(), finding.where())) << finding.ShortDebugString();
    }
    for (const auto& [name, state] : was) {
      const auto now = is.find(name);
      if (now != is.end() && now->second == state) continue;
      EXPECT_TRUE(may_change.contains(name)) << name << " was " << state;
      EXPECT_EQ(MustStay(before, was, name, state), "") << name << " was " << state;
    }
    EXPECT_LE(is.size(), was.size());
    // Follows the advice that only a person can carry out.
    ills.GiveBackDisks();
    for (const auto& row : kFindingTable) Follow(row.advice, rpcs, machine);
    const Diagnosis last = Look(rpcs, ills.metrics());
    for (const Finding& finding : last.findings()) {
      EXPECT_NE(finding.id(), "dangling-mount-in-use") << finding.ShortDebugString();
      EXPECT_NE(finding.id(), "link-to-mount") << finding.ShortDebugString();
      EXPECT_FALSE(absl::StartsWith(finding.id(), "stopped-")) << finding.ShortDebugString();
    }
  }

  // Takes the steps of the advice that start a service, in the order of the advice.
  static void Follow(absl::string_view advice, Rpcs& rpcs, Machine& machine) {
    const std::string name = absl::StrContains(advice, "=smphost") ? "smphost" : "MSiSCSI";
    const size_t start = advice.find(absl::StrCat("system start-service --name=", name));
    const size_t set = advice.find(absl::StrCat("`Set-Service -Name ", name, " -StartupType "));
    if (start == advice.npos) return;
    ASSERT_NE(set, advice.npos) << advice;
    const auto enable = [&] {
      machine.core()->Change([&](NodeState& state) {
        for (auto& service : state.services) {
          if (service.name == name) service.start_type = machine::ServiceStartType::kAutomatic;
        }
      });
    };
    if (set < start) enable();
    const auto done = rpcs.Call("system.StartService", {{"name", name}});
    EXPECT_TRUE(done.ok() || absl::IsNotFound(done.status())) << advice << done.status();
  }

  static Diagnosis Look(Rpcs& rpcs, const std::string& metrics) {
    const auto diagnosis = Diagnose(rpcs, [&] { return metrics; });
    EXPECT_TRUE(diagnosis.ok()) << diagnosis.status();
    return diagnosis.value_or(Diagnosis());
  }
  static bool Has(const Diagnosis& diagnosis, const std::string& id, const std::string& where) {
    return std::any_of(diagnosis.findings().begin(), diagnosis.findings().end(),
                       [&](const Finding& f) { return f.id() == id && f.where() == where; });
  }

  const Catalog catalog_;
  std::set<std::string> made_;
};

TEST_F(AdviceTest, ARepairEndsItsFindingAndChangesNothingElse) {
  const char* const one = std::getenv("CSI_PROXY_RANDOM_SEED");
  uint64_t first = 1, count = 500;
  if (one != nullptr && absl::SimpleAtoi(one, &first)) count = 1;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Try(RandomScenario(seed), seed);
  }
  if (one != nullptr) return;
  uint64_t seed = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const auto& named : machine::simulator::NamedScenarios()) {
      if (!HasFailure()) Try(QuickScenario(named.textproto), ++seed);
    }
  }
  for (const FindingFacts& row : kFindingTable) {
    EXPECT_TRUE(made_.contains(row.name)) << row.name;
  }
}

TEST_F(AdviceTest, AdviceWithoutARepairNamesThePersonWhoMustAct) {
  size_t none = 0;
  for (const FindingFacts& row : kFindingTable) {
    if (row.repair != nullptr) continue;
    ++none;
    const auto actor = kActors.find(row.name);
    ASSERT_NE(actor, kActors.end()) << row.name;
    EXPECT_TRUE(absl::StrContains(row.advice, actor->second)) << row.name << ": " << row.advice;
  }
  EXPECT_EQ(none, kActors.size());
}

TEST_F(AdviceTest, TheTroubleshootingPageQuotesTheFindings) {
  std::ifstream page(TROUBLESHOOTING_PAGE);
  std::string line;
  while (std::getline(page, line) && line != "## Findings of diagnose") continue;
  int rows = 0;
  while (std::getline(page, line)) {
    if (!absl::StartsWith(line, "| `")) continue;
    ++rows;
    const std::string text = line.substr(3, line.find('`', 3) - 3);
    EXPECT_TRUE(
        std::any_of(std::begin(kFindingTable), std::end(kFindingTable),
                    [&](const FindingFacts& row) { return absl::StrContains(row.why, text); }))
        << text;
  }
  EXPECT_EQ(rows, 3);
}

// The hint must enable the service first, because starting a disabled service fails.
TEST_F(AdviceTest, FollowingAnErrorsHintStartsTheInitiator) {
  auto opened = client::OpenSimulatedNode({.log = [](Severity, const LogText&) {}}, "");
  ASSERT_TRUE(opened.ok()) << opened.status();
  InProcess pipes(opened->node);
  Rpcs rpcs(catalog_, pipes);
  for (const Refusal& row : AllRefusals(Refuser::kInitiator)) {
    StopService(opened->machine.get(), "MSiSCSI", machine::ServiceStartType::kDisabled);
    Follow(row.advice, rpcs, *opened->machine);
  }
}

}  // namespace
}  // namespace csi_proxy::ctl::diagnose
