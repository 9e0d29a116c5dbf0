#include "server/observability/logging.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "csi_proxy/log_function.h"
#include "server/base/fallbacks.h"
#include "server/calls/request_fields.h"
#include "server/observability/call_log.h"
#include "server/observability/log_testing.h"
#include "server/observability/loggers.h"

namespace csi_proxy::observability {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

class LoggingTest : public testing::Test {
 protected:
  LoggingTest() {
    options_.to_stderr = false;
    options_.skip_file_headers = true;
    options_.file = (std::filesystem::path(testing::TempDir()) /
                     testing::UnitTest::GetInstance()->current_test_info()->name())
                        .string();
    std::filesystem::remove(options_.file);
  }
  ~LoggingTest() override {
    spdlog::shutdown();
    EXPECT_TRUE(InitLogging({}).ok());
    std::filesystem::remove(options_.file);
  }

  std::vector<std::string> Lines() const {
    spdlog::default_logger()->flush();
    std::ifstream file(options_.file);
    std::ostringstream text;
    text << file.rdbuf();
    return absl::StrSplit(text.str(), '\n', absl::SkipEmpty());
  }

  void Audit(absl::Status status) {
    const Peer peer{.process_id = 4242, .image_path = R"(C:\driver "x".exe)"};
    const CallContext context = CallContext().From(&peer, "csi-proxy-volume-v1").Traced(trace_);
    SpdlogAuditSink(spdlog::get(kAuditLogger), options_.format)
        .Record({"MountVolume", R"(volume_id="v" target_path="C:\\t")", context, std::move(status),
                 absl::Milliseconds(12)});
  }

  LogOptions options_;
  absl::string_view trace_;
};

// Returns the context of a call of `peer`, which must outlive it.
CallContext CallOf(const Peer& peer) { return CallContext().From(&peer, "csi-proxy-volume-v1"); }

google::protobuf::Struct Json(const std::string& line) {
  google::protobuf::Struct parsed;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &parsed).ok()) << line;
  return parsed;
}

TEST_F(LoggingTest, GlogParsersCanReadTheLinesOfEveryLogger) {
  options_.verbosity = 4;
  ASSERT_TRUE(InitLogging(options_).ok());
  Log(*spdlog::get(kServiceLogger), spdlog::level::warn, "hello");
  spdlog::error("a writer without a place");
  Audit(absl::OkStatus());
  CallLog(spdlog::get(kCallLogger))
      .OnDone({"disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"}, {},
              absl::OkStatus(), absl::Milliseconds(1));
  RecordFallback(Fallback::kMountDirectoryLetGo, "error 32");
  Log(*spdlog::get(kCallLogger), spdlog::level::trace, "details");
  testing::internal::CaptureStderr();
  LogToStderr(Severity::kWarning, "a\nlibrary");
  std::vector<std::string> lines = Lines();
  for (absl::string_view line :
       absl::StrSplit(testing::internal::GetCapturedStderr(), '\n', absl::SkipEmpty())) {
    lines.emplace_back(line);
  }
  const char* const kExpected[][2] = {{"W", " logging_test.cc:"}, {"E", " ???:1] a writer"},
                                      {"I", " call_log.cc:"},     {"I", " call_log.cc:"},
                                      {"I", " logging.cc:"},      {"I", " logging_test.cc:"},
                                      {"W", " logging_test.cc:"}};
  ASSERT_THAT(lines, SizeIs(std::size(kExpected)));
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(GlogReads(lines[i])) << lines[i];
    EXPECT_THAT(lines[i],
                testing::AllOf(testing::StartsWith(kExpected[i][0]), HasSubstr(kExpected[i][1])));
  }
}

TEST_F(LoggingTest, HeaderFlagsActAsInKlog) {
  const std::string folder = " observability/logging_test.cc:";
  for (const bool skip : {true, false}) {
    options_.skip_headers = skip;
    options_.add_dir_header = true;
    ASSERT_TRUE(InitLogging(options_).ok());
    Log(*spdlog::get(kServiceLogger), spdlog::level::info, "hello");
    EXPECT_THAT(Lines().back(), skip ? testing::Matcher<std::string>("hello")
                                     : testing::AllOf(HasSubstr(folder), EndsWith("] hello")));
  }
}

