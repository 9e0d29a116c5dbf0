#include "client/sidecars/program/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kBoth[] = "/csi-node-sidecars";
constexpr char kRegistrarName[] = "/csi-node-driver-registrar";
constexpr char kProbeName[] = "/livenessprobe";
// The registrar requires this flag.
constexpr char kKubelet[] = "--kubelet-registration-path=/plugins/x/csi.sock";

absl::StatusOr<ProgramOptions> Parse(const std::string& program,
                                     const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {program.c_str()};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return ParseProgramOptions(static_cast<int>(argv.size()), argv.data());
}

ProgramOptions Parsed(const std::string& program, const std::vector<std::string>& arguments) {
  absl::StatusOr<ProgramOptions> options = Parse(program, arguments);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *std::move(options) : ProgramOptions();
}

RegistrarOptions RegistrarOf(const std::string& program, std::vector<std::string> arguments) {
  arguments.push_back(kKubelet);
  const ProgramOptions options = Parsed(program, arguments);
  EXPECT_TRUE(options.sidecars.registrar.has_value());
  return options.sidecars.registrar.value_or(RegistrarOptions());
}

LivenessProbeOptions ProbeOf(const std::string& program, std::vector<std::string> arguments) {
  if (program == kBoth) arguments.push_back(kKubelet);
  const ProgramOptions options = Parsed(program, arguments);
  EXPECT_TRUE(options.sidecars.livenessprobe.has_value());
  return options.sidecars.livenessprobe.value_or(LivenessProbeOptions());
}

TEST(ProgramOptionsTest, UnderTheRegistrarsNameOnlyTheRegistrarRuns) {
  for (const std::string program :
       {"/csi-node-driver-registrar", "csi-node-driver-registrar", "/bin/node-driver-registrar"}) {
    const ProgramOptions options = Parsed(program, {kKubelet});
    EXPECT_FALSE(options.sidecars.livenessprobe.has_value());
    ASSERT_TRUE(options.sidecars.registrar.has_value());
    const RegistrarOptions& registrar = *options.sidecars.registrar;
    EXPECT_EQ(options.sidecars.csi_address, "/run/csi/socket");
    EXPECT_EQ(options.sidecars.connect_timeout, absl::Seconds(30));
    EXPECT_EQ(registrar.kubelet_registration_path, "/plugins/x/csi.sock");
    EXPECT_EQ(registrar.plugin_registration_path, "/registration");
    EXPECT_EQ(registrar.timeout, absl::Seconds(1));
    EXPECT_EQ(registrar.marker_file, "/plugins/x/registration");
    EXPECT_EQ(registrar.http_endpoint, "");
    EXPECT_THAT(options.warnings, IsEmpty());
    EXPECT_FALSE(options.probe_registration);
  }
}

TEST(ProgramOptionsTest, UnderTheLivenessProbesNameOnlyTheLivenessProbeRuns) {
  const ProgramOptions options = Parsed(kProbeName, {});
  EXPECT_FALSE(options.sidecars.registrar.has_value());
  ASSERT_TRUE(options.sidecars.livenessprobe.has_value());
  const LivenessProbeOptions& probe = *options.sidecars.livenessprobe;
  EXPECT_EQ(options.sidecars.csi_address, "/run/csi/socket");
  EXPECT_EQ(options.sidecars.connect_timeout, absl::InfiniteDuration());
  EXPECT_EQ(probe.http_endpoint, "0.0.0.0:9808");
  EXPECT_EQ(probe.probe_timeout, absl::Seconds(3));
  EXPECT_EQ(probe.metrics_address, "");
  EXPECT_EQ(probe.metrics_path, "/metrics");
  // Without --http-endpoint there are no metrics at the address of /healthz.
  EXPECT_FALSE(probe.serve_metrics);
}

TEST(ProgramOptionsTest, BothSidecarsRunByDefault) {
  const ProgramOptions options = Parsed(kBoth, {kKubelet});
  ASSERT_TRUE(options.sidecars.registrar.has_value());
  ASSERT_TRUE(options.sidecars.livenessprobe.has_value());
  EXPECT_EQ(options.sidecars.registrar->http_endpoint, "");
  EXPECT_EQ(options.sidecars.livenessprobe->http_endpoint, "0.0.0.0:9808");
  EXPECT_EQ(options.sidecars.connect_timeout, absl::InfiniteDuration());
}

