#include "api/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace csi_proxy::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<std::string> ReferenceOf(Sources sources) {
  const absl::StatusOr<std::unique_ptr<Files>> files = Files::Parse(std::move(sources));
  if (!files.ok()) return files.status();
  return Reference(**files);
}

// A made-up group, whose first version names and writes things otherwise.
Sources Lamps() {
  const std::string now = R"(
    // Lamps of
    //   the house.
    service Lamp {
      // Lights a lamp.
      rpc Light(LightRequest) returns (LightResponse);
    }
    // Asks for light.
    message LightRequest {
      // Which one: left|right.
      uint32 number = 1;
    }
    message LightResponse {}
    // How bright.
    enum Shade {
      // Not at all.
      DARK = 0;
    })";
  return {{"lamp/hub.proto", "// All lamps.\nsyntax = \"proto3\"; package csi_proxy.lamp;" + now},
          {"lamp/v1/api.proto", "syntax = \"proto3\"; package v1;" + now},
          {"lamp/v2/api.proto", "syntax = \"proto3\"; package v2;" + now},
          {"lamp/v1alpha1/api.proto", R"(syntax = "proto3"; package v1alpha1;
          service Lamp { rpc Kindle(KindleRequest) returns (KindleResponse); }
          message KindleRequest {
            // Its number in decimal.
            string lamp = 1;
            string mood = 2;
          }
          message KindleResponse {})"},
          {"lamp/conversions.textproto", R"(
          rename_method { versions: ["v1alpha1"] method: "Kindle" hub_method: "Light" }
          rename_field { versions: ["v1alpha1"] message: "KindleRequest" field: "lamp"
                         hub_field: "number" }
          decimal_field { versions: ["v1alpha1"] message: "KindleRequest" field: "lamp" }
          drop_field { versions: ["v1alpha1"] message: "KindleRequest" field: "mood"
                       reason: "lamps have none" })"}};
}

TEST(ReferenceTest, TellsWhichVersionHasWhat) {
  const absl::StatusOr<std::string> text = ReferenceOf(Lamps());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("| lamp | v1alpha1 | v1 | v2 |\n"
                               "|---|---|---|---|\n"
                               "| Light | Kindle | yes | yes |\n"));
}

TEST(ReferenceTest, TellsTheHubsMethodAndEachFormOfIt) {
  const absl::StatusOr<std::string> text = ReferenceOf(Lamps());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\n## lamp\n\nAll lamps.\n\n"
                               "### lamp: Light\n\nLights a lamp.\n\n"
                               "`Light(uint32 number) -> ()`\n\n"
                               "- `number`: Which one: left\\|right.\n\n"
                               "**v1alpha1**: `Kindle`.\n\n"
                               "| | field | type | meaning | hub |\n|---|---|---|---|---|\n"
                               "| request 1 | `lamp` | `string` | Its number in decimal. | "
                               "`number`, from decimal |\n"
                               "| request 2 | `mood` | `string` |  | - |\n\n"
                               "**v1, v2**: `Light`. Lights a lamp.\n\n"
                               "| | field | type | meaning | hub |\n|---|---|---|---|---|\n"
                               "| request 1 | `number` | `uint32` | Which one: left\\|right. | "
                               "`number` |\n"));
}

TEST(ReferenceTest, TellsTypesWithTheirValues) {
  const absl::StatusOr<std::string> text = ReferenceOf(Lamps());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, AllOf(HasSubstr("\n### lamp: type Shade\n\nHow bright.\n"),
                           HasSubstr("**v1, v2**: How bright.\n\n| | value | meaning |\n"
                                     "|---|---|---|\n| 0 | `DARK` | Not at all. |\n"),
                           Not(HasSubstr("type LightRequest"))));
}

TEST(ReferenceTest, MarksSecrets) {
  Sources sources = Lamps();
  for (auto& [path, text] : sources) {
    if (path != "lamp/hub.proto") continue;
    text.replace(text.find("uint32 number = 1"), 17,
                 "uint32 number = 1 [(csi_proxy.api.secret) = true]");
    text.insert(text.find("package"), "import \"annotations.proto\"; ");
  }
  sources["annotations.proto"] =
      ReadFile(std::string(CSI_PROXY_API_DIR) + "/annotations.proto").value();
  const absl::StatusOr<std::string> text = ReferenceOf(std::move(sources));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text,
              HasSubstr("- `number`: Which one: left\\|right. Secret: it is never logged.\n"));
}

TEST(ReferenceTest, FailsWhereTheGeneratorWould) {
  Sources sources = Lamps();
  sources["lamp/conversions.textproto"].clear();
  EXPECT_THAT(ReferenceOf(std::move(sources)).status().message(), HasSubstr("Kindle"));

  sources = Lamps();
  sources.erase("lamp/conversions.textproto");
  EXPECT_THAT(ReferenceOf(std::move(sources)).status().message(),
              HasSubstr("lamp/conversions.textproto is missing"));

  sources = Lamps();
  sources.erase("lamp/hub.proto");
  EXPECT_THAT(ReferenceOf(std::move(sources)).status().message(),
              HasSubstr("lamp/hub.proto is missing"));
}

}  // namespace
}  // namespace csi_proxy::api
