#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <regex>
#include <sstream>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/sidecars/program/options.h"
#include "server/observability/log_testing.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Line(const observability::LogOptions& options, Severity severity,
                 absl::string_view message) {
  std::ostringstream text;
  NewLog(options, "livenessprobe", std::make_shared<spdlog::sinks::ostream_sink_mt>(text))(severity,
                                                                                           message);
  return text.str();
}

TEST(LogTest, TextLinesHaveKlogsFormat) {
  const std::string line = Line({}, Severity::kWarning, R"(it's "C:\csi" {})");
  EXPECT_TRUE(observability::GlogReads(line.substr(0, line.size() - 1))) << line;
  EXPECT_TRUE(
      std::regex_match(line, std::regex(R"(W\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ log_test\.cc:\d+\] )"
                                        R"(it's "C:\\csi" \{\} component="livenessprobe"\n)")))
      << line;
  EXPECT_THAT(Line({}, Severity::kError, "a\nI forged\xff"),
              AllOf(StartsWith("E"), HasSubstr("] a\\nI forged\xef\xbf\xbd")));
}

TEST(LogTest, JsonLinesParseToTheSameMessage) {
  for (const std::string message : {"plain", "\"quoted\" \\ back", "Gerät", "C:\\csi\\csi.sock",
                                    "a\nb\x01\x7f\u009b\u2028\u202e", "%v {}"}) {
    google::protobuf::Struct line;
    const std::string text =
        Line({.format = observability::LogFormat::kJson}, Severity::kInfo, message);
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &line).ok()) << text;
    EXPECT_EQ(text.find("\u202e"), std::string::npos) << "it turns the order of what follows";
    EXPECT_EQ(line.fields().at("message").string_value(), message);
    EXPECT_EQ(line.fields().at("severity").string_value(), "info");
    EXPECT_EQ(line.fields().at("component").string_value(), "livenessprobe");
    absl::Time time;
    std::string error;
    ASSERT_TRUE(
        absl::ParseTime(absl::RFC3339_full, line.fields().at("time").string_value(), &time, &error))
        << text << error;
    EXPECT_LT(absl::AbsDuration(absl::Now() - time), absl::Minutes(1));
  }
  EXPECT_THAT(Line({.format = observability::LogFormat::kJson}, Severity::kError, "\xff"),
              HasSubstr("\"message\":\"\xef\xbf\xbd\"}"));
}

}  // namespace
}  // namespace csi_proxy::sidecars