TEST(ProgramOptionsTest, TheSidecarsFlagSelectsTheComponentsThatRun) {
  ProgramOptions options = Parsed(kBoth, {"--health-port=9900", "--sidecars", "livenessprobe"});
  EXPECT_FALSE(options.sidecars.registrar.has_value());
  EXPECT_EQ(options.sidecars.livenessprobe->http_endpoint, "0.0.0.0:9900");

  options = Parsed(kBoth, {kKubelet, "--health-port=9900", "--sidecars=node-driver-registrar"});
  EXPECT_FALSE(options.sidecars.livenessprobe.has_value());
  EXPECT_EQ(options.sidecars.registrar->http_endpoint, ":9900");
  EXPECT_EQ(options.sidecars.connect_timeout, absl::Seconds(30));

  options = Parsed(kBoth, {kKubelet, "--sidecars=livenessprobe, node-driver-registrar"});
  EXPECT_TRUE(options.sidecars.registrar.has_value());
  EXPECT_TRUE(options.sidecars.livenessprobe.has_value());
}

#ifdef _WIN32
TEST(ProgramOptionsTest, TheProgramsNameIgnoresCaseAndExeOnWindows) {
  EXPECT_TRUE(Parsed(R"(C:\Livenessprobe.EXE)", {}).sidecars.livenessprobe.has_value());
  EXPECT_FALSE(
      Parsed(R"(C:\csi-node-driver-registrar.exe)", {kKubelet}).sidecars.livenessprobe.has_value());
}
#endif

TEST(ProgramOptionsTest, RegistrarFlagsSetItsOptions) {
  const struct {
    std::string flag;
    std::string RegistrarOptions::*field;
    std::string expected;
  } cases[] = {
      {"plugin-registration-path=/r", &RegistrarOptions::plugin_registration_path, "/r"},
      {"http-endpoint=:9809", &RegistrarOptions::http_endpoint, ":9809"},
      {"health-port=9809", &RegistrarOptions::http_endpoint, ":9809"},
      {"health-port=0x10", &RegistrarOptions::http_endpoint, ":16"},
      {"health-port=0", &RegistrarOptions::http_endpoint, ""},
      {"health-port=-1", &RegistrarOptions::http_endpoint, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.flag);
    EXPECT_EQ(RegistrarOf(kRegistrarName, {"--" + c.flag}).*c.field, c.expected);
    for (const std::string program : {kRegistrarName, kBoth}) {
      EXPECT_EQ(RegistrarOf(program, {"--node-driver-registrar-" + c.flag}).*c.field, c.expected);
    }
  }
  EXPECT_EQ(RegistrarOf(kRegistrarName, {"--timeout", "1m30s"}).timeout, absl::Seconds(90));
  for (const std::string program : {kRegistrarName, kBoth}) {
    const RegistrarOptions options =
        RegistrarOf(program, {"--registration-timeout=0", "--health-requires-registration"});
    EXPECT_EQ(options.registration_timeout, absl::ZeroDuration());
    EXPECT_TRUE(options.health_requires_registration);
    EXPECT_EQ(RegistrarOf(program, {}).registration_timeout, absl::Seconds(30));
    EXPECT_FALSE(RegistrarOf(program, {}).health_requires_registration);
  }
}

TEST(ProgramOptionsTest, LivenessProbeFlagsSetItsOptions) {
  const struct {
    std::string flag;
    std::string LivenessProbeOptions::*field;
    std::string expected;
    bool metrics;
  } cases[] = {
      {"health-port=9900", &LivenessProbeOptions::http_endpoint, "0.0.0.0:9900", false},
      {"http-endpoint=:9900", &LivenessProbeOptions::http_endpoint, ":9900", true},
      {"metrics-address=:9901", &LivenessProbeOptions::metrics_address, ":9901", true},
      {"metrics-path=/m", &LivenessProbeOptions::metrics_path, "/m", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.flag);
    for (const LivenessProbeOptions& probe :
         {ProbeOf(kProbeName, {"--" + c.flag}), ProbeOf(kProbeName, {"--livenessprobe-" + c.flag}),
          ProbeOf(kBoth, {"--livenessprobe-" + c.flag})}) {
      EXPECT_EQ(probe.*c.field, c.expected);
      EXPECT_EQ(probe.serve_metrics, c.metrics);
    }
  }
  // The default port is allowed together with an address.
  EXPECT_EQ(ProbeOf(kProbeName, {"--health-port=9808", "--http-endpoint=:1"}).http_endpoint, ":1");
  EXPECT_EQ(ProbeOf(kProbeName, {"--probe-timeout=500ms"}).probe_timeout, absl::Milliseconds(500));
}