// Compilers on Windows name a source file with backslashes.
TEST_F(LoggingTest, HeadersNameTheSourceFileWithoutItsPath) {
  for (const char* separator : {"/", "\\"}) {
    const std::string path = absl::StrCat("C:", separator, "src", separator, "a.cc");
    for (const bool directory : {false, true}) {
      options_.add_dir_header = directory;
      ASSERT_TRUE(InitLogging(options_).ok());
      Log(*spdlog::get(kServiceLogger), spdlog::level::info, LogText("hello", path.c_str(), 7));
      const std::string folder = directory ? absl::StrCat("src", separator) : "";
      EXPECT_THAT(Lines().back(), EndsWith(absl::StrCat(" ", folder, "a.cc:7] hello")));
    }
  }
}

TEST_F(LoggingTest, AnyTextIsWrittenAsOneLine) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    options_.format = format;
    ASSERT_TRUE(InitLogging(options_).ok());
    spdlog::warn("C:\\a\nI forged\u009b2K\u202e\xff");
    ASSERT_THAT(Lines(), SizeIs(1));
    EXPECT_THAT(Lines()[0], HasSubstr("\\nI forged"));
    EXPECT_THAT(Lines()[0], HasSubstr("\\u009b2K"));
    EXPECT_THAT(Lines()[0], HasSubstr("\\u202e\uFFFD"));
    // Windows cannot remove an open file.
    spdlog::shutdown();
    ASSERT_TRUE(InitLogging({}).ok());
    std::filesystem::remove(options_.file);
  }
  std::string handed_over;
  NewFunctionLogger([&](auto, absl::string_view line) {
    handed_over = std::string(line);
  })->info("a\nb\u0085");
  EXPECT_EQ(handed_over, "a\\nb\\u0085");
}

// A pod that could write to the event log would push out the entries of other programs.
TEST_F(LoggingTest, TheEventLogGetsOnlyEscapedLinesOfTheServiceItself) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    std::ostringstream event_log;
    options_.format = format;
    options_.verbosity = 9;
    ASSERT_TRUE(
        InitLogging(options_, std::make_shared<spdlog::sinks::ostream_sink_mt>(event_log)).ok());
    spdlog::warn("the mapped share of a client");
    RecordFallback(Fallback::kMountDirectoryLetGo, "error 32");
    Audit(absl::InternalError("x"));
    CallLog(spdlog::get(kCallLogger))
        .OnDone({"disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"}, {},
                absl::InternalError("x"), absl::Milliseconds(1));
    EXPECT_THAT(Lines(), SizeIs(4));
    EXPECT_EQ(event_log.str(), "");
    spdlog::get(kServiceLogger)->error("cannot start: a\nb\u202e");
    EXPECT_THAT(event_log.str(), EndsWith("] cannot start: a\\nb\\u202e\n"));
    EXPECT_THAT(Lines(), SizeIs(5));
    spdlog::shutdown();
    ASSERT_TRUE(InitLogging({}).ok());
    std::filesystem::remove(options_.file);
  }
}

TEST_F(LoggingTest, JsonLinesAreValidJson) {
  options_.format = LogFormat::kJson;
  ASSERT_TRUE(InitLogging(options_).ok());
  spdlog::warn("a \"quoted\"\nline");
  ASSERT_THAT(Lines(), SizeIs(1));
  const auto line = Json(Lines()[0]);
  EXPECT_EQ(line.fields().at("severity").string_value(), "warning");
  EXPECT_EQ(line.fields().at("message").string_value(), "a \\\"quoted\\\"\\nline");
}

TEST_F(LoggingTest, AnAuditLineNamesClientCallAndResult) {
  ASSERT_TRUE(InitLogging(options_).ok());
  Audit(absl::NotFoundError("gone"));
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_THAT(Lines()[0], HasSubstr(R"(audit pipe=csi-proxy-volume-v1 method=MountVolume pid=4242 )"
                                    R"(image="C:\\driver \"x\".exe" code=NOT_FOUND ms=12.000 )"
                                    R"(volume_id="v" target_path="C:\\t")"));
}

