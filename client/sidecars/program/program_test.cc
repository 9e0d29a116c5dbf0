// Runs the program as containers do. On Linux also runs a driver and a kubelet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "integration/support/child_process.h"
#include "server/observability/product_version.h"
#ifndef _WIN32
#include <signal.h>
#include <sys/stat.h>

#include "client/sidecars/testing.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/rpc/testing_posix.h"
#endif

namespace csi_proxy::sidecars {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ProgramTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLimit = absl::Seconds(20);

  ~ProgramTest() override {
    child_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // Returns the path of a copy of the program with another name.
  std::string Named(const std::string& name) {
    std::string path = absl::StrCat(directory_, "/", name);
#ifdef _WIN32
    absl::StrAppend(&path, ".exe");
    std::filesystem::copy_file(CSI_PROXY_SIDECARS_BINARY, path);
#else
    std::filesystem::create_symlink(CSI_PROXY_SIDECARS_BINARY, path);
#endif
    return path;
  }

  void Launch(std::vector<std::string> command) {
    log_ = absl::StrCat(directory_, "/log", ++runs_);
    auto child = integration::ChildProcess::Start(std::move(command), log_);
    ASSERT_TRUE(child.ok()) << child.status();
    child_ = *std::move(child);
  }
  // Runs a command and returns its exit code.
  int Run(std::vector<std::string> command) {
    Launch(std::move(command));
    return child_ == nullptr ? -1 : child_->Wait(kLimit);
  }
  // Returns the output of the last program.
  std::string Output() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string directory_ = integration::NewTestDirectory();
  const std::string program_ = CSI_PROXY_SIDECARS_BINARY;
  std::unique_ptr<integration::ChildProcess> child_;

 private:
  int runs_ = 0;
  std::string log_;
};

TEST_F(ProgramTest, VersionAndHelpArePrintedUnderEachName) {
  for (const std::string& program :
       {program_, Named("csi-node-driver-registrar"), Named("livenessprobe")}) {
    EXPECT_EQ(Run({program, "--version"}), 0);
    EXPECT_THAT(Output(), HasSubstr(absl::StrCat(program, " ", kVersion)));
    for (const std::string flag : {"-h", "--help"}) {
      EXPECT_EQ(Run({program, flag}), 0);
      EXPECT_THAT(Output(), HasSubstr("--kubelet-registration-path"));
    }
  }
}

TEST_F(ProgramTest, MalformedFlagsExitWith2AndPrintUsage) {
  for (const std::string flag : {"--no-such-flag", "--v=much", "--health-port=1"}) {
    EXPECT_EQ(Run({program_, flag}), 2);
    EXPECT_THAT(Output(), AllOf(StartsWith(flag.substr(0, flag.find('='))),
                                HasSubstr("Accepted and ignored")));
  }
}

TEST_F(ProgramTest, InvalidOptionsExitWith1AndALogLine) {
  EXPECT_EQ(Run({program_}), 1);
  EXPECT_THAT(Output(), AllOf(StartsWith("E"), HasSubstr("] --kubelet-registration-path")));
  EXPECT_EQ(Run({Named("node-driver-registrar")}), 1);
  EXPECT_THAT(Output(), HasSubstr("] --kubelet-registration-path"));
  EXPECT_EQ(Run({Named("livenessprobe"), "--health-port=1", "--http-endpoint=:2"}), 1);
  EXPECT_THAT(Output(), HasSubstr("--health-port"));
  // The library refuses these options.
  EXPECT_EQ(Run({program_, "--sidecars=livenessprobe", "--http-endpoint=here"}), 1);
  EXPECT_THAT(Output(), HasSubstr("http_endpoint"));
}

TEST_F(ProgramTest, TheRegistrationProbeSucceedsIfTheMarkerFileExists) {
  const std::string name = Named("csi-node-driver-registrar");
  const auto probe = [&](const std::string& directory) {
    return Run({name, absl::StrCat("--kubelet-registration-path=", directory, "/csi.sock"),
                "--mode=kubelet-registration-probe"});
  };
  EXPECT_EQ(probe(directory_), 1);
  EXPECT_THAT(Output(), HasSubstr("there is no " + directory_ + "/registration"));
  std::ofstream(directory_ + "/registration").put('\n');
  EXPECT_EQ(probe(directory_), 0);
  EXPECT_THAT(Output(), HasSubstr("has registered the driver"));
  EXPECT_EQ(probe("/no/such/directory"), 0);
  EXPECT_THAT(Output(), HasSubstr("not known"));
}

#ifndef _WIN32
class ProgramPosixTest : public ProgramTest {
 protected:
  ProgramPosixTest() { std::filesystem::create_directory(registry_); }

