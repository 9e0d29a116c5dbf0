// Provokes the errors of the generator and checks their texts.
#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "codegen/model.h"
#include "gtest/gtest.h"

namespace csi_proxy::codegen {
namespace {

constexpr char kHub[] = R"(
  syntax = "proto3"; package csi_proxy.garden;
  service Garden { rpc Plant(PlantRequest) returns (PlantResponse); }
  enum Kind { TREE = 0; HERB = 1; }
  message PlantRequest { uint32 bed = 1; Kind kind = 2; }
  message PlantResponse { map<uint32, string> names = 1; })";

constexpr char kVersion[] = R"(
  syntax = "proto3"; package v1;
  service Garden { rpc Plant(PlantRequest) returns (PlantResponse); }
  enum Kind { TREE = 0; HERB = 1; }
  message PlantRequest { uint32 bed = 1; Kind kind = 2; }
  message PlantResponse { map<uint32, string> names = 1; })";

class Silent final : public pb::io::ErrorCollector {
  void AddError(int line, int column, const std::string& message) override {
    ADD_FAILURE() << line << ":" << column << ": " << message;
  }
};

class Inputs {
 public:
  const pb::FileDescriptor* Add(const std::string& name, const std::string& text) {
    Silent errors;
    pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    pb::io::Tokenizer tokenizer(&stream, &errors);
    pb::FileDescriptorProto proto;
    pb::compiler::Parser parser;
    parser.RecordErrorsTo(&errors);
    EXPECT_TRUE(parser.Parse(&tokenizer, &proto));
    proto.set_name(name);
    const pb::FileDescriptor* const file = pool_.BuildFile(proto);
    EXPECT_NE(file, nullptr) << text;
    return file;
  }

 private:
  pb::DescriptorPool pool_;
};

absl::Status Build(const std::string& hub, const std::string& version, const std::string& table,
                   const std::string& version_file = "garden/v1/api.proto") {
  Inputs inputs;
  Conversions conversions;
  EXPECT_TRUE(pb::TextFormat::ParseFromString(table, &conversions)) << table;
  return BuildGroup("garden",
                    {inputs.Add("garden/hub.proto", hub), inputs.Add(version_file, version)},
                    conversions)
      .status();
}

// Replacements in the text of the valid hub or version.
using Edits = std::vector<std::pair<const char*, const char*>>;

struct Bad {
  const char* title;
  Edits version;
  // The texts that the error must contain.
  std::vector<const char*> expected;
  const char* table = "";
  Edits hub = {};
};