TEST_F(LoggingTest, AJsonAuditLineHasAFieldForEachFact) {
  options_.format = LogFormat::kJson;
  ASSERT_TRUE(InitLogging(options_).ok());
  Audit(absl::OkStatus());
  ASSERT_THAT(Lines(), SizeIs(1));
  const auto audit = Json(Lines()[0]).fields().at("audit").struct_value();
  EXPECT_EQ(audit.fields().at("pipe").string_value(), "csi-proxy-volume-v1");
  EXPECT_EQ(audit.fields().at("method").string_value(), "MountVolume");
  EXPECT_EQ(audit.fields().at("code").string_value(), "OK");
  EXPECT_EQ(audit.fields().at("duration_milliseconds").number_value(), 12);
  EXPECT_EQ(audit.fields().at("peer_process_id").string_value(), "4242");
  EXPECT_EQ(audit.fields().at("subject").string_value(), R"(volume_id="v" target_path="C:\\t")");
}

TEST_F(LoggingTest, LogLinesOfACallContainItsTrace) {
  trace_ = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  ASSERT_TRUE(InitLogging(options_).ok());
  Audit(absl::OkStatus());
  CallLog(spdlog::get(kCallLogger))
      .OnDone({"disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"},
              CallContext().Traced(trace_), absl::InternalError("x"), absl::Milliseconds(1));
  ASSERT_THAT(Lines(), SizeIs(2));
  constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
  EXPECT_THAT(Lines()[0], HasSubstr(absl::StrCat(" ms=12.000 trace=", kTrace, " volume_id=")));
  EXPECT_THAT(Lines()[1], HasSubstr(absl::StrCat(" ms=1.000 trace=", kTrace, " x")));
  const CallContext context = CallContext().Traced(trace_);
  const std::string line = JsonLine(absl::Now(), {"Rescan", "", context, absl::OkStatus(), {}});
  const auto audit = Json(line).fields().at("audit").struct_value();
  EXPECT_EQ(audit.fields().at("trace").string_value(), kTrace);
}

// The audit line names the field. Five calls with an unknown field are audited in a minute; further
// calls are counted.
TEST_F(LoggingTest, ACallRefusedForAnUnknownFieldIsAudited) {
  ASSERT_TRUE(InitLogging(options_).ok());
  constexpr rpc::MethodInfo kFormat{"volume",
                                    "v1",
                                    "v1.Volume",
                                    "FormatVolume",
                                    "csi-proxy-volume-v1",
                                    "/v1.Volume/FormatVolume"};
  google::protobuf::Struct message;
  ASSERT_TRUE(message.ParseFromString("\xfb\x01\xfc\x01"));
  const absl::Status refused = rpc::CheckKnownFields(message);
  const Peer peer{.process_id = 4242, .image_path = R"(C:\fork.exe)"};
  {
    SpdlogAuditSink sink(spdlog::get(kAuditLogger), LogFormat::kText);
    CallLog audit(nullptr, &sink);
    audit.OnDone(kFormat, CallOf(peer), absl::OkStatus(), absl::Milliseconds(1));
    audit.OnDone(kFormat, CallOf(peer), absl::InvalidArgumentError("volume_id"),
                 absl::Milliseconds(1));
    for (int i = 0; i < 7; ++i) audit.OnDone(kFormat, CallOf(peer), refused, absl::Milliseconds(1));
  }
  ASSERT_THAT(Lines(), SizeIs(6));
  EXPECT_THAT(Lines()[0],
              HasSubstr(R"(audit pipe=csi-proxy-volume-v1 method=FormatVolume pid=4242 )"
                        R"(image="C:\\fork.exe" code=INVALID_ARGUMENT ms=1.000 )"
                        R"(unknown_field="google.protobuf.Struct.31")"));
  EXPECT_THAT(Lines()[5], HasSubstr("2 more such calls were refused"));
}

TEST(LoggersTest, CallLogAndAuditSinkAcceptANullLogger) {
  constexpr rpc::MethodInfo kMethod{
      "disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"};
  CallLog(nullptr).OnDone(kMethod, {}, absl::InternalError("failed"), absl::Milliseconds(1));
  SpdlogAuditSink(nullptr, LogFormat::kText)
      .Record({"Rescan", "", CallContext(), absl::OkStatus(), absl::Milliseconds(1)});
}

