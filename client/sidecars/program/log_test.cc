#include "client/sidecars/program/log.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

namespace csi_proxy::sidecars {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const absl::Time kTime = absl::FromUnixMicros(1'700'000'000'012'345);

TEST(LogLineTest, TextIsKlogs) {
  // Of the local date and time, hence parts of it.
  EXPECT_THAT(
      LogLine(LogFormat::kText, kTime, Severity::kWarning, R"(it's "C:\csi")"),
      AllOf(StartsWith("W111"), HasSubstr(":20.012345 "), EndsWith("] it's \"C:\\csi\"\n")));
  EXPECT_THAT(LogLine(LogFormat::kText, kTime, Severity::kError, "a\nI forged\xff"),
              AllOf(StartsWith("E"), EndsWith("] a\\x0aI forged\xef\xbf\xbd\n")));
}

TEST(LogLineTest, JsonIsReadBack) {
  for (const std::string message :
       {"plain", "\"quoted\" \\ back", "Gerät", "C:\\csi\\csi.sock", "a\nb\x01\x7f"}) {
    google::protobuf::Struct line;
    const std::string text = LogLine(LogFormat::kJson, kTime, Severity::kInfo, message);
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &line).ok()) << text;
    EXPECT_EQ(line.fields().at("message").string_value(), message);
    EXPECT_EQ(line.fields().at("severity").string_value(), "info");
    EXPECT_EQ(line.fields().at("time").string_value(), "2023-11-14T22:13:20.012345Z");
  }
  EXPECT_THAT(LogLine(LogFormat::kJson, kTime, Severity::kError, "\xff"),
              HasSubstr("\"message\":\"\xef\xbf\xbd\"}\n"));
}

}  // namespace
}  // namespace csi_proxy::sidecars
