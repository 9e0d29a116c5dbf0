#include "client/ctl/output.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/ctl/catalog.h"
#include "client/ctl/report/report.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/names/unicode.h"

namespace csi_proxy::ctl {
namespace {

std::string Utf8(char32_t code_point) {
  std::string text;
  AppendUtf8(code_point, &text);
  return text;
}

class OutputTest : public testing::Test {
 protected:
  // Returns the response of a method with the given content.
  std::unique_ptr<pb::Message> Response(const std::string& group, const std::string& method,
                                        const std::string& textproto) {
    auto response = catalog_.New(catalog_.Find(group, method, "")->descriptor->output_type());
    EXPECT_TRUE(pb::TextFormat::ParseFromString(textproto, response.get()));
    return response;
  }

  Catalog catalog_;
};

TEST_F(OutputTest, JsonUsesTheProtoNamesAndIncludesEmptyFields) {
  EXPECT_EQ(ToJson(*Response("disk", "GetDiskState", "")).value(), "{\n \"is_online\": false\n}\n");
  EXPECT_EQ(ToJson(*Response("disk", "ListDiskLocations",
                             "disk_locations { key: 2 value { Adapter: '0' LUNID: '7' } }"))
                .value(),
            "{\n \"disk_locations\": {\n  \"2\": {\n   \"Adapter\": \"0\",\n   \"Bus\": \"\",\n   "
            "\"Target\": \"\",\n   \"LUNID\": \"7\"\n  }\n }\n}\n");
  EXPECT_EQ(ToJson(*Response("disk", "Rescan", "")).value(), "{}\n");
}

TEST_F(OutputTest, TablesShowPlainFieldsAsRowsOfNameAndValue) {
  EXPECT_EQ(
      ToTable(*Response("volume", "GetVolumeStats", "total_bytes: 10737418240 used_bytes: 5")),
      "total_bytes  10737418240\n"
      "used_bytes   5\n");
  EXPECT_EQ(
      ToTable(*Response("system", "GetService",
                        "display_name: 'iSCSI Initiator' start_type: MANUAL status: RUNNING")),
      "display_name  iSCSI Initiator\n"
      "start_type    MANUAL\n"
      "status        RUNNING\n");
  EXPECT_EQ(ToTable(*Response("disk", "Rescan", "")), "ok\n");
}

TEST_F(OutputTest, TablesShowMapsSortedByNumber) {
  EXPECT_EQ(ToTable(*Response("disk", "ListDiskIDs",
                              "diskIDs { key: 10 value { page83: 'naa.6' serial_number: 'vol1' } }"
                              "diskIDs { key: 9 value { serial_number: 'vol 22' } }")),
            "diskIDs  page83  serial_number\n"
            "9                vol 22\n"
            "10       naa.6   vol1\n");
}

TEST_F(OutputTest, TablesKeepTheOrderOfLists) {
  EXPECT_EQ(ToTable(*Response("iscsi", "ListTargetPortals",
                              "target_portals { target_address: '10.0.0.12' target_port: 3260 }"
                              "target_portals { target_address: '10.0.0.5' target_port: 3261 }")),
            "target_address  target_port\n"
            "10.0.0.12       3260\n"
            "10.0.0.5        3261\n");
  EXPECT_EQ(ToTable(*Response("volume", "ListVolumesOnDisk", "volume_ids: 'b' volume_ids: 'a'")),
            "volume_ids  b\n"
            "volume_ids  a\n");
  EXPECT_EQ(ToTable(*Response("volume", "ListVolumesOnDisk", "")), "volume_ids  (none)\n");
  EXPECT_EQ(ToTable(*Response("disk", "ListDiskIDs", "")), "diskIDs  (none)\n");
}

// People copy volume ids from the table, so backslashes must not be escaped.
TEST_F(OutputTest, TablesShowPathsUnchangedAndEscapeControlCharacters) {
  EXPECT_EQ(ToTable(*Response("volume", "GetVolumeIDFromTargetPath",
                              R"(volume_id: "\\\\?\\Volume{1}\\ \033[2J\n")")),
            "volume_id  \\\\?\\Volume{1}\\ \\x1b[2J\\x0a\n");
  EXPECT_EQ(Printable("a\"'\\é\x7f"), "a\"'\\é\\x7f");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(Printable("\xC2"), "\\xc2");
  EXPECT_EQ(Printable("\U000E0020"), "\\U000e0020");
  // Unescaped, a pod's file names could show in another order, or like another name.
  for (const auto& [first, last] : std::vector<std::pair<char32_t, char32_t>>{
           {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x2064}, {0x2066, 0x2069}}) {
    for (char32_t c = first; c <= last; ++c) {
      EXPECT_EQ(Printable(Utf8(c)), absl::StrFormat("\\u%04x", static_cast<uint32_t>(c)));
    }
  }
  for (const char* text : {"\u061c", "\ufeff", "\u00ad"}) EXPECT_NE(Printable(text), text);
}

// Reads a single-quoted argument of PowerShell as its tokenizer does: two quotes in a row stand for
// the second. Returns nothing if anything follows the closing quote.
std::optional<std::string> ReadQuoted(absl::string_view line) {
  const std::set<char32_t> quotes = {U'\'', U'‘', U'’', U'‚', U'‛'};
  std::string value;
  char32_t c, next;
  EXPECT_TRUE(ConsumeCodePoint(&line, &c) && quotes.contains(c));
  while (ConsumeCodePoint(&line, &c)) {
    absl::string_view after = line;
    if (quotes.contains(c)) {
      if (!ConsumeCodePoint(&after, &next) || !quotes.contains(next)) break;
      c = next, line = after;
    }
    AppendUtf8(c, &value);
  }
  return line.empty() ? std::optional(value) : std::nullopt;
}

TEST_F(OutputTest, PowerShellCommandsQuoteEveryCharacterSafely) {
  constexpr absl::string_view kStart = "ctl g m --path=";
  std::set<char32_t> left_out;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    const std::string value = absl::StrCat("C:\\$(a) `", Utf8(c), "; b ", Utf8(c), "’", Utf8(c));
    const std::string line = PowerShellCommand("ctl g m", {{"path", value}});
    if (!absl::StartsWith(line, kStart)) {
      EXPECT_FALSE(absl::StrContains(line, "$(a)")) << line;
      left_out.insert(c);
      continue;
    }
    ASSERT_EQ(ReadQuoted(line.substr(kStart.size())), value) << static_cast<uint32_t>(c);
  }
  for (const char32_t c : {U'\n', U'\0', U'"', U'&', U'%', U'\u202e', U'\u2028', U'\ufeff'}) {
    EXPECT_TRUE(left_out.contains(c)) << static_cast<uint32_t>(c);
  }
  EXPECT_FALSE(left_out.contains(U'é'));
  EXPECT_LT(left_out.size(), 300u);
  EXPECT_FALSE(absl::StrContains(PowerShellCommand("ctl", {{"path", "a\xff"}}), "='"));
}

TEST_F(OutputTest, JsonCanBePrintedOnOneLine) {
  EXPECT_EQ(ToJson(*Response("disk", "GetDiskState", "is_online: true"), true).value(),
            "{\"is_online\":true}\n");
}

TEST(SizeTextTest, SizesAreShownInTheLargestFittingUnit) {
  EXPECT_EQ(SizeText(0), "0 bytes");
  EXPECT_EQ(SizeText(1023), "1023 bytes");
  EXPECT_EQ(SizeText(1024), "1 KiB");
  EXPECT_EQ(SizeText(100 << 20), "100 MiB");
  EXPECT_EQ(SizeText(1 << 30), "1 GiB");
  EXPECT_EQ(SizeText(1610612736), "1.5 GiB");
  EXPECT_EQ(SizeText(uint64_t{4} << 40), "4096 GiB");
}

TEST_F(OutputTest, EveryResponseCanBeShownAsTableJsonAndYaml) {
  for (const Method& method : catalog_.AllMethods()) {
    if (method.group == kSimulatedGroup) continue;
    const pb::Descriptor& type = *method.descriptor->output_type();
    const auto response = catalog_.New(&type);
    const std::string table = ToTable(*response);
    const auto json = ToJson(*response);
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_NE(ToYaml(*response), "");
    for (int i = 0; i < type.field_count(); ++i) {
      EXPECT_NE(table.find(type.field(i)->name()), std::string::npos) << type.full_name();
      const bool message = type.field(i)->message_type() != nullptr;
      if (message && !type.field(i)->is_repeated()) continue;
      EXPECT_NE(json->find(type.field(i)->name()), std::string::npos) << type.full_name();
    }
    EXPECT_EQ(table.find('?'), std::string::npos) << "a type without a text: " << table;
  }
}

constexpr char kDisks[] = R"(
  disks { number: 0 bus_type: "SAS" serial_number: "vol00000000000000001" page83: "systemdisk"
          path: "\\\\?\\scsi#disk&ven_msft" unique_id: "vol00000000000000001" adapter: "0"
          size_bytes: 68719476736 partition_style: GPT is_boot: true is_system: true
          is_online: true }
  disks { number: 3 bus_type: "Virtual" page83: "60022480a1b2c3d4e5f60718293a4b5c"
          size_bytes: 5368709120 offline_reason: "Policy" is_read_only: true }
  disks { number: 11 size_bytes: 1610612736 partition_style: MBR is_online: true })";

TEST_F(OutputTest, TheShortTableOfDisksShowsTheirUseAndState) {
  const std::string table = ToShortTable(*Response("storage", "ListDisks", kDisks));
  EXPECT_EQ(table,
            "DISK  BUS      SIZE     STYLE  USE      STATE                        "
            "SERIAL OR PAGE 83\n"
            "0     SAS      64 GiB   GPT    Windows  online                       "
            "vol00000000000000001\n"
            "3     Virtual  5 GiB    RAW    -        offline (Policy), read-only  "
            "60022480a1b2c3d4e5f60718293a4b5c\n"
            "11    -        1.5 GiB  MBR    -        online                       -\n");
  for (const absl::string_view line : absl::StrSplit(table, '\n')) EXPECT_LE(line.size(), 101);
}

TEST_F(OutputTest, ADiskThatOnlyStartsWindowsIsShownAsBootLoader) {
  EXPECT_TRUE(absl::StrContains(
      ToShortTable(*Response("storage", "ListDisks", "disks { is_system: true is_online: true }")),
      "  boot loader  online  "));
}

TEST_F(OutputTest, TheShortTableOfMountsShowsPathsLast) {
  EXPECT_EQ(ToShortTable(*Response("storage", "ListMounts", R"(
              mounts { path: "C:\\k\\a" kind: MOUNTED_VOLUME target: "\\\\?\\Volume{1}\\" }
              mounts { path: "C:\\k\\longer" kind: SYMLINK state: DANGLING }
              incomplete: true)")),
            "STATE     KIND     PATH         TARGET\n"
            "alive     volume   C:\\k\\a       \\\\?\\Volume{1}\\\n"
            "dangling  symlink  C:\\k\\longer  -\n"
            "incomplete: the service did not check all directories\n");
}

TEST_F(OutputTest, TheShortTableOfMappingsCountsTheirLinks) {
  EXPECT_EQ(ToShortTable(*Response("storage", "ListSmbMappings", R"(
              mappings { remote_path: "\\\\h\\s" status: "Disconnected"
                         links: "C:\\k\\a" links: "C:\\k\\b" }
              mappings { remote_path: "\\\\h\\t" status: "OK" })")),
            "STATUS        LINKS  SHARE\n"
            "Disconnected  2      \\\\h\\s\n"
            "OK            0      \\\\h\\t\n");
  EXPECT_EQ(ToShortTable(*Response("storage", "ListSmbMappings", "")), "mappings  (none)\n");
}

TEST_F(OutputTest, TextsOfTheServiceAreEscapedForTheTerminal) {
  const auto mounts = Response("storage", "ListMounts", R"(mounts { path: "a\033[2J\nb" })");
  EXPECT_TRUE(absl::StrContains(ToShortTable(*mounts), "  a\\x1b[2J\\x0ab  "));
  EXPECT_EQ(ToNames(*mounts), "a\\x1b[2J\\x0ab\n");
}

TEST_F(OutputTest, ResponsesWithoutAShortTableShowAllFields) {
  const auto state = Response("disk", "GetDiskState", "is_online: true");
  EXPECT_EQ(ToShortTable(*state), ToTable(*state));
  const auto portals = Response("iscsi", "ListTargetPortals",
                                "target_portals { target_address: 'a' target_port: 3260 }");
  EXPECT_EQ(ToShortTable(*portals), ToTable(*portals));
}

TEST_F(OutputTest, NameOutputPrintsOneNamePerLine) {
  EXPECT_EQ(ToNames(*Response("storage", "ListDisks", kDisks)), "0\n3\n11\n");
  EXPECT_EQ(ToNames(*Response("storage", "ListMounts",
                              R"(mounts { path: "C:\\a" } mounts { path: "C:\\b" })")),
            "C:\\a\nC:\\b\n");
  EXPECT_EQ(ToNames(*Response("storage", "ListSmbMappings",
                              R"(mappings { remote_path: "\\\\h\\s" links: "C:\\a" })")),
            "\\\\h\\s\n");
  EXPECT_EQ(ToNames(*Response("volume", "ListVolumesOnDisk",
                              R"(volume_ids: "\\\\?\\Volume{2}\\" volume_ids: "b")")),
            "\\\\?\\Volume{2}\\\nb\n");
  EXPECT_EQ(ToNames(*Response("disk", "ListDiskIDs",
                              "diskIDs { key: 10 value {} } diskIDs { key: 9 value {} }")),
            "9\n10\n");
  EXPECT_EQ(ToNames(*Response("iscsi", "ListTargetPortals",
                              "target_portals { target_address: '10.0.0.5' target_port: 3260 }"
                              "target_portals { target_address: 'fd00::5' target_port: 3261 }")),
            "10.0.0.5:3260\n[fd00::5]:3261\n");
  EXPECT_EQ(ToNames(*Response("volume", "ListVolumesOnDisk", "")), "");
}

TEST_F(OutputTest, OnlyListingsSupportNameOutput) {
  std::set<std::string> with_names;
  for (const Method& method : catalog_.AllMethods()) {
    if (method.group == kSimulatedGroup) continue;
    if (HasNames(*method.descriptor->output_type())) with_names.insert(method.descriptor->name());
  }
  EXPECT_THAT(with_names,
              testing::ElementsAre("DiscoverTargetPortal", "GetTargetDisks", "ListDiskIDs",
                                   "ListDiskLocations", "ListDisks", "ListMounts",
                                   "ListSmbMappings", "ListTargetPortals", "ListVolumesOnDisk"));
}

// A field that is missing or has another type would leave its column empty, or show all columns.
TEST_F(OutputTest, EveryListingReadsExistingFields) {
  std::set<std::string> used;
  for (const Method& method : catalog_.AllMethods()) {
    const pb::Descriptor& type = *method.descriptor->output_type();
    const absl::Span<const Listing> listings = Listings();
    const auto listing = std::find_if(listings.begin(), listings.end(), [&](const Listing& row) {
      return type.name() == row.response;
    });
    if (listing == listings.end()) continue;
    used.insert(type.name());
    std::shared_ptr<pb::Message> response = catalog_.New(&type);
    const pb::FieldDescriptor* const list = type.FindFieldByName(listing->list);
    ASSERT_NE(list, nullptr) << type.full_name();
    response->GetReflection()->AddMessage(response.get(), list);
    std::string missing;
    const Answer answer(response, &missing);
    ASSERT_EQ(answer.Each(listing->list).size(), 1);
    const Answer row = answer.Each(listing->list)[0];
    listing->name.Text(row);
    for (const Column& column : listing->columns) column.Text(row);
    EXPECT_EQ(missing, "");
  }
  EXPECT_EQ(used.size(), Listings().size());
}

std::string Yaml(const std::string& textproto) {
  selftest::Report report;
  EXPECT_TRUE(pb::TextFormat::ParseFromString(textproto, &report)) << textproto;
  return ToYaml(report);
}

// Returns how YAML writes a string.
std::string YamlString(const std::string& text) {
  report::Fact fact;
  fact.set_value(text);
  const std::string yaml = ToYaml(fact);
  EXPECT_TRUE(absl::StartsWith(yaml, "name: ''\nvalue: ")) << yaml;
  return yaml.substr(yaml.find("value: ") + 7);
}

TEST_F(OutputTest, YamlHasTheValuesOfJson) {
  const auto disk_ids = Response("disk", "ListDiskIDs", "diskIDs { key: 2 value { page83: 'x' } }");
  EXPECT_EQ(ToYaml(*disk_ids), "diskIDs:\n  '2':\n    page83: x\n    serial_number: ''\n");
  EXPECT_EQ(ToYaml(*Response("disk", "ListDiskIDs", "")), "diskIDs: {}\n");
  EXPECT_EQ(ToYaml(*Response("disk", "GetDiskStats", "total_bytes: 7")), "total_bytes: '7'\n")
      << "as in JSON, because a number may have only 53 bits";
  EXPECT_EQ(ToYaml(*Response("disk", "GetDiskState", "")), "is_online: false\n");
  EXPECT_EQ(ToYaml(*Response("disk", "Rescan", "")), "{}\n");
  EXPECT_EQ(ToYaml(*Response("volume", "ListVolumesOnDisk", "volume_ids: ['a', '1']")),
            "volume_ids:\n  - a\n  - '1'\n");
  const auto node =
      Response("sim", "DumpState", "node { disk { foreign { data: 'S\\357\\001' } } }");
  EXPECT_TRUE(absl::StrContains(ToYaml(*node), "data: 'U+8B'\n")) << "base64: " << ToYaml(*node);
  EXPECT_FALSE(absl::StrContains(ToYaml(*node), "behaviour")) << "a message that is not set";
  const auto cache = Response("sim", "DumpState", "node { behaviour { volume_cache_ms: 7 } }");
  EXPECT_TRUE(absl::StrContains(ToYaml(*cache), "mpio: false\n    volume_cache_ms: 7\n"))
      << "in the order of JSON: " << ToYaml(*cache);
}

TEST(YamlTest, ObjectsAndListsBecomeYamlBlocks) {
  EXPECT_EQ(Yaml("disk: 3 steps { name: 'a' rpcs: ['b', 'c'] milliseconds: 1.5 result: OK }"
                 "steps { milliseconds: 250000 }"),
            "product_version: ''\n"
            "started: ''\n"
            "note: ''\n"
            "disk: 3\n"
            "work_dir: ''\n"
            "steps:\n"
            "  - name: a\n"
            "    shows: ''\n"
            "    rpcs:\n"
            "      - b\n"
            "      - c\n"
            "    result: OK\n"
            "    milliseconds: 1.5\n"
            "    detail: ''\n"
            "  - name: ''\n"
            "    shows: ''\n"
            "    rpcs: []\n"
            "    result: UNKNOWN\n"
            "    milliseconds: 250000\n"
            "    detail: ''\n"
            "latencies: []\n"
            "passed: 0\n"
            "failed: 0\n"
            "skipped: 0\n"
            "not_asked: 0\n");
}

// Strings that YAML would read as another type are quoted.
TEST(YamlTest, StringsThatLookLikeOtherTypesAreQuoted) {
  for (const std::string plain : {"SAS", "read-only", "a_1", "Ok", "nullable"}) {
    EXPECT_EQ(YamlString(plain), plain + "\n");
  }
  for (const char* quoted :
       {"",           "1024",  "1e3", "0x1F", "0o7", "1_000", "12:30:45", "-",    "-a",   "~",
        "null",       "Null",  "YES", "no",   "On",  "off",   "y",        "N",    "true", "FALSE",
        ".nan",       "_x",    "a b", " a",   "a ",  "a: b",  "a:b",      "a #b", "# b",  "[a]",
        "{a",         "a,b",   "&a",  "*a",   "!a",  "|",     ">",        "%a",   "@a",   "`a",
        "2026-11-25", "vol 1", "é",   "<<",   "=",   "?",     "---",      "..."}) {
    EXPECT_EQ(YamlString(quoted), absl::StrCat("'", quoted, "'\n"));
  }
  EXPECT_EQ(YamlString("it's"), "'it''s'\n");
}

// Single quotes leave a path unchanged; double quotes would double its backslashes.
TEST(YamlTest, YamlShowsPathsUnchangedAndEscapesControlCharacters) {
  EXPECT_EQ(YamlString(R"(\\?\Volume{1}\)"), "'\\\\?\\Volume{1}\\'\n");
  EXPECT_EQ(YamlString("C:\\a\x1b[2J\n\""), R"("C:\\a\u001B[2J\u000A\"")"
                                            "\n");
  EXPECT_EQ(YamlString("a\u0085\u2028\ufeff\u00e9"), R"("a\u0085\u2028\uFEFF\u00E9")"
                                                     "\n");
  EXPECT_EQ(YamlString("\U0001F600"), "'\U0001F600'\n");
  EXPECT_EQ(YamlString("\U0001F600\t"), R"("\U0001F600\u0009")"
                                        "\n");
}

}  // namespace
}  // namespace csi_proxy::ctl