TEST_F(LoggingTest, TheVerbosityDecidesWhichCallsAreLogged) {
  constexpr rpc::MethodInfo kMethod{
      "disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"};
  ASSERT_TRUE(InitLogging(options_).ok());
  CallLog(spdlog::get(kCallLogger)).OnDone(kMethod, {}, absl::OkStatus(), absl::Milliseconds(1));
  EXPECT_THAT(Lines(), SizeIs(0));
  CallLog(spdlog::get(kCallLogger))
      .OnDone(kMethod, {}, absl::InternalError("a\nforged line"), absl::Milliseconds(1));
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_THAT(Lines()[0], HasSubstr("a\\nforged line"));
  options_.verbosity = 2;
  ASSERT_TRUE(InitLogging(options_).ok());
  CallLog(spdlog::get(kCallLogger)).OnDone(kMethod, {}, absl::OkStatus(), absl::Milliseconds(1));
  EXPECT_THAT(Lines(), SizeIs(2));
}

TEST_F(LoggingTest, FallbacksAreLoggedFromVerbosity2) {
  ASSERT_TRUE(InitLogging(options_).ok());
  RecordFallback(Fallback::kMountDirectoryLetGo, "error 32");
  EXPECT_THAT(Lines(), SizeIs(0));
  options_.verbosity = 2;
  ASSERT_TRUE(InitLogging(options_).ok());
  RecordFallback(Fallback::kMountDirectoryLetGo, "error \"32\"\n" + std::string(9999, 'x'));
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_THAT(Lines()[0],
              HasSubstr(R"(] fallback=mount-directory-let-go doubt=8 why="error \"32\"\nxx)"));
  EXPECT_LT(Lines()[0].size(), 1000);
}