  std::vector<std::string> Registrar(const std::string& program) {
    return {program, "--csi-address=" + csi_, "--plugin-registration-path=" + registry_,
            "--kubelet-registration-path=" + csi_};
  }
  // Launches both sidecars with the flags `more`, and waits for the registration socket.
  void LaunchBoth(const std::vector<std::string>& more) {
    std::vector<std::string> command = Registrar(program_);
    command.insert(command.end(), more.begin(), more.end());
    Launch(std::move(command));
    ASSERT_TRUE(Eventually([&] { return Exists(socket_); })) << Output();
  }
  static bool Exists(const std::string& path) { return std::filesystem::exists(path); }
  std::string Endpoint() const { return absl::StrCat("127.0.0.1:", port_); }

  const std::string csi_ = directory_ + "/csi.sock";
  const std::string registry_ = directory_ + "/registry";
  const std::string socket_ = registry_ + "/test.csi.example-reg.sock";
  const std::string marker_ = directory_ + "/registration";
  const int port_ = FreePort();
};

TEST_F(ProgramPosixTest, BothSidecarsServeADriver) {
  const TestingDriver driver(csi_);
  LaunchBoth({"--http-endpoint=" + Endpoint()});
  ASSERT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  EXPECT_EQ(Get(port_, "/healthz/node-driver-registrar").code, 200);
  EXPECT_EQ(Get(port_, "/metrics").code, 200);

  EXPECT_FALSE(Exists(marker_));
  Kubelet kubelet(socket_);
  EXPECT_EQ(kubelet.GetInfo().endpoint(), csi_);
  kubelet.Notify(true, "");
  EXPECT_TRUE(Eventually([&] { return Exists(marker_); })) << Output();

  EXPECT_EQ(child_->Stop(kLimit), 0);
  EXPECT_FALSE(Exists(socket_));
  EXPECT_FALSE(Exists(marker_));
  EXPECT_THAT(Output(), HasSubstr("stopping on SIGTERM"));
}

// gRPC's threads wake up several times a second, so they must only exist during calls.
TEST_F(ProgramPosixTest, GrpcEndsItsThreadsBetweenCalls) {
  const TestingDriver driver(csi_);
  LaunchBoth({"--http-endpoint=" + Endpoint()});
  const auto grpc_threads = [&] {
    int count = 0;
    for (const auto& task :
         std::filesystem::directory_iterator(absl::StrCat("/proc/", child_->pid(), "/task"))) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      count += absl::StrContains(name, "grpc") ? 1 : 0;
    }
    return count;
  };
  for (int i = 0; i < 2; ++i) {
    {
      Kubelet kubelet(socket_);
      EXPECT_EQ(kubelet.GetInfo().endpoint(), csi_);
      EXPECT_GT(grpc_threads(), 0);
    }
    EXPECT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
    EXPECT_TRUE(Eventually([&] { return grpc_threads() == 0; }));
  }
}

TEST_F(ProgramPosixTest, EachSidecarRunsAloneUnderItsOwnName) {
  const TestingDriver driver(csi_);
  std::vector<std::string> registrar = Registrar(Named("csi-node-driver-registrar"));
  registrar.push_back("--http-endpoint=" + Endpoint());
  Launch(registrar);
  EXPECT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  EXPECT_EQ(Get(port_, "/metrics").code, 404);
  EXPECT_EQ(child_->Stop(kLimit), 0);

  Launch({Named("livenessprobe"), "--csi-address=" + csi_, "--http-endpoint=" + Endpoint()});
  EXPECT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  EXPECT_EQ(Get(port_, "/metrics").code, 200);
  EXPECT_FALSE(Exists(socket_));
  EXPECT_EQ(child_->Stop(kLimit), 0);

  // With --health-port, /metrics is not served, as in upstream's livenessprobe.
  Launch({directory_ + "/livenessprobe", "--csi-address=" + csi_,
          absl::StrCat("--health-port=", port_)});
  EXPECT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  EXPECT_EQ(Get(port_, "/metrics").code, 404);
}

TEST_F(ProgramPosixTest, TheKubeletsRefusalEndsALoneRegistrar) {
  const TestingDriver driver(csi_);
  Launch(Registrar(Named("csi-node-driver-registrar")));
  ASSERT_TRUE(Eventually([&] { return Exists(socket_); })) << Output();
  Kubelet(socket_).Notify(false, "no such driver here");
  EXPECT_EQ(child_->Wait(kLimit), 1);
  EXPECT_THAT(Output(), HasSubstr("no such driver here"));
  EXPECT_FALSE(Exists(socket_));
  // With livenessprobe the process continues, so that the kubelet does not end a healthy driver.
  LaunchBoth({"--http-endpoint=" + Endpoint()});
  Kubelet(socket_).Notify(false, "no such driver here");
  EXPECT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  Kubelet(socket_).Notify(true, "");
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Get(port_, "/metrics").body, "registered");
  })) << Output();
}

