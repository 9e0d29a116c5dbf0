#include "server/simulator/scenario.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/str_replace.h"
#include "server/machine/access.h"
#include "server/node/simulated_host.h"
#include "server/simulator/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

std::string Dump(Machine& node) {
  std::string text;
  EXPECT_TRUE(google::protobuf::TextFormat::PrintToString(StateToProto(node.Snapshot()), &text));
  return text;
}

// Checks that loading a dump and dumping it again changes nothing.
void ExpectStable(Machine& node) {
  const std::string first = Dump(node);
  const absl::StatusOr<std::unique_ptr<Machine>> loaded = LoadScenario(first, "dump");
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(Dump(**loaded), first);
}

TEST(ScenarioTest, TheDefaultScenarioSurvivesADumpAndALoad) {
  const auto node = LoadScenario(DefaultScenarioText(), "default.textproto");
  ASSERT_THAT(node, IsOk());
  ExpectStable(**node);
  const CallContext context;
  EXPECT_GE(NewSimulatedHost(**node)->disk().ListDisks(context)->size(), 5u);
  EXPECT_THAT(NewSimulatedHost(**node)->filesystem().Exists(context, Kubelet("pods")),
              Yields(true));
  EXPECT_THAT(NewSimulatedHost(**node)->filesystem().Exists(context, Kubelet("plugins")),
              Yields(true));
}

TEST(ScenarioTest, AChangedNodeSurvivesADumpAndALoad) {
  auto node = *LoadScenario(DefaultScenarioText(), "default.textproto");
  const CallContext context;
  const auto host = NewSimulatedHost(*node);
  const auto disk = *host->disk().GetLayout(context, 1);
  ASSERT_THAT(host->disk().InitializeGpt(context, disk), IsOk());
  ASSERT_THAT(host->disk().CreateBasicPartition(context, disk), IsOk());
  EXPECT_TRUE(StateToProto(node->Snapshot()).disk(1).partition(1).arriving());
  ExpectStable(*node);
  ASSERT_THAT(node->GrowDisk(2, uint64_t{1} << 40), IsOk());
  ASSERT_THAT(node->MakeLink("C:\\var\\lib\\kubelet\\l", "\\\\fileserver.example\\data"), IsOk());
  ASSERT_THAT(NewSimulatedHost(*node)->smb().CreateMapping(
                  context, "\\\\fileserver.example\\data",
                  {"EXAMPLE\\storage", Secret("correct horse")}, true),
              IsOk());
  ASSERT_THAT(node->BreakMapping("\\\\fileserver.example\\data"), IsOk());
  ASSERT_THAT(NewSimulatedHost(*node)->iscsi().AddPortal(context, {"10.0.0.5", 3260}), IsOk());
  ASSERT_THAT(NewSimulatedHost(*node)->iscsi().Connect(context, {"10.0.0.5", 3260},
                                                       "iqn.2026-01.example.storage:open", {}),
              IsOk());
  node->core()->Change(
      [](NodeState& state) { state.iscsi_portals[0].targets[0].persistent = true; });
  EXPECT_TRUE(StateToProto(node->Snapshot()).iscsi_portal(0).target(0).persistent());
  ASSERT_THAT(NewSimulatedHost(*node)->system().RequestStop(context, "MSiSCSI"), IsOk());
  ASSERT_THAT(node->InjectFault(*FaultFromProto([] {
    csi_proxy::simulated::Fault fault;
    fault.set_operation("volume.FormatVolume");
    fault.set_code("INTERNAL");
    fault.mutable_error()->set_code(1117);
    return fault;
  }())),
              IsOk());
  ExpectStable(*node);
}