TEST_F(LoggingTest, RepeatedFailuresOfAClientAreCountedInOneLine) {
  constexpr rpc::MethodInfo kMethod{
      "disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"};
  ASSERT_TRUE(InitLogging(options_).ok());
  {
    CallLog log(spdlog::get(kCallLogger));
    const Peer greedy{.process_id = 7, .image_path = "greedy"};
    const Peer honest{.process_id = 8, .image_path = "honest"};
    for (int i = 0; i < 10'000; ++i) {
      log.OnDone(kMethod, CallOf(greedy), absl::InvalidArgumentError(std::string(100'000, 'x')),
                 absl::Milliseconds(1));
    }
    EXPECT_THAT(Lines(), SizeIs(5));
    for (const std::string& line : Lines()) EXPECT_THAT(line, SizeIs(testing::Lt(1500u)));
    log.OnDone(kMethod, CallOf(honest), absl::InvalidArgumentError("once"), absl::Milliseconds(1));
    EXPECT_THAT(Lines().back(), HasSubstr("once"));
  }
  EXPECT_THAT(Lines(), SizeIs(7));
  EXPECT_THAT(Lines().back(),
              HasSubstr("/v1.Disk/Rescan pid=7 image=\"greedy\" code=INVALID_ARGUMENT: 9995 more"));
}

TEST_F(LoggingTest, AtVerbosity2RepeatedFailuresAreAllLogged) {
  constexpr rpc::MethodInfo kMethod{
      "disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"};
  options_.verbosity = 2;
  ASSERT_TRUE(InitLogging(options_).ok());
  CallLog log(spdlog::get(kCallLogger));
  for (int i = 0; i < 100; ++i) {
    log.OnDone(kMethod, {}, absl::InvalidArgumentError("x"), absl::Milliseconds(1));
  }
  EXPECT_THAT(Lines(), SizeIs(100));
}

TEST_F(LoggingTest, TheAuditLogRecordsEveryCallThatMayHaveChangedTheNode) {
  ASSERT_TRUE(InitLogging(options_).ok());
  const Peer peer{.process_id = 7, .image_path = "driver"};
  const CallContext context(absl::InfiniteFuture(), nullptr, &peer, "csi-proxy-disk-v1");
  {
    SpdlogAuditSink audit(spdlog::get(kAuditLogger), LogFormat::kText);
    for (const absl::Status& status : {absl::OkStatus(), absl::InternalError(""),
                                       absl::NotFoundError(""), absl::PermissionDeniedError("")}) {
      for (int i = 0; i < 100; ++i) audit.Record({"Rescan", "", context, status, {}});
    }
    EXPECT_THAT(Lines(), SizeIs(400));
    for (int i = 0; i < 100; ++i) {
      audit.Record({"Rescan", "", context, absl::InvalidArgumentError(""), {}});
    }
    EXPECT_THAT(Lines(), SizeIs(405));
  }
  ASSERT_THAT(Lines(), SizeIs(406));
  EXPECT_THAT(Lines().back(), HasSubstr("audit method=Rescan pid=7 image=\"driver\" "
                                        "code=INVALID_ARGUMENT: 95 more such calls"));
}

// 17 processes of one tenant make calls of 300 methods.
TEST_F(LoggingTest, AClientCannotSuppressLinesAboutAnotherClient) {
  constexpr rpc::MethodInfo kMethod{
      "disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"};
  ASSERT_TRUE(InitLogging(options_).ok());
  SpdlogAuditSink audit(spdlog::get(kAuditLogger), LogFormat::kText);
  CallLog log(spdlog::get(kCallLogger));
  const auto refuse = [&](const Peer& peer, const char* method, const absl::Status& status) {
    const CallContext context(absl::InfiniteFuture(), nullptr, &peer, "csi-proxy-disk-v1");
    audit.Record({method, "", context, status, {}});
    log.OnDone(kMethod, CallOf(peer), status, {});
  };
  static constexpr char kMethods[300] = {};
  for (int64_t process = 100; process < 117; ++process) {
    const Peer attacker{.process_id = process, .image_path = "attacker", .tenant = "a"};
    for (const char& method : kMethods) refuse(attacker, &method, absl::InvalidArgumentError(""));
  }
  const size_t before = Lines().size();
  EXPECT_LT(before, 500u);
  refuse({.process_id = 100, .image_path = "attacker", .tenant = "a"}, "Rmdir",
         absl::PermissionDeniedError("escape"));
  refuse({.process_id = 7, .image_path = "victim", .tenant = "v"}, "Rmdir",
         absl::InvalidArgumentError("once"));
  EXPECT_THAT(Lines(), SizeIs(before + 4));
}

TEST_F(LoggingTest, AuditLinesAreFlushedImmediatelyAndCallLinesWithinSeconds) {
  constexpr rpc::MethodInfo kMethod{
      "disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"};
  ASSERT_TRUE(InitLogging(options_).ok());
  const auto on_disk = [&] { return std::filesystem::file_size(options_.file); };
  Audit(absl::OkStatus());
  const uintmax_t audited = on_disk();
  EXPECT_GT(audited, 0u);
  CallLog(spdlog::get(kCallLogger))
      .OnDone(kMethod, {}, absl::InternalError("x"), absl::Milliseconds(1));
  for (int i = 0; i < 500 && on_disk() == audited; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_GT(on_disk(), audited);
}

TEST_F(LoggingTest, EachTenantAtItsConnectionLimitIsLoggedOnce) {
  ASSERT_TRUE(InitLogging(options_).ok());
  CallLog log(spdlog::get(kCallLogger));
  const Peer peer{.process_id = 7, .image_path = R"(C:\bin\greedy.exe)"};
  for (uint64_t times = 1; times <= 10'000; ++times) {
    log.OnLimit(peer, rpc::Limit::kConnections, times);
  }
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_THAT(Lines()[0],
              HasSubstr("pid=7 image=\"greedy.exe\" has used its share of connections"));
  log.OnLimit({.process_id = 8, .image_path = "", .tenant = "other"}, rpc::Limit::kConnections, 1);
  EXPECT_THAT(Lines().back(), HasSubstr("pid=8 "));
}

// A client that starts a process for each of its calls is one tenant.
TEST_F(LoggingTest, CallsBeyondATenantsLimitAreLoggedInOneLine) {
  constexpr rpc::MethodInfo kMethod{
      "disk", "v1", "v1.Disk", "Rescan", "csi-proxy-disk-v1", "/v1.Disk/Rescan"};
  ASSERT_TRUE(InitLogging(options_).ok());
  CallLog log(spdlog::get(kCallLogger));
  for (int64_t process = 1; process <= 300; ++process) {
    const Peer peer{.process_id = process, .image_path = "greedy", .tenant = "a"};
    log.OnLimit(peer, rpc::Limit::kCalls, 1);
    log.OnDone(kMethod, CallOf(peer), absl::ResourceExhaustedError("288 calls"), {});
  }
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_THAT(Lines()[0],
              HasSubstr("disk/v1 Rescan pid=1 image=\"greedy\" code=RESOURCE_EXHAUSTED"));
}

TEST_F(LoggingTest, AFullLogFileIsRotatedAndTheNewOneHasKlogsHeader) {
  options_.file_max_megabytes = 1;
  options_.skip_file_headers = false;
  ASSERT_TRUE(InitLogging(options_).ok());
  const std::string long_line(4096, 'x');
  for (int i = 0; i < 300; ++i) spdlog::info("{}", long_line);
  spdlog::default_logger()->flush();
  const std::string rotated = options_.file + ".1";
  EXPECT_LE(std::filesystem::file_size(options_.file), 1u << 20);
  for (const std::string& file : {rotated, options_.file}) {
    std::string text(1000, '\0');
    std::ifstream(file).read(text.data(), 1000);
    EXPECT_TRUE(std::regex_search(
        text, std::regex(
                  R"(^Log file created at: \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\n)"
                  R"(Running on machine: [^.\n]+\nBinary: Built with \w+ [\d.]+ for \w+/\w+\n)"
                  R"(Log line format: \[IWEF\]mmdd hh:mm:ss\.uuuuuu threadid file:line\] msg\nI)")))
        << text;
  }
  std::filesystem::remove(rotated);
}

// On Windows nobody can rename a file that another program has open without FILE_SHARE_DELETE. A
// folder that is not empty cannot be replaced either.
class HeldLogFileTest : public LoggingTest {
 protected:
  HeldLogFileTest() {
    options_.file_max_megabytes = 1;
    EXPECT_TRUE(InitLogging(options_).ok());
    for (int i = 1; i <= 5; ++i) std::filesystem::create_directory(OldFile(i));
    std::ofstream(OldFile(5) + "/held");
  }
  ~HeldLogFileTest() override {
    for (int i = 1; i <= 5; ++i) std::filesystem::remove_all(OldFile(i));
  }

  std::string OldFile(int i) const { return absl::StrCat(options_.file, ".", i); }
  static void WriteMegabyte(absl::string_view first) {
    spdlog::info("{}", std::string(first));
    for (int i = 0; i < 256; ++i) spdlog::info("{}", std::string(4096, 'x'));
  }
};

TEST_F(HeldLogFileTest, AFullLogFileThatCannotBeRenamedKeepsItsLines) {
  WriteMegabyte("first");
  WriteMegabyte("second");
  for (const char* end : {"] first", "] second", "the service empties it."}) {
    EXPECT_THAT(Lines(), testing::Contains(EndsWith(end)).Times(1));
  }
  std::filesystem::remove_all(OldFile(5));
  WriteMegabyte("third");
  EXPECT_THAT(Lines(), testing::Not(testing::Contains(EndsWith("] first"))));
  options_.file = OldFile(1);
  EXPECT_THAT(Lines(), testing::Contains(EndsWith("] first"))) << "it was renamed later";
  options_.file.resize(options_.file.size() - 2);
}

TEST_F(HeldLogFileTest, ALogFileThatCannotBeRenamedDoesNotGrowForever) {
  for (int i = 0; i < 20; ++i) WriteMegabyte("");
  EXPECT_LE(std::filesystem::file_size(options_.file), 4u << 20);
}

// Each attempt to open the file takes 50 ms, in which every call that logs waits.
TEST_F(LoggingTest, ALogFileThatCannotBeReopenedIsNotTriedAtEachLine) {
  namespace fs = std::filesystem;
  const std::string folder = options_.file, away = folder + ".away";
  options_.file = folder + "/log";
  options_.file_max_megabytes = 1;
  bool was_tried = true;
  std::error_code not_renamed;
  // Tries again if more than a second passes before the next line.
  for (int i = 0; i < 20 && was_tried && !not_renamed; ++i) {
    ASSERT_TRUE(InitLogging(options_).ok());
    fs::rename(folder, away, not_renamed);
    if (not_renamed) break;
    std::ofstream(folder) << "a file is not a directory";
    for (int line = 0; line < 257; ++line) spdlog::info("{}", std::string(4096, 'x'));
    fs::remove(folder);
    spdlog::info("next");
    was_tried = fs::exists(options_.file);
    fs::remove_all(folder);
    fs::remove_all(away);
  }
  options_.file = folder;
  if (not_renamed) GTEST_SKIP() << "Windows renames no folder with an open file";
  EXPECT_FALSE(was_tried);
}

TEST_F(LoggingTest, ALogFileThatCannotBeOpenedIsAnError) {
  std::ofstream(options_.file) << "a file is not a directory";
  const std::string file = options_.file + "/csi-proxy.log";
  options_.file = file;
  const absl::Status status = InitLogging(options_);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(file));
  options_.file.resize(options_.file.rfind('/'));
}

}  // namespace
}  // namespace csi_proxy::observability
