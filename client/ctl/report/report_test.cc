#include "client/ctl/report/report.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST(RedactorTest, KnownValuesAreMasked) {
  Redactor masks;
  masks.AddSecret("host", "NODE-7");
  masks.AddSecret("user", "Müller");
  masks.AddSecret("serial", "AB12 &CD'34");
  masks.AddSecret("serial", "AB12");
  masks.AddSecret("id", "600224807fb01d");
  EXPECT_EQ(masks.Apply(R"(\\node-7\pipe, NODE-7.example, NODE-77)"),
            R"(\\<host-1>\pipe, <host-1>.example, NODE-77)");
  EXPECT_EQ(masks.Apply("an Müller, Müllerin"), "an <user-1>, Müllerin");
  EXPECT_EQ(masks.Apply(R"({"a": "1\r\nnode-7"})"), R"({"a": "1\r\n<host-1>"})");
  EXPECT_EQ(masks.Apply("serial AB12 &CD'34, AB12, XAB12"), "serial <serial-1>, <serial-2>, XAB12");
  EXPECT_EQ(masks.Apply(R"("AB12 \u0026CD\u002734")"), R"("<serial-1>")");
  EXPECT_EQ(masks.Apply("naa600224807FB01D5"), "naa<id-1>5");
}

TEST(RedactorTest, ValuesThatIdentifyNothingAreNotMasked) {
  Redactor masks;
  for (const char* value : {"Administrator", "Guest", "DefaultAccount", "WDAGUtilityAccount",
                            "ContainerUser", "None", "0000000000", "SYSTEM", "ab"}) {
    masks.AddSecret("user", value);
  }
  const std::string text = "an Administrator may make 0000000000 None SYSTEM ab, Guest";
  EXPECT_EQ(masks.Apply(text), text);
}

TEST(RedactorTest, AnOrdinaryWordIsMaskedOnlyInPlaceOfAName) {
  Redactor masks;
  masks.AddSecret("user", "test");
  masks.AddSecret("host", "node");
  const std::string text = "a test of the node, csi-node-check and test.txt; a \"test run\"";
  EXPECT_EQ(masks.Apply(text), text);
  EXPECT_EQ(masks.Apply(R"(C:\Users\Test\x NODE\test me@node)"),
            R"(C:\Users\<user-1>\x <host-1>\<user-1> me@<host-1>)");
  EXPECT_EQ(masks.Apply("UserName : test\nHost=node\n\"test\": 1"),
            "UserName : <user-1>\nHost=<host-1>\n\"<user-1>\": 1");
  EXPECT_EQ(masks.Apply("test"), "<user-1>");
}

TEST(RedactorTest, SidsVolumeIdsIqnsAndAddressesAreMaskedByTheirForm) {
  Redactor masks;
  EXPECT_EQ(masks.Apply("S-1-5-21-1-2-3-500 S-1-5-18 S-1-5-32-544 s-1-5-21-1-2-3-500."),
            "<sid-1> S-1-5-18 S-1-5-32-544 <sid-1>.");
  EXPECT_EQ(masks.Apply(R"(\\?\Volume{B20FED54-0000-0000-0000-100000000000}\ volume{b20fed54-0000-)"
                        R"(0000-0000-100000000000} {B20FED54-0000-0000-0000-100000000000})"),
            R"(\\?\Volume{<volume-1>}\ volume{<volume-1>} )"
            R"({B20FED54-0000-0000-0000-100000000000})");
  EXPECT_EQ(masks.Apply("iqn.1991-05.com.microsoft:a (IQN.1991-05.com.microsoft:A) iqn.of eui."
                        "0123456789ABCDEF"),
            "<iqn-1> (<iqn-1>) iqn.of <iqn-2>");
  EXPECT_EQ(masks.Apply("10.1.2.3:445, 127.0.0.1, 0.0.0.0, 10.1.2.3."),
            "<ip-1>:445, 127.0.0.1, 0.0.0.0, <ip-1>.");
  EXPECT_EQ(masks.Apply("fe80::1%4 [::1] 12:34:56 2001:db8::2 std::dead"),
            "<ip-2> [::1] 12:34:56 <ip-3> std::dead");
  EXPECT_EQ(masks.Apply("::ffff:10.0.0.9"), "<ip-4>");
  EXPECT_EQ(masks.Apply("build 10.0.20348.2113, gRPC 1.51.1, 00-15-5D-01-02-03"),
            "build 10.0.20348.2113, gRPC 1.51.1, <mac-1>");
  EXPECT_EQ(masks.Apply(masks.Apply("10.1.2.3")), "<ip-1>");
}