TEST(ScenarioTest, BehaviourOptionsSurviveALoadAndADump) {
  const Behaviour strict = (*LoadScenario("", "empty"))->Snapshot().behaviour;
  EXPECT_EQ(strict.volume_cache_delay, absl::Seconds(1));
  EXPECT_EQ(strict.out_parameters, OutParameters::kGiven);
  EXPECT_FALSE(strict.automount_disabled);

  const auto node = LoadScenario(
      "behaviour { volume_cache_ms: 0 out_parameters: ODD_VALUES automount_disabled: true"
      "   mount_calls_share: true plain_deletion: true delete_pending_is_denied: true"
      "   online_makes_read_only: true resize_reserve_bytes: 12345 }"
      " other_open { path: 'C:\\\\a' access: [READING, DELETING] share: WRITING }"
      " disk { number: 3 size_bytes: 1073741824 without_number: true }"
      " disk { number: 9 size_bytes: 1073741824 style: GPT partition { size_bytes: 104857600"
      "   uncached: true awaits_online: true mounted_read_only: true volume { file_system: 'NTFS'"
      "     file { path: 'j' kind: JUNCTION target: 'C:\\\\a' } } } }",
      "set");
  ASSERT_THAT(node, IsOk());
  const NodeState state = (*node)->Snapshot();
  EXPECT_EQ(state.behaviour.volume_cache_delay, absl::ZeroDuration());
  EXPECT_EQ(state.behaviour.out_parameters, OutParameters::kOdd);
  EXPECT_TRUE(state.behaviour.automount_disabled);
  EXPECT_TRUE(state.behaviour.mount_calls_share && state.behaviour.plain_deletion &&
              state.behaviour.delete_pending_is_denied && state.behaviour.online_makes_read_only);
  EXPECT_EQ(state.behaviour.resize_reserve_bytes, 12345u);
  ASSERT_EQ(state.other_opens.size(), 1u);
  EXPECT_EQ(state.other_opens[0].access, right::kReadData | right::kDelete);
  EXPECT_EQ(state.other_opens[0].share, share::kWrite);
  EXPECT_TRUE(state.disks[0].without_number);
  EXPECT_TRUE(state.disks[1].partitions[0].awaits_online);
  EXPECT_TRUE(state.disks[1].partitions[0].mounted_read_only);
  const Tree& tree = state.disks[1].partitions[0].volume->tree;
  EXPECT_TRUE(tree.at(*tree.Find(Tree::kRoot, "j")).junction);
  ExpectStable(**node);
}

TEST(ScenarioTest, ForeignDataOfADiskSurvivesALoadAndADump) {
  const auto node = LoadScenario(
      "disk { size_bytes: 1073741824 style: GPT partition { type: LINUX size_bytes: 104857600 }"
      " foreign { offset_bytes: 1080 data: '\\x53\\xEF' } foreign { data: 'a' } }",
      "test");
  ASSERT_THAT(node, IsOk());
  const Disk disk = (*node)->Snapshot().disks[0];
  EXPECT_EQ(disk.partitions[0].type, PartitionType::kLinux);
  ASSERT_EQ(disk.foreign.size(), 2u);
  EXPECT_EQ(disk.foreign[0].offset_bytes, 1080u);
  EXPECT_EQ(disk.foreign[0].bytes, "\x53\xEF");
  ExpectStable(**node);
}