std::vector<Bad> AllBad() {
  const char* const file = "garden/v1/api.proto";
  return {
      {"an unmapped field",
       {{"uint32 bed", "uint32 patch"}},
       {file, "PlantRequest.patch", "rename_field or drop_field",
        "nothing maps to PlantRequest.bed", "absent_field"}},
      {"a field the version lacks",
       {{"Kind kind = 2;", ""}},
       {file, "PlantRequest", "PlantRequest.kind of the hub"}},
      {"a string for a number",
       {{"uint32 bed", "string bed"}},
       {file, "PlantRequest.bed", "is string", "is uint32", "decimal_field"}},
      {"a wider number",
       {{"uint32 bed", "int64 bed"}},
       {file, "PlantRequest.bed", "is int64", "widen_field"}},
      {"types that do not meet",
       {{"uint32 bed", "bool bed"}},
       {file, "PlantRequest.bed", "is bool", "only override_message"}},
      {"singular and repeated",
       {{"uint32 bed", "repeated uint32 bed"}},
       {file, "PlantRequest.bed", "do not mix"}},
      {"a map's key",
       {{"map<uint32, string>", "map<string, string>"}},
       {file, "PlantResponse.names", "decimal_field"}},
      {"a method the hub lacks",
       {{"rpc Plant(", "rpc Sow("}},
       {file, "rpc Sow", "the hub has no Sow", "rename_method"}},
      {"an enum value the hub lacks",
       {{"HERB = 1;", "HERB = 1; MOSS = 2;"}},
       {file, "Kind.MOSS", "of the hub has no such value"}},
      {"an enum value the version lacks",
       {},
       {file, "Kind: lacks MOSS", "absent_enum_value"},
       "",
       {{"HERB = 1;", "HERB = 1; MOSS = 2;"}}},
      {"streaming",
       {{"returns (PlantResponse)", "returns (stream PlantResponse)"}},
       {file, "Plant", "streaming"}},
      {"a oneof",
       {{"uint32 bed = 1;", "oneof where { uint32 bed = 1; }"}},
       {file, "PlantRequest.bed", "oneof"}},
      {"an optional field",
       {{"uint32 bed", "optional uint32 bed"}},
       {file, "PlantRequest.bed", "optional"}},
      {"a nested message",
       {{"uint32 bed = 1;", "uint32 bed = 1; message Pot {}"}},
       {file, "PlantRequest.Pot", "nested"}},
      {"a nested enum",
       {{"uint32 bed = 1;", "uint32 bed = 1; enum E { A = 0; }"}},
       {file, "PlantRequest.E", "nested"}},
      {"a keyword", {{"uint32 bed", "uint32 class"}}, {file, "PlantRequest.class", "keyword"}},
      {"proto2",
       {{"syntax = \"proto3\"", "syntax = \"proto2\""},
        {"uint32 bed", "optional uint32 bed"},
        {"Kind kind", "optional Kind kind"}},
       {file, "only proto3"}},
      {"a message nobody reaches",
       {{"enum Kind", "message Lost {} enum Kind"}},
       {file, "message Lost", "no rpc uses it"}},
      {"a package that is not the directory",
       {{"package v1;", "package v2;"}},
       {file, "package v2", "v1"}},
      {"a hub of another package",
       {},
       {"garden/hub.proto", "is not csi_proxy.garden"},
       "",
       {{"package csi_proxy.garden;", "package garden;"}}},
      {"a hub without a service",
       {},
       {"garden/hub.proto", "0 services"},
       "",
       {{"service Garden { rpc Plant(PlantRequest) returns (PlantResponse); }", ""}}},
      {"two fields for one",
       {{"uint32 bed = 1;", "uint32 bed = 1; uint32 be_d2 = 3;"}},
       {file, "PlantRequest.be_d2", "another field maps to bed"},
       "rename_field { versions: 'v1' message: 'PlantRequest' field: 'be_d2' hub_field: 'bed' }"},
      {"a row that matches nothing",
       {},
       {"drop_field PlantRequest.gone", "matches nothing"},
       "drop_field { versions: 'v1' message: 'PlantRequest' field: 'gone' reason: 'r' }"},
      {"a row for a version that is not there",
       {},
       {"rename_method Plant", "v9"},
       "rename_method { versions: 'v9' method: 'Plant' hub_method: 'Sow' }"},
      {"a row that is not needed",
       {},
       {"rename_field PlantRequest.bed", "not needed"},
       "rename_field { versions: 'v1' message: 'PlantRequest' field: 'bed' hub_field: 'bed' }"},
      {"a decimal row that is not needed",
       {},
       {"PlantRequest.bed", "decimal_field row is not needed"},
       "decimal_field { versions: 'v1' message: 'PlantRequest' field: 'bed' }"},
      {"a row twice",
       {{"Kind kind = 2;", "Kind kind = 2; string x = 3;"}},
       {"drop_field PlantRequest.x", "appears twice for v1"},
       "drop_field { versions: ['v1', 'v1'] message: 'PlantRequest' field: 'x' reason: 'r' }"},
      {"a row without a reason",
       {{"Kind kind = 2;", "Kind kind = 2; string x = 3;"}},
       {"drop_field PlantRequest.x", "gives no reason"},
       "drop_field { versions: 'v1' message: 'PlantRequest' field: 'x' }"},
      {"a row without versions",
       {},
       {"widen_field A.b", "names no versions"},
       "widen_field { message: 'A' field: 'b' }"},
      {"a row with a hole",
       {},
       {"rename_field A.", "a field of the row is empty"},
       "rename_field { versions: 'v1' message: 'A' hub_field: 'b' }"},
      {"an override of another hub message",
       {},
       {"override_message PlantRequest", "not X"},
       "override_message { versions: 'v1' message: 'PlantRequest' hub_message: 'X' reason: 'r' }"},
  };
}