TEST_F(ProgramPosixTest, TheProgramExitsWith1IfItsAddressIsInUse) {
  const TestingDriver driver(csi_);
  LaunchBoth({"--http-endpoint=" + Endpoint()});
  ASSERT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  const auto first = std::move(child_);
  EXPECT_EQ(Run({Named("livenessprobe"), "--csi-address=" + csi_, "--http-endpoint=" + Endpoint()}),
            1);
  EXPECT_THAT(Output(), HasSubstr(Endpoint()));
}

TEST_F(ProgramPosixTest, ASignalStopsTheProgramWhileItWaitsForTheDriver) {
  for (const int stop : {SIGTERM, SIGINT}) {
    Launch(Registrar(program_));
    ASSERT_TRUE(Eventually([&] { return absl::StrContains(Output(), " runs "); }));
    // SIGUSR1 has no effect.
    kill(static_cast<pid_t>(child_->pid()), SIGUSR1);
    absl::SleepFor(absl::Milliseconds(50));
    EXPECT_TRUE(child_->IsRunning());
    kill(static_cast<pid_t>(child_->pid()), stop);
    EXPECT_EQ(child_->Wait(kLimit), 0);
  }
}

TEST_F(ProgramPosixTest, AnotherFileInPlaceOfTheMarkerIsNotChanged) {
  const TestingDriver driver(csi_);
  const std::string victim = directory_ + "/victim";
  std::ofstream(victim) << "keep these bytes";
  const std::function<void()> kObstacles[] = {
      [&] { std::filesystem::create_symlink(victim, marker_); },
      [&] { std::filesystem::create_symlink(directory_ + "/new", marker_); },
      [&] { std::filesystem::create_hard_link(victim, marker_); },
      [&] { mkfifo(marker_.c_str(), 0666); },
      [&] { std::filesystem::create_directory(marker_); },
  };
  for (const auto& plant : kObstacles) {
    for (const bool before_the_start : {true, false}) {
      if (before_the_start) plant();
      LaunchBoth({"--http-endpoint=" + Endpoint()});
      Kubelet(socket_).Notify(true, "");
      if (!before_the_start) {
        ASSERT_TRUE(Eventually([&] { return Exists(marker_); })) << Output();
        std::filesystem::rename(marker_, directory_ + "/moved");
        plant();
        Kubelet(socket_).Notify(true, "");
      }
      EXPECT_TRUE(Eventually([&] {
        return absl::StrContains(Output(), "marker cannot be made: " + marker_) &&
               absl::StrContains(Output(), "accepted");
      })) << Output();
      EXPECT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
      EXPECT_EQ(child_->Stop(kLimit), 0);
      std::string bytes;
      std::getline(std::ifstream(victim), bytes);
      EXPECT_EQ(bytes, "keep these bytes");
      EXPECT_FALSE(Exists(directory_ + "/new"));
      EXPECT_EQ(std::filesystem::remove(marker_), true) << "the obstacle is gone";
    }
  }
}

TEST_F(ProgramPosixTest, ADriverCannotFloodTheLog) {
  {
    const TestingDriver driver(csi_, std::string(100'000, '\n'));
    EXPECT_EQ(Run(Registrar(program_)), 1);
    EXPECT_LT(Output().size(), 2000u);
  }
  TestingDriver driver(csi_);
  driver.set_mode(ProbeMode::kFails);
  LaunchBoth({"--http-endpoint=" + Endpoint()});
  ASSERT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 500; })) << Output();
  for (int i = 0; i < 300; ++i) EXPECT_EQ(Get(port_, "/healthz").code, 500);
  Kubelet(socket_).Notify(true, "");
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Output(), "accepted"); })) << Output();
  const std::string output = Output();
  // The bound is twice the limit of a minute, because a minute may end within the loop.
  EXPECT_LT(std::count(output.begin(), output.end(), '\n'), 130);
}

