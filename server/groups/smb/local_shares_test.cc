// Calls do not map shares that would give a client the node's own files.
#include "server/groups/smb/local_shares.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/groups/testing.h"

namespace csi_proxy::smb {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(LocalSharesTest, OnlyDriveAdminPrintAndFaxSharesAreAdministrative) {
  for (const char* share : {"C$", "z$", "ADMIN$", "admin$", "Print$", "fax$"}) {
    EXPECT_TRUE(IsAdministrativeShare(share)) << share;
  }
  for (const char* share : {"data$", "cc$", "1$", "$", "c", "admin", "admin$x"}) {
    EXPECT_FALSE(IsAdministrativeShare(share)) << share;
  }
}

TEST(LocalSharesTest, TheNodeIsRecognisedByItsNamesAndAddresses) {
  machine::Bytes own(16);
  own[0] = 0xFE, own[1] = 0x80, own[15] = 0x0A;
  const machine::NetworkNames node = {.names = {"WIN-1", "win-1.corp.example", "win-1.b.local"},
                                      .addresses = {{10, 1, 2, 3}, own}};
  for (const char* host : {"localhost",
                           "LocalHost",
                           "a.localhost",
                           "loopback",
                           "Win-1",
                           "WIN-1.corp.EXAMPLE",
                           "win-1.local",
                           "..localmachine",
                           "10.1.2.3",
                           "10.66051",
                           "0xA.1.2.3",
                           "10.1.2.03",
                           "127.0.0.1",
                           "127.255.0.9",
                           "127.1",
                           "127.0.1",
                           "2130706433",
                           "0x7f000001",
                           "0x7F.1",
                           "0177.0.0.1",
                           "127.0.0.0x1",
                           "0",
                           "0.0.0.0",
                           "0.1",
                           "--1.ipv6-literal.net",
                           "--1.IPv6-Literal.NET",
                           "0-0-0-0-0-0-0-1.ipv6-literal.net",
                           "--.ipv6-literal.net",
                           "0--0001.ipv6-literal.net",
                           "--1s4.ipv6-literal.net",
                           "--1%4.ipv6-literal.net",
                           "--ffff-7f00-1.ipv6-literal.net",
                           "--FFFF-a01-203.ipv6-literal.net",
                           "--7f00-1.ipv6-literal.net",
                           "--ffff-127.0.0.1.ipv6-literal.net",
                           "fe80--a.ipv6-literal.net",
                           "fe80--aS12.ipv6-literal.net",
                           "fe80-0--0-a.ipv6-literal.net",
                           "1-2-3.ipv6-literal.net",
                           ".ipv6-literal.net",
                           "ｌocalhost",
                           "１２７.0.0.1"}) {
    EXPECT_TRUE(MayBeThisNode(host, node)) << host;
  }
  EXPECT_TRUE(MayBeThisNode("Win-1.B.local", node));
  for (const char* host :
       {"files", "files.corp.example", "win-10", "win-1.other.example", "localhost.example",
        "xlocalhost", "10.1.2.4", "128.0.0.1", "1.127.0.0", "3com", "0x7f.example",
        "fe80--b.ipv6-literal.net", "2001-db8--1.ipv6-literal.net", "--1-0-0-0.ipv6-literal.net",
        "2001-db8-1-2-3-4-5-6s3.ipv6-literal.net", "--ffff-a01-204.ipv6-literal.net"}) {
    EXPECT_FALSE(MayBeThisNode(host, node)) << host;
  }
}

class LocalShareCallsTest : public groups::HandlerTest {
 protected:
  // Returns the answers of NewSmbGlobalMapping and StageShare as one text.
  std::string Map(const std::string& remote) {
    return absl::StrCat(
        smb_->NewSmbGlobalMapping(context_, {.remote_path = remote}).status().ToString(), "\n",
        storage_->StageShare(context_, {.remote_path = remote, .target_path = Below("s")})
            .status()
            .ToString());
  }
};

TEST_F(LocalShareCallsTest, CallsRefuseToMapSharesOfTheNode) {
  deps_.local_shares_remedy = "; permit it there";
  Remake();
  const auto refused_twice = [](const std::string& words) {
    const std::string line = absl::StrCat("PERMISSION_DENIED: remote_path: ", words);
    return testing::MatchesRegex(absl::StrCat(line, ".*\n", line, ".*"));
  };
  for (const char* remote : {R"(\\localhost\C$\Windows)", R"(//files.example/admin$)"}) {
    EXPECT_THAT(Map(remote), HasSubstr("is an administrative share"));
    EXPECT_THAT(Map(remote), refused_twice("\\w+. is an administrative share"));
  }
  for (const char* remote : {R"(\\localhost\data)", R"(\\10.1.2.3\data\a)", R"(//SIMULATED/data$)",
                             R"(\\simulated.example\data)"}) {
    EXPECT_THAT(Map(remote),
                AllOf(refused_twice("the host "), HasSubstr("plain address; permit it there")));
    // The calls that remove a mapping are not refused.
    EXPECT_EQ(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = remote}).status().code(),
              absl::StatusCode::kNotFound);
    EXPECT_TRUE(storage_->UnstageShare(context_, {.remote_path = remote}).ok());
  }
  EXPECT_FALSE(Exists(Below("s")));
  deps_.allow_local_shares = true;
  Remake();
  EXPECT_THAT(Map(R"(\\localhost\data)"), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(Map(R"(\\localhost\C$)"), HasSubstr("PERMISSION_DENIED"));
}

}  // namespace
}  // namespace csi_proxy::smb