constexpr char kList[] = R"(# Doubts
| | claim | source | rests on it | shown by | where | if it is false |
|---|---|---|---|---|---|---|
| 1 | The `claim` of [a page](https://a). | [p](https://a) | `A` | `one`, `selftest/mount` | - | `x` |
| 2 | Two. | no page | `A` | `two`, `one` | - | x |
| 3 | Three. | no page | `A` | `three` | - | x |
| 4 | Four. | no page | `A` | `one`, `absent` | - | x |
| 5 | Five. | no page | `A` | no run: a reason | - | x |
| 15 | Fifteen. | no page | `A` | `one` | - | x |
)";

NodeReport SomeReport() {
  NodeReport report;
  const auto add = [&](const char* name, const char* result, const char* detail) {
    Part& part = *report.add_parts();
    part.set_name(name);
    part.set_result(result);
    part.set_detail(detail);
  };
  add("one", "OK", "as it is");
  add("two", "FAILED", "not so");
  add("three", "ERROR", "there is no command Get-Disk");
  add("four", "SKIPPED", "");
  selftest::StepReport& step = *report.mutable_selftest()->add_steps();
  step.set_name("mount");
  step.set_result(selftest::OK);
  diagnose::FallbackTaken& taken = *report.mutable_diagnosis()->add_fallbacks();
  taken.set_fallback("open-repeated");
  taken.set_times(3);
  taken.set_doubt(15);
  return report;
}

TEST(ReportTest, OnlyAFailedPartOrAFallbackContradictsADoubt) {
  NodeReport report = SomeReport();
  const std::vector<Doubt> doubts = ReadDoubts(kList);
  ASSERT_THAT(doubts, SizeIs(6));
  EXPECT_EQ(doubts[0].claim, "The claim of a page.");
  EXPECT_THAT(doubts[0].shown_by, ElementsAre("one", "selftest/mount"));
  Judge(doubts, &report);
  std::vector<std::string> settled;
  for (const DoubtReport& doubt : report.doubts()) settled.push_back(doubt.settled());
  EXPECT_THAT(settled, ElementsAre("yes", "otherwise than expected", "no", "in part", "no",
                                   "otherwise than expected"));
  EXPECT_EQ(report.doubts(1).did(), "two: FAILED not so; one: OK as it is");
  EXPECT_EQ(report.doubts(3).did(), "one: OK as it is; absent: did not run");
  EXPECT_EQ(report.doubts(4).did(), "no part shows it");
  EXPECT_THAT(report.doubts(5).did(), HasSubstr("fallback open-repeated: taken 3 times"));
  EXPECT_EQ(report.summary(), "1 passed, 1 failed, 1 did not come to their end, 1 skipped");
}

TEST(ReportTest, TheHeadingNamesThePartsInWhichTheServiceEnded) {
  NodeReport report = SomeReport();
  EXPECT_THAT(ToMarkdown(report), StartsWith("# CSI Proxy on a node\n"));
  report.add_ended_in("mbr");
  report.add_ended_in("refs");
  EXPECT_THAT(ToMarkdown(report),
              StartsWith("# CSI Proxy on a node: the service's process ended during the part mbr, "
                         "and again during the part refs\n"));
}

