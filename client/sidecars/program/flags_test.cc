#include "client/sidecars/program/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::HasSubstr;

// The flags that the releases define, each with a value.
constexpr const char* kLogFlags[] = {
    // glog in 1.0; klog in 1.1 to 2.11 of the registrar and to 2.12 of livenessprobe.
    "alsologtostderr=true", "log_backtrace_at=main.go:1", "log_dir=/logs", "logtostderr=true",
    "stderrthreshold=INFO", "v=5", "vmodule=main=2", "add_dir_header=true", "log_file=/log",
    "log_file_max_size=10", "one_output=true", "skip_headers=true", "skip_log_headers=true",
    // k8s.io/component-base/logs in later releases.
    "logging-format=json", "log-flush-frequency=10s", "log-json-info-buffer-size=1Ki",
    "log-json-split-stream=true", "log-text-info-buffer-size=512", "log-text-split-stream=true"};
constexpr const char* kRegistrarFlags[] = {"connection-timeout=15s",
                                           "csi-address=/csi/csi.sock",
                                           "timeout=30s",
                                           "kubelet-registration-path=/plugins/x/csi.sock",
                                           "health-port=9809",
                                           "plugin-registration-path=/registration",
                                           "http-endpoint=:9809",
                                           "mode=kubelet-registration-probe",
                                           "enable-pprof=true",
                                           "version"};
constexpr const char* kProbeFlags[] = {
    "connection-timeout=15s", "csi-address=/csi/csi.sock", "probe-timeout=3s",   "health-port=9808",
    "metrics-address=:8080",  "metrics-path=/metrics",     "http-endpoint=:9808"};

absl::Status Read(const std::string& program, const std::string& argument) {
  const char* const argv[] = {program.c_str(), argument.c_str()};
  return Flags::Read(2, argv).status();
}

void ExpectTaken(const std::string& program, absl::string_view prefix, absl::string_view flag) {
  for (const absl::string_view dashes : {"-", "--"}) {
    const std::string argument = absl::StrCat(dashes, prefix, flag);
    const absl::Status status = Read(program, argument);
    EXPECT_TRUE(status.ok()) << program << " " << argument << ": " << status;
  }
}

TEST(FlagsTest, EveryFlagOfEveryUpstreamReleaseIsAccepted) {
  const auto check = [](const std::string& name, const std::string& component,
                        absl::Span<const char* const> flags) {
    for (const absl::string_view flag : flags) {
      ExpectTaken("/" + name, "", flag);
      ExpectTaken("/" + name, component + "-", flag);
      ExpectTaken("/csi-node-sidecars", component + "-", flag);
      if (!absl::StartsWith(flag, "health-port=")) ExpectTaken("/csi-node-sidecars", "", flag);
    }
  };
  check("csi-node-driver-registrar", "node-driver-registrar", kRegistrarFlags);
  check("csi-node-driver-registrar", "node-driver-registrar", kLogFlags);
  check("livenessprobe", "livenessprobe", kProbeFlags);
  check("livenessprobe", "livenessprobe", kLogFlags);
}

TEST(FlagsTest, EachDefaultIsAValidValueOfItsFlag) {
  for (const FlagRow& row : FlagTable()) {
    const GoFlag flag{std::string(row.name), std::string(row.default_value)};
    EXPECT_TRUE(CheckGoValue(flag, row.kind).ok()) << row.name;
  }
}

TEST(FlagsTest, APrefixedFlagAppliesToItsComponentOnly) {
  const char* const argv[] = {"x", "--livenessprobe-http-endpoint=:1", "--http-endpoint=:2",
                              "--node-driver-registrar-health-port=3"};
  const absl::StatusOr<Flags> flags = Flags::Read(4, argv);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->Text("http-endpoint", Component::kLivenessProbe), ":1");
  EXPECT_EQ(flags->Text("http-endpoint", Component::kRegistrar), ":2");
  EXPECT_EQ(flags->Text("health-port", Component::kLivenessProbe), "9808");
  EXPECT_EQ(flags->Text("health-port", Component::kRegistrar), "3");
  EXPECT_EQ(flags->Spelling("http-endpoint", Component::kRegistrar), "--http-endpoint");
  EXPECT_EQ(flags->Spelling("http-endpoint", Component::kLivenessProbe),
            "--livenessprobe-http-endpoint");
  EXPECT_EQ(flags->Spelling("health-port", Component::kLivenessProbe),
            "--livenessprobe-health-port");
}

TEST(FlagsTest, TheLastValueOfAFlagCountsAndMayBeEmpty) {
  const char* const argv[] = {"x", "-mode=a", "--mode", "b", "-csi-address=/s", "-csi-address="};
  const absl::StatusOr<Flags> flags = Flags::Read(6, argv);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->Text("mode", Component::kRegistrar), "b");
  EXPECT_EQ(flags->Text("csi-address", Component::kRegistrar), "");
}

TEST(FlagsTest, HelpNamesEveryFlag) {
  for (const FlagRow& row : FlagTable()) {
    EXPECT_THAT(FlagsHelp(), HasSubstr(absl::StrCat("--", row.name)));
  }
}

}  // namespace
}  // namespace csi_proxy::sidecars