std::string Change(std::string text, const Edits& edits) {
  for (const auto& [from, to] : edits) {
    EXPECT_TRUE(absl::StrContains(text, from)) << from;
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  return text;
}

TEST(GeneratorErrorsTest, TheUnchangedGroupIsAccepted) {
  EXPECT_TRUE(Build(kHub, kVersion, "").ok()) << Build(kHub, kVersion, "");
}

TEST(GeneratorErrorsTest, EachErrorNamesItsCauseAndTheRemedy) {
  for (const Bad& bad : AllBad()) {
    SCOPED_TRACE(bad.title);
    const absl::Status status =
        Build(Change(kHub, bad.hub), Change(kVersion, bad.version), bad.table);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    for (const char* expected : bad.expected) {
      EXPECT_TRUE(absl::StrContains(status.message(), expected)) << expected << "\n" << status;
    }
  }
}

TEST(GeneratorErrorsTest, TheErrorNamesAFileThatIsNeitherHubNorVersion) {
  const absl::Status status = Build(kHub, kVersion, "", "shed/v1/api.proto");
  EXPECT_TRUE(absl::StrContains(status.message(), "shed/v1/api.proto: is neither")) << status;
}

TEST(GeneratorErrorsTest, EachVersionIsCheckedOnItsOwn) {
  Inputs inputs;
  const std::string hub = Change(kHub, {{"Kind kind = 2;", "Kind kind = 2; uint32 depth = 3;"}});
  const std::string beta = Change(kVersion, {{"package v1;", "package v1beta1;"}});
  Conversions table;
  auto* const row = table.add_decimal_field();
  row->add_versions("v1beta1");
  row->set_message("PlantRequest");
  row->set_field("bed");
  const absl::Status status =
      BuildGroup(
          "garden",
          {inputs.Add("garden/hub.proto", hub), inputs.Add("garden/v1/api.proto", kVersion),
           inputs.Add("garden/v1beta1/api.proto", Change(beta, {{"uint32 bed", "string bed"}}))},
          table)
          .status();
  for (const char* expected : {"garden/v1/api.proto: PlantRequest: nothing maps",
                               "garden/v1beta1/api.proto: PlantRequest: nothing maps"}) {
    EXPECT_TRUE(absl::StrContains(status.message(), expected)) << status;
  }
  EXPECT_FALSE(absl::StrContains(status.message(), "not needed")) << status;
}

TEST(GeneratorErrorsTest, TheErrorNamesAMissingHub) {
  Inputs inputs;
  const absl::Status status =
      BuildGroup("garden", {inputs.Add("garden/v1/api.proto", kVersion)}, Conversions()).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "garden/hub.proto is not among the files"))
      << status;
}

// Uses each valid row in the smallest case that needs it.
TEST(GeneratorRulesTest, EachKindOfTableRowResolvesItsConflict) {
  const struct {
    Edits version;
    const char* table;
    Edits hub = {};
  } cases[] = {
      {{{"uint32 bed", "uint32 Be_D"}}, ""},
      {{{"uint32 bed", "uint32 patch"}},
       "rename_field { versions: 'v1' message: 'PlantRequest' field: 'patch' hub_field: 'bed' }"},
      {{{"uint32 bed", "string bed"}},
       "decimal_field { versions: 'v1' message: 'PlantRequest' field: 'bed' }"},
      {{{"map<uint32, string>", "map<string, string>"}},
       "decimal_field { versions: 'v1' message: 'PlantResponse' field: 'names' }"},
      {{{"uint32 bed", "int64 bed"}},
       "widen_field { versions: 'v1' message: 'PlantRequest' field: 'bed' }"},
      {{{"Kind kind = 2;", "Kind kind = 2; string error = 3;"}},
       "drop_field { versions: 'v1' message: 'PlantRequest' field: 'error' reason: 'r' }"},
      {{{"uint32 bed = 1;", ""}},
       "absent_field { versions: 'v1' message: 'PlantRequest' hub_field: 'bed' reason: 'r' }"},
      {{{"rpc Plant(", "rpc Sow("}},
       "rename_method { versions: 'v1' method: 'Sow' hub_method: 'Plant' }"},
      {{},
       "absent_enum_value { versions: 'v1' enum: 'Kind' hub_value: 'MOSS' send_as: 'HERB' "
       "reason: 'r' }",
       {{"HERB = 1;", "HERB = 1; MOSS = 2;"}}},
      {{{"uint32 bed = 1; Kind kind = 2;", "bool x = 1;"}},
       "override_message { versions: 'v1' message: 'PlantRequest' hub_message: 'PlantRequest' "
       "reason: 'r' }"},
  };
  for (const auto& c : cases) {
    const absl::Status status = Build(Change(kHub, c.hub), Change(kVersion, c.version), c.table);
    EXPECT_TRUE(status.ok()) << c.table << "\n" << status;
  }
}

TEST(NamesTest, NamesAreNormalisedAndEnumeratorsAreCamelCase) {
  EXPECT_EQ(NormalisedName("diskID"), NormalisedName("disk_id"));
  EXPECT_EQ(NormalisedName("LUNID"), NormalisedName("lun_id"));
  EXPECT_NE(NormalisedName("disk_ids"), NormalisedName("disk_id"));
  EXPECT_EQ(EnumeratorName("ONE_WAY_CHAP"), "kOneWayChap");
  EXPECT_EQ(EnumeratorName("BOOT"), "kBoot");
}

}  // namespace
}  // namespace csi_proxy::codegen