TEST(ScenarioTest, FactsOfDisksAndVolumesSurviveALoadAndADump) {
  const auto node = LoadScenario(
      "disk { number: 1 size_bytes: 1073741824 style: GPT bus_type: BUS_NVME health: DISK_WARNING"
      "   offline_reason: OFFLINE_COLLISION unique_id: 'ID' is_boot: true is_system: true"
      "   eui: '0025385b71b00a1c' nvme_namespace_id: 7 sector_bytes: 4096"
      "   partition { size_bytes: 104857600 active: true volume { file_system: 'NTFS' label: 'l'"
      "     health: VOLUME_FULL_REPAIR_NEEDED dirty: true file_system_bytes: 52428800"
      "     read_only: true allocation_unit_bytes: 65536 } }"
      "   partition { type: RECOVERY size_bytes: 1048576 } }"
      "fault { operation: 'wmi.Query/*' objects: EACH_TWICE }"
      "fault { operation: 'wmi.Invoke/*' latency_ms: 5 goes_on: true }",
      "facts");
  ASSERT_THAT(node, IsOk());
  const Disk disk = (*node)->Snapshot().disks[0];
  EXPECT_EQ(disk.facts.bus_type, 17);
  EXPECT_EQ(disk.facts.health, 1);
  EXPECT_EQ(disk.facts.offline_reason, 4);
  EXPECT_EQ(disk.facts.unique_id, "ID");
  EXPECT_TRUE(disk.facts.is_boot && disk.facts.is_system);
  EXPECT_EQ(disk.facts.eui, "0025385b71b00a1c");
  EXPECT_EQ(disk.facts.nvme_namespace_id, 7u);
  EXPECT_EQ(disk.partitions[0].volume->label, "l");
  EXPECT_EQ(disk.partitions[0].volume->health, 3);
  EXPECT_TRUE(disk.partitions[0].volume->dirty);
  EXPECT_EQ(disk.sector_bytes, 4096u);
  EXPECT_TRUE(disk.partitions[0].active && disk.partitions[0].volume->read_only);
  EXPECT_EQ(disk.partitions[0].volume->file_system_bytes, 52428800u);
  EXPECT_EQ(disk.partitions[1].type, PartitionType::kRecovery);
  ExpectStable(**node);

  const std::pair<const char*, const char*> wrong[] = {
      {"bus_type: 99", "disk[0].bus_type: 99 has no meaning"},
      {"health: 3", "disk[0].health: 3 has no meaning"},
      {"offline_reason: 8", "disk[0].offline_reason: 8 has no meaning"},
      {"eui: '0025385B71B00A1C'", "disk[0].eui: is not 16 or 32 digits"},
      {"nvme_namespace_id: 65536", "disk[0].nvme_namespace_id: is above 65535"},
      {"unique_id: '\\n'", "disk[0].unique_id: "},
      {"style: GPT partition { size_bytes: 104857600 volume { label: 'l' } }",
       "disk[0].partition[0].volume.file_system: an unformatted volume has no label"}};
  for (const auto& [field, says] : wrong) {
    EXPECT_THAT(LoadScenario(std::string("disk { size_bytes: 1073741824 ") + field + " }", "odd"),
                FailsWith(kInvalid, says))
        << field;
  }
}

TEST(ScenarioTest, AMountOfADetachedDiskSurvivesADumpAndALoad) {
  auto node = TestNode();
  const CallContext context;
  ASSERT_THAT(NewSimulatedHost(*node)->volume().Mount(context, TestVolume(2), Kubelet("pods\\p1")),
              IsOk());
  ExpectStable(*node);
  ASSERT_THAT(node->DetachDisk(2), IsOk());
  ExpectStable(*node);
}

TEST(ScenarioTest, SecretsAreNeverDumped) {
  auto node = *LoadScenario(DefaultScenarioText(), "default.textproto");
  ASSERT_THAT(
      NewSimulatedHost(*node)->iscsi().SetMutualChapSecret(CallContext(), Secret("mutual-secret1")),
      IsOk());
  const csi_proxy::simulated::Node proto = StateToProto(node->Snapshot());
  for (const std::string& text : {Dump(*node), ToJson(proto)}) {
    for (const char* secret : {"correct horse", "one-way-secret", "mutual-secret1"}) {
      EXPECT_EQ(text.find(secret), std::string::npos) << secret;
    }
  }
  EXPECT_EQ(proto.iscsi_mutual_chap_secret(), "<secret>");
  EXPECT_EQ(proto.smb_server(0).user(0).password(), "<secret>");
  EXPECT_EQ(proto.iscsi_portal(0).target(2).mutual_secret(), "<secret>");
}

TEST(ScenarioTest, JsonKeepsTheFieldNames) {
  const std::string json = ToJson(StateToProto(TestNode()->Snapshot()));
  EXPECT_NE(json.find("\"bios_serial_number\": \"BIOS-1\""), std::string::npos) << json;
}

TEST(ScenarioTest, SyntaxErrorsNameFileAndLine) {
  EXPECT_THAT(LoadScenario("disk {\n  nmber: 1\n}", "my.textproto"),
              FailsWith(kInvalid, "my.textproto:2:"));
  EXPECT_THAT(LoadScenario(std::string("disk {\0", 7), "f"), HasCode(kInvalid));
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "disk {";
  EXPECT_THAT(LoadScenario(nested, "f"), HasCode(kInvalid));
}

struct BadScenario {
  const char* text;
  const char* field;
};

// A volume of 100 MiB on disk 9. `$` stands for the volume's content.
constexpr char kVolume[] =
    "disk { number: 9 size_bytes: 1073741824 style: GPT partition { size_bytes: 104857600 volume {"
    " id: '\\\\\\\\?\\\\Volume{00000000-0000-0000-0000-000000000009}\\\\' file_system: 'NTFS' $ } "
    "} }";

