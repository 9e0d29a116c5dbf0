#include "client/ctl/top/exposition.h"

#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::top {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct Read {
  absl::Status status;
  std::vector<Sample> samples;
};

Read ReadAll(absl::string_view text) {
  Read read;
  read.status = ReadExposition(text, [&](const Sample& sample) { read.samples.push_back(sample); });
  return read;
}

// The example in https://prometheus.io/docs/instrumenting/exposition_formats/, shortened.
TEST(ExpositionTest, TheFormatsOwnExample) {
  const Read read = ReadAll(R"(# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

http_request_duration_seconds_bucket{le="+Inf"} 144320
)");
  ASSERT_TRUE(read.status.ok()) << read.status;
  ASSERT_EQ(read.samples.size(), 6);
  EXPECT_EQ(read.samples[0].name, "http_requests_total");
  EXPECT_THAT(read.samples[0].labels, ElementsAre(Pair("code", "200"), Pair("method", "post")));
  EXPECT_EQ(read.samples[0].value, 1027);
  EXPECT_EQ(read.samples[1].value, 3);
  EXPECT_EQ(read.samples[2].Label("path"), R"(C:\DIR\FILE.TXT)");
  EXPECT_EQ(read.samples[2].Label("error"), "Cannot find file:\n\"FILE.TXT\"");
  EXPECT_EQ(read.samples[2].Label("nonesuch"), "");
  EXPECT_EQ(read.samples[2].value, 1458255915);
  EXPECT_THAT(read.samples[3].labels, IsEmpty());
  EXPECT_EQ(read.samples[3].value, 12.47);
  EXPECT_TRUE(std::isinf(read.samples[4].value));
  EXPECT_EQ(read.samples[5].Label("le"), "+Inf");
}

TEST(ExpositionTest, WhatTheFormatLeavesOpen) {
  EXPECT_TRUE(ReadAll("").status.ok());
  EXPECT_EQ(ReadAll("a 1").samples.size(), 1) << "without a line's end";
  EXPECT_EQ(ReadAll("a 1\r\n\tb\t2 \r\n").samples.size(), 2);
  const Read read = ReadAll("a { b = \"c\" , d=\"}\" , } 1\n");
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.samples[0].labels, ElementsAre(Pair("b", "c"), Pair("d", "}")));
  EXPECT_TRUE(ReadAll("a{} NaN").status.ok());
}

TEST(ExpositionTest, ALineThatIsWrongIsNamed) {
  for (const char* line :
       {"a", "a ", "1 2", "a b", "a 1 2 3", "a 1 b", "a{ 1", "a{b} 1", "a{b=c} 1", "a{b=\"c} 1",
        "a{b=\"c\" 1", "a{b=\"c\"d=\"e\"} 1", "a{b=\"\\x\"} 1", "a{b=\"\\", "a{,} 1",
        "a{b=\"c\",b=\"d\"} 1", "<html>", "a{b=\"c\"}", "\"a\" 1"}) {
    const Read read = ReadAll(absl::StrCat("good 1\n", line, "\nafter 1\n"));
    EXPECT_TRUE(absl::IsInvalidArgument(read.status)) << line;
    EXPECT_TRUE(absl::StrContains(read.status.message(), "line 2 ")) << read.status;
    EXPECT_EQ(read.samples.size(), 1) << line;
  }
}

}  // namespace
}  // namespace csi_proxy::ctl::top
