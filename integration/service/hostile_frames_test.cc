// Sends the service frames that no gRPC library sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "integration/support/server_process.h"
#include "server/rpc/testing_posix.h"
#include "server/transport/session_testing.h"

namespace csi_proxy::integration {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::StartsWith;

// Returns a message with gRPC's prefix in DATA: flags and length.
std::string Message(char flags, absl::string_view message) {
  const char length[] = {flags, 0, 0, 0, static_cast<char>(message.size())};
  return absl::StrCat(absl::string_view(length, sizeof(length)), message);
}

class HostileFramesTest : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags) {
    auto server = ServerProcess::Start(flags);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Makes a call on a new connection. Returns its grpc-status; -1 if there is none.
  int Call(absl::string_view method, absl::string_view data,
           const transport::Headers& more_headers = {}) {
    const std::string socket =
        absl::StartsWith(method, "/v1.Disk/") ? "csi-proxy-disk-v1" : "csi-proxy-filesystem-v1";
    const UniqueFd fd = rpc::ConnectUnix(absl::StrCat(server_->directory(), "/", socket, ".sock"));
    transport::TestClient client;
    transport::Headers headers = transport::CallHeaders(method);
    headers.insert(headers.end(), more_headers.begin(), more_headers.end());
    const int32_t stream = client.Begin(headers, std::string(data));
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    while (!client.replies[stream].closed) {
      const std::string bytes = client.Send();
      (void)!send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      char buffer[4096];
      const ssize_t n = recv(fd.get(), buffer, sizeof(buffer), 0);
      if (n <= 0) break;
      client.Receive({buffer, static_cast<size_t>(n)});
    }
    return client.replies[stream].grpc_status();
  }

  std::unique_ptr<ServerProcess> server_;
};

constexpr char kDiskState[] = "/v1.Disk/GetDiskState";

// An absent message would be read as an empty one, which asks for disk 0.
TEST_F(HostileFramesTest, ACallWithoutAMessageIsRefused) {
  Start({});
  EXPECT_EQ(Call(kDiskState, Message(0, "")), 0);
  EXPECT_EQ(Call(kDiskState, ""), 13);
  EXPECT_EQ(Call(kDiskState, Message(0, "xx").substr(0, 6)), 13) << "cut";
  EXPECT_EQ(Call(kDiskState, Message(0, "xx").substr(0, 3)), 13) << "cut";
}

// 99999999H is the longest timeout of the protocol.
TEST_F(HostileFramesTest, TheLongestTimeoutDoesNotOverflow) {
  Start({});
  for (const char* timeout : {"1H", "2070000H", "2562047H", "99999999H"}) {
    EXPECT_EQ(Call(kDiskState, Message(0, ""), {{"grpc-timeout", timeout}}), 0) << timeout;
  }
}

// The client library sends only valid traceparents; the log omits invalid ones of other clients.
TEST_F(HostileFramesTest, OnlyAValidTraceparentIsLogged) {
  Start({"-v=2"});
  constexpr char kMkdir[] = "/v1.Filesystem/Mkdir";
  constexpr char kId[] = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
  const std::string path = R"(C:\var\lib\kubelet\plugins\t)";
  const std::string request = absl::StrCat("\x0a\x1c", path);
  const std::string valid = absl::StrCat("00-", kId, "-01");
  const auto count = [&] {
    const std::vector<std::string> parts = absl::StrSplit(server_->Log(), "trace=");
    return parts.size() - 1;
  };
  EXPECT_EQ(Call(kMkdir, Message(0, request), {{"traceparent", valid}}), 0);
  EXPECT_THAT(server_->Log(), ContainsRegex(absl::StrCat("audit .* trace=", kId, " path=")));
  EXPECT_EQ(count(), 2u) << "the audit line and the call's";
  for (const std::string& hostile :
       {absl::StrCat(valid, " audit method=Rmdir"), std::string("00-\naudit method=Rmdir"),
        std::string(), absl::AsciiStrToUpper(valid)}) {
    Call(kMkdir, Message(0, request), {{"traceparent", hostile}});
  }
  Call(kMkdir, Message(0, request), {{"traceparent", valid}, {"traceparent", valid}});
  EXPECT_EQ(count(), 2u) << server_->Log();
  const filesystem::v1::Client files(Connect(server_->client_options()).value());
  filesystem::v1::MkdirRequest mkdir;
  mkdir.set_path(path);
  EXPECT_TRUE(files.Mkdir(mkdir, {.traceparent = valid}).ok());
  EXPECT_EQ(count(), 4u) << server_->Log();
}

TEST_F(HostileFramesTest, TextQuotedByLibrariesCannotForgeOrFloodTheLog) {
  const std::string file = absl::StrCat(testing::TempDir(), "/library.log");
  std::filesystem::remove(file);
  Start({"-v=4", "--log-format=json", "-logtostderr=false", "-alsologtostderr",
         absl::StrCat("--log_file=", file)});
  for (int i = 0; i < 300; ++i) {
    Call("/v1.Filesystem/PathExists", Message(0, "\x0a\x02\xff\xff"),
         {{"te", "\x1b[2K\naudit method=Rmdir code=OK"}});
  }
  (void)server_->Stop(absl::Seconds(10));
  std::ostringstream in_file;
  in_file << std::ifstream(file).rdbuf();
  EXPECT_EQ(in_file.str(), server_->Log());
  int of_protobuf = 0;
  const std::vector<std::string> lines = absl::StrSplit(in_file.str(), '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    EXPECT_THAT(line, StartsWith("{\"time\":"));
    EXPECT_THAT(line, EndsWith("}"));
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
    of_protobuf += absl::StrContains(line, "\"protobuf: ") ? 1 : 0;
  }
  // Each place in the code logs five lines a minute; further lines are only counted.
  EXPECT_THAT(of_protobuf, testing::AllOf(testing::Ge(5), Le(12)));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace csi_proxy::integration