const BadScenario kBad[] = {
    {"bios_serial_number: '\\n'", "bios_serial_number"},
    {"volume_arrival_ms: 4294967295", "volume_arrival_ms"},
    {"behaviour { volume_cache_ms: 4294967295 }", "behaviour.volume_cache_ms"},
    {"behaviour { out_parameters: 9 }", "out_parameters"},
    {"disk { size_bytes: 1048576 style: GPT without_number: true }", "disk[0].without_number"},
    {"$file { path: 'j' kind: JUNCTION }", "target"},
    {"$file { path: 'j' kind: JUNCTION target: '\\\\\\\\host\\\\share' }", "target"},
    {"other_open { path: 'a' }", "other_open[0].path"},
    {"other_open { path: 'C:\\a' access: 9 }", "access"},
    {"disk { size_bytes: 1048576 foreign {} }", "disk[0].foreign[0].data"},
    {"disk { size_bytes: 1048576 foreign { offset_bytes: 1048576 data: 'a' } }",
     "disk[0].foreign[0].offset_bytes"},
    {"disk { size_bytes: 0 }", "disk[0].size_bytes"},
    {"disk { size_bytes: 1048577 }", "disk[0].size_bytes"},
    {"disk { size_bytes: 18446744073709551615 }", "disk[0].size_bytes"},
    {"disk { size_bytes: 1048576 grown_size_bytes: 1048576 }", "disk[0].grown_size_bytes"},
    {"disk { size_bytes: 1048576 grown_size_bytes: 18446744073709551615 }",
     "disk[0].grown_size_bytes"},
    {"disk { number: 1 size_bytes: 1048576 } disk { number: 1 size_bytes: 1048576 }",
     "disk[1].number"},
    {"disk { size_bytes: 1048576 location: '\\001' }", "disk[0].location"},
    {"disk { size_bytes: 1048576 page83: '\\001' }", "disk[0].page83"},
    {"disk { size_bytes: 1048576 serial_number: '\\001' }", "disk[0].serial_number"},
    {"disk { size_bytes: 1048576 page83_error {} }", "disk[0].page83_error.code"},
    {"disk { size_bytes: 1048576 style: 7 }", "style"},
    {"disk { size_bytes: 1073741824 partition { size_bytes: 1048576 } }", "disk[0].partition"},
    {"disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 0 } }",
     "disk[0].partition[0].size_bytes"},
    {"disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 100 } }",
     "disk[0].partition[0].size_bytes"},
    {"disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 1073741824 } }",
     "disk[0].partition[0].size_bytes"},
    {"disk { size_bytes: 1073741824 style: GPT partition { offset_bytes: 18446744073709551104 "
     "size_bytes: 1024 } }",
     "disk[0].partition[0].size_bytes"},
    {"disk { size_bytes: 1073741824 style: GPT partition { offset_bytes: 512 size_bytes: 1024 } }",
     "disk[0].partition[0].offset_bytes"},
    {"disk { size_bytes: 1073741824 style: GPT partition { number: 1 size_bytes: 1048576 } "
     "partition { number: 1 size_bytes: 1048576 } }",
     "disk[0].partition[1].number"},
    {"disk { size_bytes: 1073741824 style: GPT partition { number: 129 size_bytes: 1048576 } }",
     "disk[0].partition[0].number"},
    {"disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 1048576 } partition { "
     "offset_bytes: 1048576 size_bytes: 1048576 } }",
     "disk[0].partition[1].offset_bytes"},
    {"disk { size_bytes: 1073741824 style: MBR partition { size_bytes: 512 } partition { "
     "size_bytes: 512 } partition { size_bytes: 512 } partition { size_bytes: 512 } partition { "
     "size_bytes: 512 } }",
     "disk[0].partition: an MBR"},
    {"disk { size_bytes: 1073741824 style: GPT partition { type: MICROSOFT_RESERVED size_bytes: "
     "1048576 volume {} } }",
     "disk[0].partition[0].volume"},
    {"disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 1048576 volume { id: "
     "'nonsense' } } }",
     "disk[0].partition[0].volume.id"},
    {"disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 1048576 volume { "
     "file_system: 'ext4' } } }",
     "disk[0].partition[0].volume.file_system"},
    {"disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 1048576 volume { file { "
     "path: 'a' } } } }",
     "disk[0].partition[0].volume.file"},
    {"$drive_letter: '1'", "volume.drive_letter"},
    {"$drive_letter: 'CD'", "volume.drive_letter"},
    {"$file { path: '..\\\\x' }", "volume.file[0].path"},
    {"$file { path: 'a:b' }", "volume.file[0].path"},
    {"$file { path: 'CON' }", "volume.file[0].path"},
    {"$file { path: '' }", "volume.file[0].path"},
    {"$file { path: 'a' kind: FILE } file { path: 'A' kind: FILE }", "volume.file[1].path"},
    {"$file { path: 'a' kind: FILE } file { path: 'a\\\\b' }", "volume.file[1].path"},
    {"$file { path: 'a' kind: 9 }", "volume.file[0].kind"},
    {"$file { path: 'a' size_bytes: 1 }", "volume.file[0].kind"},
    {"$file { path: 'a' kind: FILE size_bytes: 104857600 }", "volume.file"},
    {"$file { path: 'a' kind: FILE size_bytes: 18446744073709551615 }",
     "volume.file[0].size_bytes"},
    {"$file { path: 'a' kind: LINK }", "volume.file[0].target"},
    {"$file { path: 'a' target: 'C:\\\\b' }", "volume.file[0].target"},
    {"$file { path: 'a' kind: LINK target: 'b' }", "target"},
    {"$file { path: 'a' kind: LINK target: '\\\\\\\\host' }", "target"},
    {"$file { path: 'a' mounted_volume_id: 'x' }", "volume.file[0].mounted_volume_id"},
    {"$file { path: 'a' mounted_volume_id: "
     "'\\\\\\\\?\\\\Volume{00000000-0000-0000-0000-00000000000a}\\\\' }",
     "volume.file[0].mounted_volume_id"},
    {"$file { path: 'a' mounted_volume_id: "
     "'\\\\\\\\?\\\\Volume{00000000-0000-0000-0000-000000000009}\\\\' }",
     "mounted_volume_id: is the volume itself"},
    {"smb_server { name: '' }", "smb_server[0].name"},
    {"smb_server { name: 'a\\\\b' }", "smb_server[0].name"},
    {"smb_server { name: 'a' } smb_server { name: 'A' }", "smb_server[1].name"},
    {"smb_server { name: 'a' share { name: '' } }", "smb_server[0].share[0].name"},
    {"smb_server { name: 'a' share { name: 'x' } share { name: 'X' } }",
     "smb_server[0].share[1].name"},
    {"smb_server { name: 'a' share { name: 'x' file { path: 'l' kind: LINK target: 'C:\\\\' } } }",
     "smb_server[0].share[0]"},
    {"smb_server { name: 'a' user { name: '' } }", "smb_server[0].user[0].name"},
    {"smb_server { name: 'a' user { name: 'u' } user { name: 'U' } }",
     "smb_server[0].user[1].name"},
    {"smb_mapping { remote_path: 'x' }", "smb_mapping[0].remote_path"},
    {"smb_mapping { remote_path: '\\\\\\\\a\\\\b\\\\c' }", "smb_mapping[0].remote_path"},
    {"smb_mapping { remote_path: '\\\\\\\\A\\\\b' }", "smb_mapping[0].remote_path"},
    {"smb_mapping { remote_path: '\\\\\\\\a\\\\b' } smb_mapping { remote_path: '\\\\\\\\a\\\\b' }",
     "smb_mapping[1].remote_path"},
    {"iscsi_portal { address: '' }", "iscsi_portal[0].address"},
    {"iscsi_portal { address: 'a' port: 65536 }", "iscsi_portal[0].port"},
    {"iscsi_portal { address: 'a' } iscsi_portal { address: 'A' port: 3260 }",
     "iscsi_portal[1].address"},
    {"iscsi_portal { address: 'a' target { iqn: '' } }", "iscsi_portal[0].target[0].iqn"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' } target { iqn: 'I' } }",
     "iscsi_portal[0].target[1].iqn"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' } } iscsi_portal { address: 'b' target { iqn: "
     "'I' chap: ONE_WAY username: 'u' secret: 's' } }",
     "iscsi_portal[1].target[0].chap"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' } } iscsi_portal { address: 'b' target { iqn: "
     "'i' disk { number: 4 size_bytes: 1048576 } } }",
     "iscsi_portal[1].target[0].disk"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' chap: 5 } }", "iscsi_portal[0].target[0].chap"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' secret: 's' } }",
     "iscsi_portal[0].target[0].secret"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' chap: ONE_WAY secret: 's' } }",
     "iscsi_portal[0].target[0].username"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' chap: MUTUAL username: 'u' secret: 's' } }",
     "iscsi_portal[0].target[0].mutual_secret"},
    {"iscsi_portal { address: 'a' target { iqn: 'i' disk { size_bytes: 0 } } }",
     "iscsi_portal[0].target[0].disk[0].size_bytes"},
    {"disk { size_bytes: 1048576 } iscsi_portal { address: 'a' target { iqn: 'i' disk { "
     "size_bytes: 1048576 } } }",
     "iscsi_portal[0].target[0].disk[0].number"},
    {"service { name: '' }", "service[0].name"},
    {"service { name: 'a' } service { name: 'A' }", "service[1].name"},
    {"service { name: 'a' start_type: 9 }", "start_type"},
    {"service { name: 'a' state: 9 }", "state"},
    {"service { name: 'a' depends_on: 'b' }", "service[0].depends_on[0]"},
    {"service { name: 'a' depends_on: 'a' }", "service[0].depends_on"},
    {"service { name: 'a' depends_on: 'b' } service { name: 'b' depends_on: 'a' }",
     "service[0].depends_on"},
    {"service { name: 'a' start_latency_ms: 4294967295 }", "service[0].start_latency_ms"},
    {"service { name: 'a' stop_latency_ms: 4294967295 }", "service[0].stop_latency_ms"},
    {"fault { operation: 'x.y' code: 'INTERNAL' }", "fault[0].operation"},
    {"fault { operation: '*' code: 'NONSENSE' }", "fault[0].code"},
    {"fault { operation: '*' }", "fault[0].code"},
    {"fault { operation: '*' code: 'OK' }", "fault[0].code"},
    {"fault { operation: '*' latency_ms: 4294967295 }", "fault[0].latency_ms"},
};