TEST(ProgramOptionsTest, CommonFlagsConfigureBothSidecarsAndPrefixedFlagsOnlyOne) {
  const std::vector<std::string> common = {"--http-endpoint=:9900", "--timeout=5s"};
  EXPECT_EQ(RegistrarOf(kBoth, common).http_endpoint, ":9900");
  EXPECT_EQ(RegistrarOf(kBoth, common).timeout, absl::Seconds(5));
  EXPECT_EQ(ProbeOf(kBoth, common).http_endpoint, ":9900");
  EXPECT_EQ(ProbeOf(kBoth, common).probe_timeout, absl::Seconds(5));
  EXPECT_TRUE(ProbeOf(kBoth, common).serve_metrics);

  // The order does not matter.
  for (const bool first : {true, false}) {
    std::vector<std::string> own = {
        "--livenessprobe-http-endpoint=:9901",
        "--node-driver-registrar-http-endpoint=", "--livenessprobe-timeout=6s"};
    own.insert(first ? own.end() : own.begin(), common.begin(), common.end());
    EXPECT_EQ(RegistrarOf(kBoth, own).http_endpoint, "");
    EXPECT_EQ(RegistrarOf(kBoth, own).timeout, absl::Seconds(5));
    EXPECT_EQ(ProbeOf(kBoth, own).http_endpoint, ":9901");
    EXPECT_EQ(ProbeOf(kBoth, own).probe_timeout, absl::Seconds(6));
    own.push_back("--probe-timeout=7s");
    EXPECT_EQ(ProbeOf(kBoth, own).probe_timeout, absl::Seconds(7));
  }
  EXPECT_EQ(Parsed(kBoth, {kKubelet, "--csi-address=unix:///csi/csi.sock"}).sidecars.csi_address,
            "/csi/csi.sock");
  EXPECT_EQ(Parsed(kBoth, {kKubelet, "--livenessprobe-csi-address=/a",
                           "--node-driver-registrar-csi-address=unix:///a"})
                .sidecars.csi_address,
            "/a");
}

TEST(ProgramOptionsTest, CommonFlagsOfKep4958AreIgnoredWithAWarning) {
  const std::vector<std::string> taken = absl::StrSplit(
      "--leader-election --leader-election-namespace=kube-system "
      "--leader-election-lease-duration=15s --leader-election-renew-deadline=10s "
      "--leader-election-retry-period=5s --leader-election-labels=a:b --kube-api-qps=5.5 "
      "--kube-api-burst=10 --kubeconfig=/config --master=https://api:6443 --resync=10m "
      "--retry-interval-start=1s --retry-interval-max=5m --worker-threads=100",
      ' ');
  std::vector<std::string> arguments = {kKubelet,
                                        "--controllers=node-driver-registrar,livenessprobe",
                                        "--feature-gates=Topology=true", "--timeout=30s"};
  arguments.insert(arguments.end(), taken.begin(), taken.end());
  const ProgramOptions options = Parsed("csi-sidecars", arguments);
  EXPECT_EQ(options.name, "csi-node-sidecars");
  ASSERT_TRUE(options.sidecars.registrar.has_value() && options.sidecars.livenessprobe.has_value());
  EXPECT_EQ(options.sidecars.livenessprobe->probe_timeout, absl::Seconds(30));
  EXPECT_EQ(options.sidecars.registrar->registration_timeout, absl::Seconds(30));
  EXPECT_EQ(options.warnings.size(), taken.size() + 1);
  for (const std::string& argument : taken) {
    const std::string flag = argument.substr(0, argument.find('='));
    EXPECT_THAT(options.warnings, Contains(StartsWith(flag + " has no effect"))) << flag;
  }
  EXPECT_THAT(options.warnings, Contains(HasSubstr("Topology has no effect")));
}

TEST(ProgramOptionsTest, ControllersOfKep4958AreRefused) {
  for (const std::string controller :
       {"attacher", "provisioner", "resizer", "snapshotter", "external-attacher", "csi-resizer"}) {
    for (const std::string flag : {"--sidecars=", "--controllers="}) {
      const absl::Status status =
          Parse("csi-sidecars", {kKubelet, absl::StrCat(flag, "livenessprobe,", controller)})
              .status();
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  StartsWith(flag.substr(0, flag.size() - 1) + ": " + controller +
                             " runs beside a driver's controller"));
    }
  }
}