TEST(ReportTest, PartsThatWereNotReachedAndStepsThatFailedAreCountedOnce) {
  NodeReport report;
  for (const char* name : {"late", "later", "selftest/bios"}) {
    Part& part = *report.add_parts();
    part.set_name(name);
    part.set_result(report.parts_size() == 3 ? "FAILED" : "NOT REACHED");
    part.set_detail("one\n  two");
  }
  for (const char* name : {"bios", "disk"}) {
    selftest::StepReport& step = *report.mutable_selftest()->add_steps();
    step.set_name(name);
    step.set_result(name[0] == 'b' ? selftest::FAILED : selftest::OK);
  }
  Judge({{.number = 1, .claim = "", .shown_by = {"late", "selftest/bios"}}}, &report);
  EXPECT_EQ(report.summary(),
            "0 passed, 1 failed, 0 did not come to their end, 0 skipped, 2 not reached");
  EXPECT_EQ(report.doubts(0).did(), "late: NOT REACHED one two; selftest/bios: FAILED one two");
  const std::string text = ToMarkdown(report);
  EXPECT_EQ(text.find("| selftest/bios |"), text.rfind("| selftest/bios |"));
  EXPECT_THAT(text, HasSubstr("| selftest/disk | OK |"));
}

TEST(ReportTest, TheReportListsTheTypesOfWmiProperties) {
  NodeReport report;
  Fact& fact = *report.add_facts();
  fact.set_name("WMI MSFT_Disk");
  fact.set_value("Number UInt32 2\nAccessPaths StringArray C:\\a, C:\\b c\nGuid String\n");
  report.add_facts()->set_name("disks in WMI");
  EXPECT_THAT(
      ToMarkdown(report),
      HasSubstr("| MSFT\\_Disk | Number UInt32, AccessPaths StringArray, Guid String |\n\n"));
}

TEST(ReportTest, EveryTextIsMaskedAndFreeOfControlCharacters) {
  NodeReport report = SomeReport();
  Secret& secret = *report.add_secrets();
  secret.set_kind("host");
  secret.set_value("winnode-7");
  report.set_about("WINNODE-7");
  report.mutable_parts(0)->set_detail(std::string("letter \0 \x1b[2J of winnode-7\r\n", 29));
  report.mutable_selftest()->mutable_steps(0)->set_detail("10.0.0.9");
  report.mutable_selftest()->mutable_steps(0)->add_rpcs("a.B");
  EXPECT_EQ(ProtectText(true, report, "at winnode-7\r\n"), "at <host-1>\n");
  EXPECT_EQ(ProtectText(false, report, "at winnode-7\r\n"), "at winnode-7\n");
  Protect(true, &report);
  EXPECT_EQ(report.secrets_size(), 0);
  EXPECT_EQ(report.about(), "<host-1>");
  EXPECT_EQ(report.parts(0).detail(), "letter  [2J of <host-1>\n");
  EXPECT_EQ(report.selftest().steps(0).detail(), "<ip-1>");
  EXPECT_EQ(report.selftest().steps(0).rpcs(0), "a.B");
}

TEST(ReportTest, TheIssueTextIsBoundedAndCutsNoTable) {
  for (const std::string unit : {"x", "a|b`c ", "ä😀 ", "<volume-12> ", "\n"}) {
    NodeReport report;
    std::string detail;
    while (detail.size() < 20'000) detail += unit;
    for (int i = 0; i < 80; ++i) {
      Part& part = *report.add_parts();
      part.set_name(absl::StrCat("part", i));
      part.set_result("OK");
      part.set_detail(detail);
      DoubtReport& doubt = *report.add_doubts();
      doubt.set_number(i);
      doubt.set_expected(detail);
      doubt.set_did(detail);
    }
    const std::string text = ToMarkdown(report);
    EXPECT_LE(text.size(), 60'000u) << unit;
    for (int i = 0; i < 80; ++i) {
      EXPECT_THAT(text, HasSubstr(absl::StrCat("\n| part", i, " | OK | "))) << unit;
      EXPECT_THAT(text, HasSubstr(absl::StrCat("\n| ", i, " | "))) << unit;
    }
  }
  NodeReport report;
  Part& part = *report.add_parts();
  part.set_name("p");
  part.set_result("FAILED");
  part.set_detail("a|b\n<host-1> @someone `*_");
  EXPECT_THAT(ToMarkdown(report),
              HasSubstr(R"(| p | FAILED | a\|b &lt;host-1&gt; &#64;someone \`\*\_ |)"));
  // A mask is cut as a whole.
  report.mutable_parts(0)->set_detail(std::string(590, 'y') + "<volume-1><volume-2>");
  EXPECT_THAT(ToMarkdown(report), Not(HasSubstr("volume")));
}

}  // namespace
}  // namespace csi_proxy::ctl::report