TEST(ScenarioTest, TheErrorForABadScenarioNamesTheField) {
  for (const BadScenario& bad : kBad) {
    std::string text = bad.text;
    if (text[0] == '$') text = absl::StrReplaceAll(kVolume, {{"$", text.substr(1)}});
    const absl::StatusOr<std::unique_ptr<Machine>> node = LoadScenario(text, "bad");
    EXPECT_THAT(node, FailsWith(kInvalid, bad.field)) << text;
    // Each error begins with the file, also the parser's error for an enumeration's unknown number.
    EXPECT_EQ(node.status().message().substr(0, 4), "bad:") << text;
  }
}

TEST(ScenarioTest, TooManyFilesAreRefusedInNestedPathsToo) {
  std::string files;
  for (int i = 0; i < 30; ++i) {
    files += "file { path: '" + std::to_string(i);
    for (int d = 0; d < 5000; ++d) files += "\\\\d";
    files += "' }";
  }
  EXPECT_THAT(LoadScenario(absl::StrReplaceAll(kVolume, {{"$", files}}), "f"),
              FailsWith(kInvalid, "more than 100000"));
}

TEST(ScenarioTest, MissingOffsetsNumbersAndIdsAreFilledIn) {
  const auto node = TestNode();
  const NodeState state = node->Snapshot();
  const std::vector<DiskPartition>& partitions = state.disks[0].partitions;
  ASSERT_EQ(partitions.size(), 3u);
  EXPECT_EQ(partitions[0].offset_bytes, 1048576u);
  EXPECT_EQ(partitions[2].number, 3u);
  EXPECT_EQ(partitions[2].offset_bytes, 1048576u + 104857600u + 16777216u);
  const auto made = LoadScenario(
      "disk { size_bytes: 1073741824 style: GPT partition { size_bytes: 1048576 volume {} } }",
      "f");
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ(NewSimulatedHost(**made)->volume().ListVolumes(CallContext(), 0, 0)->size(), 1u);
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