TEST(ProgramOptionsTest, LogFlagsSetTheLogOptions) {
  EXPECT_EQ(Parsed(kProbeName, {"-v=5"}).log.format, observability::LogFormat::kText);
  EXPECT_EQ(Parsed(kProbeName, {"--logging-format=text"}).log.format,
            observability::LogFormat::kText);
  EXPECT_EQ(Parsed(kProbeName, {"--logging-format=json"}).log.format,
            observability::LogFormat::kJson);
  EXPECT_TRUE(Parsed(kProbeName, {"-add_dir_header"}).log.add_dir_header);
  EXPECT_TRUE(Parsed(kProbeName, {"-skip_headers"}).log.skip_headers);
  EXPECT_THAT(Parsed(kProbeName, {"--logtostderr", "--log_dir=/logs"}).warnings, IsEmpty());
  EXPECT_THAT(Parsed(kProbeName, {"--logtostderr=false", "--log_dir=/logs"}).warnings,
              ElementsAre(HasSubstr("--logtostderr")));
}

TEST(ProgramOptionsTest, TheModeFlagSelectsTheRegistrationProbe) {
  EXPECT_TRUE(
      Parsed(kRegistrarName, {kKubelet, "--mode=kubelet-registration-probe"}).probe_registration);
  // The probe needs no further flags, and ignores them.
  EXPECT_TRUE(Parsed(kBoth, {kKubelet, "--mode=kubelet-registration-probe", "--csi-address=a:1"})
                  .probe_registration);
  for (const std::string mode : {"", "registration"}) {
    const ProgramOptions options = Parsed(kRegistrarName, {kKubelet, "--mode=" + mode});
    EXPECT_FALSE(options.probe_registration);
    EXPECT_THAT(options.warnings, IsEmpty());
  }
  const ProgramOptions unknown = Parsed(kRegistrarName, {kKubelet, "--mode=surprise"});
  EXPECT_FALSE(unknown.probe_registration);
  EXPECT_THAT(unknown.warnings, ElementsAre(HasSubstr("surprise")));
}

TEST(ProgramOptionsTest, FlagsWithoutEffectCauseAWarning) {
  EXPECT_THAT(Parsed(kProbeName, {"--connection-timeout=15s"}).warnings,
              ElementsAre(HasSubstr("--connection-timeout")));
  EXPECT_THAT(Parsed(kRegistrarName, {kKubelet, "--enable-pprof"}).warnings,
              ElementsAre(HasSubstr("--enable-pprof")));
  // An argument that is not a flag ends the flags, as in Go's programs.
  const ProgramOptions options = Parsed(kProbeName, {"stray", "--health-port=1"});
  EXPECT_THAT(options.warnings, ElementsAre(HasSubstr("\"stray\"")));
  EXPECT_EQ(options.sidecars.livenessprobe->http_endpoint, "0.0.0.0:9808");
}

TEST(ProgramOptionsTest, HelpAndVersionNeedNoOtherFlags) {
  for (const std::string program : {kBoth, kRegistrarName, kProbeName}) {
    EXPECT_TRUE(Parsed(program, {"--version"}).show_version);
    EXPECT_TRUE(Parsed(program, {"-h", "--no-such-flag"}).show_help);
    EXPECT_TRUE(Parsed(program, {"--help"}).show_help);
  }
}

// Go's flag package exits with code 2 on unknown and malformed flags.
TEST(ProgramOptionsTest, UnknownAndMalformedFlagsAreUsageErrors) {
  const struct {
    std::string program;
    std::vector<std::string> arguments;
    std::string text;
  } cases[] = {
      {kBoth, {"--no-such-flag"}, "--no-such-flag"},
      {kBoth, {"---v"}, "---v"},
      {kBoth, {"--v"}, "--v: needs a value"},
      {kBoth, {"--v=much"}, "--v: \"much\""},
      {kBoth, {"--timeout=5"}, "--timeout: \"5\""},
      {kBoth, {"--logtostderr=perhaps"}, "--logtostderr: \"perhaps\""},
      {kBoth,
       {"--health-port=1"},
       "--node-driver-registrar-health-port or --livenessprobe-health-"},
      {kBoth, {"--sidecars="}, "--sidecars"},
      {kBoth, {"--sidecars=external-thing"}, "external-thing"},
      {kBoth, {"--controllers="}, "--controllers"},
      {kBoth, {"--controllers=node-driver-registrar,thing"}, "--controllers: \"thing\""},
      {kBoth, {"--kube-api-qps=many"}, "--kube-api-qps: \"many\""},
      {kBoth, {"--worker-threads=1.5"}, "--worker-threads: \"1.5\""},
      {kBoth, {"--thing-timeout=1s"}, "--thing-timeout: there is no such flag"},
      {kBoth, {"--feature-gates=ContextualLogging"}, "ContextualLogging"},
      {kBoth, {"--livenessprobe-sidecars=livenessprobe"}, "--livenessprobe-sidecars"},
      {kBoth, {"--livenessprobe-mode=registration"}, "--livenessprobe-mode"},
      {kBoth, {"--sidecars=livenessprobe", kKubelet}, "belongs to node-driver-registrar"},
      {kProbeName, {kKubelet}, "belongs to node-driver-registrar"},
      {kProbeName, {"--node-driver-registrar-timeout=1s"}, "belongs to node-driver-registrar"},
      {kProbeName, {"--sidecars=livenessprobe"}, "--sidecars"},
      {kProbeName, {"--controllers=livenessprobe"}, "--controllers"},
      {kProbeName, {"--leader-election"}, "livenessprobe has no such flag"},
      {kRegistrarName, {"--attacher-timeout=1s"}, "node-driver-registrar has no such flag"},
      {kRegistrarName, {"--probe-timeout=1s"}, "belongs to livenessprobe"},
      {kRegistrarName, {"--health-port=http"}, "--health-port: \"http\""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.program, " ", c.arguments[0]));
    const absl::Status status = Parse(c.program, c.arguments).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(c.text));
  }
}