// Without a free descriptor, the driver cannot be probed, and gRPC may abort the process.
TEST_F(ProgramPosixTest, ManyClientsLeaveDescriptorsForTheProbe) {
  TestingDriver driver(csi_);
  driver.set_mode(ProbeMode::kSlow);
  Launch({"/bin/sh", "-c",
          absl::StrCat("ulimit -n 256; exec ", program_, " --sidecars=livenessprobe --csi-address=",
                       csi_, " --http-endpoint=", Endpoint())});
  ASSERT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  std::vector<std::unique_ptr<http_testing::HttpConnection>> clients;
  for (int i = 0; i < 400; ++i) {
    clients.push_back(std::make_unique<http_testing::HttpConnection>(port_));
    clients.back()->Send("GET /healthz HTTP/1.0\r\n\r\n");
  }
  for (const auto& client : clients) {
    // The connection may have been closed to make room for another one.
    EXPECT_THAT(client->ReadAll(), AnyOf("", EndsWith("\r\n\r\nok")));
  }
  EXPECT_EQ(Get(port_, "/healthz").code, 200);
  EXPECT_TRUE(child_->IsRunning()) << Output();
}

TEST_F(ProgramPosixTest, EveryLogLineNamesItsComponent) {
  TestingDriver driver(csi_);
  LaunchBoth({"--http-endpoint=" + Endpoint(), "--logging-format=json", "--leader-election"});
  ASSERT_TRUE(Eventually([&] { return Get(port_, "/healthz").code == 200; })) << Output();
  driver.End();
  EXPECT_EQ(Get(port_, "/healthz").code, 500);
  EXPECT_EQ(child_->Stop(kLimit), 0);
  const std::vector<std::string> lines = absl::StrSplit(Output(), '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, Each(AllOf(StartsWith("{\"time\":\""), HasSubstr("\"component\":\""),
                                EndsWith("\"}"))));
  EXPECT_THAT(Output(), HasSubstr("--leader-election has no effect"));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("\"component\":\"node-driver-registrar\""),
                                    HasSubstr("registration of test.csi.example"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("\"component\":\"livenessprobe\""),
                                    HasSubstr("cannot be probed"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("\"component\":\"csi-node-sidecars\""),
                                    HasSubstr("stopping on SIGTERM"))));
}

// gRPC's errors quote headers of the driver that it does not understand.
TEST_F(ProgramPosixTest, ADriversHeadersCannotForgeALogLine) {
  const UniqueFd listener = rpc::ListenUnix(csi_);
  std::thread driver([&] {
    const std::string forged = "\x1b[2K\nregistration: accepted";
    std::string headers = rpc::Literal(":status", "200");
    for (const char* name : {"te", "grpc-status", "grpc-retry-pushback-ms"}) {
      headers += rpc::Literal(name, forged);
    }
    const std::string answer =
        absl::StrCat(rpc::Frame(rpc::kSettings, 0, 0, ""),
                     rpc::Frame(rpc::kHeaders, rpc::kEndHeaders | rpc::kEndStream, 1, headers));
    while (true) {
      const UniqueFd fd(accept(listener.get(), nullptr, nullptr));
      if (fd.get() < 0) return;
      char bytes[4096];
      // The client makes its first call after it has received the settings.
      (void)!send(fd.get(), answer.data(), 9, MSG_NOSIGNAL);
      std::string received;
      for (ssize_t n; (n = recv(fd.get(), bytes, sizeof(bytes), 0)) > 0;) {
        received.append(bytes, static_cast<size_t>(n));
        if (!absl::StrContains(received, "GetPluginInfo")) continue;
        received.clear();
        (void)!send(fd.get(), answer.data() + 9, answer.size() - 9, MSG_NOSIGNAL);
      }
    }
  });
  Launch({Named("livenessprobe"), "--logging-format=json", "--csi-address=" + csi_,
          "--http-endpoint=" + Endpoint()});
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Output(), "forged") || absl::StrContains(Output(), "accepted");
  })) << Output();
  child_->Stop(kLimit);
  shutdown(listener.get(), SHUT_RDWR);
  driver.join();
  const std::vector<std::string> lines = absl::StrSplit(Output(), '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, Each(AllOf(StartsWith("{\"time\":\""), EndsWith("\"}"))));
  EXPECT_THAT(lines, Contains(HasSubstr("\"message\":\"gRPC: ")));
  EXPECT_THAT(Output(), Not(HasSubstr("\x1b")));
}

TEST_F(ProgramPosixTest, VersionGoesToStandardOutputAndUsageToStandardError) {
  const auto run = [&](const std::string& arguments) {
    return Run({"/bin/sh", "-c", absl::StrCat(program_, " ", arguments)});
  };
  EXPECT_EQ(run("--version 2>/dev/null"), 0);
  EXPECT_THAT(Output(), StartsWith(program_));
  for (const std::string arguments : {"--help", "--no-such-flag", ""}) {
    run(arguments + " 2>/dev/null");
    EXPECT_EQ(Output(), "") << arguments;
  }
}
#endif

}  // namespace
}  // namespace csi_proxy::sidecars