// The upstream programs exit with code 1 on invalid options.
TEST(ProgramOptionsTest, InvalidOptionsAreRefusedWithTheReason) {
  const struct {
    std::string program;
    std::vector<std::string> arguments;
    std::string text;
  } cases[] = {
      {kBoth, {}, "--kubelet-registration-path: required"},
      {kRegistrarName, {}, "--kubelet-registration-path: required"},
      {kRegistrarName, {"--mode=kubelet-registration-probe"}, "--kubelet-registration-path"},
      {kRegistrarName, {R"(--kubelet-registration-path=\\var\lib\csi.sock)"}, "names a server"},
      {kRegistrarName, {"--kubelet-registration-path=var/csi.sock"}, "is relative"},
      {kRegistrarName, {"--kubelet-registration-path=/" + std::string(107, 'a')}, "107 bytes, not"},
      {kProbeName, {"--csi-address=unix:///" + std::string(107, 'a')}, "--csi-address: the path"},
      {kRegistrarName,
       {kKubelet, "--health-port=1", "--http-endpoint=:2"},
       "--health-port and --http-endpoint: only one"},
      {kRegistrarName, {kKubelet, "--health-port=65536"}, "--health-port: \"65536\""},
      {kRegistrarName, {kKubelet, "--timeout=0"}, "--timeout: 0"},
      {kRegistrarName, {kKubelet, "--registration-timeout=-1s"}, "--registration-timeout: -1s"},
      {kRegistrarName, {kKubelet, "--csi-address=tcp://1.2.3.4:5"}, "--csi-address: \"tcp:"},
      {kProbeName, {"--health-port=1", "--http-endpoint=:2"}, "--health-port and --http-endpoint"},
      {kProbeName, {"--metrics-address=:1", "--http-endpoint=:2"}, "--metrics-address and --http-"},
      {kProbeName, {"--health-port=0"}, "--health-port: \"0\""},
      {kProbeName, {"--health-port=http"}, "--health-port: \"http\""},
      {kProbeName, {"--probe-timeout=-1s"}, "--probe-timeout: -1s"},
      {kProbeName, {"--logging-format=xml"}, "--logging-format: \"xml\""},
      {kProbeName, {"--feature-gates=ContextualLogging=true,Wings=true"}, "Wings"},
      {kProbeName, {"--feature-gates=Topology=true"}, "Topology"},
      {kBoth, {"--attacher-timeout=30s"}, "--attacher-timeout: attacher runs beside a driver"},
      {kBoth, {"--snapshot-controller-x", "1"}, "snapshot-controller runs beside"},
      {kBoth,
       {kKubelet, "--livenessprobe-health-port=1", "--http-endpoint=:2"},
       "--livenessprobe-health-port and --http-endpoint"},
      {kBoth,
       {kKubelet, "--node-driver-registrar-health-port=1", "--http-endpoint=:2"},
       "--node-driver-registrar-health-port and --http-endpoint"},
      {kBoth, {kKubelet, "--livenessprobe-csi-address=/b"}, "/run/csi/socket is not /b"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.program, " ", c.text));
    const absl::Status status = Parse(c.program, c.arguments).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(c.text));
  }
}

}  // namespace
}  // namespace csi_proxy::sidecars
