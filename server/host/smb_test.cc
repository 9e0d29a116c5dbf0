#include "absl/strings/match.h"
#include "server/host/testing.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

constexpr char kServers[] = R"(
  smb_server { name: "srv" user { name: "EX\\u" password: "pw" } share { name: "data" }
               user { name: "second" password: "pw2" } share { name: "more" }
               share { name: "third" } }
  smb_server { name: "old" no_privacy: true user { name: "u" password: "pw" }
               share { name: "data" } }
)";
constexpr char kShare[] = "\\\\srv\\data";

class SmbTest : public testing::Test {
 protected:
  absl::Status Map(const std::string& share, absl::string_view user, absl::string_view password,
                   bool privacy = true) {
    return host_->smb().CreateMapping(context_, share,
                                      {std::string(user), Secret(std::string(password))}, privacy);
  }
  bool Healthy(const std::string& share = kShare) {
    return Access(share).kind == SmbAccess::Kind::kReached;
  }
  SmbAccess Access(const std::string& path) {
    const auto access = host_->smb().Reach(context_, *UncPath::Parse("path", path));
    EXPECT_THAT(access, IsOk());
    return access.value_or(SmbAccess());
  }

  // Lets the machine fail once with an error.
  void Fail(const std::string& operation, uint32_t error) {
    FaultRule rule;
    rule.operation = operation;
    rule.times = 1;
    rule.code = kInternal;
    rule.error = KnownError(error);
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
  }

  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode(kServers);
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(SmbTest, AShareCanBeMappedAndUnmapped) {
  EXPECT_THAT(host_->smb().GetMapping(context_, kShare), Yields(std::nullopt));
  ASSERT_THAT(Map(kShare, "ex\\U", "pw"), IsOk());
  EXPECT_THAT(Map(kShare, "EX\\u", "pw"), HasCode(kExists));
  EXPECT_EQ((*host_->smb().GetMapping(context_, kShare))->remote_path, kShare);
  EXPECT_TRUE(Healthy());
  const SmbMapping mapping = **host_->smb().GetMapping(context_, kShare);
  machine::simulator::FaultRule gone;
  gone.operation = "wmi.Invoke/MSFT_SmbGlobalMapping.Remove";
  gone.times = 1;
  gone.code = kInternal;
  gone.error = KnownError(2250);
  ASSERT_THAT(node_->InjectFault(gone), IsOk());
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping), HasCode(kNotFound));
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping), IsOk());
  EXPECT_FALSE(Healthy());
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping), HasCode(kNotFound));
}

TEST_F(SmbTest, EachCallForAMappingYieldsItsSlot) {
  TestSlot slot;
  context_ = context_.With(&slot);
  ASSERT_THAT(Map(kShare, "ex\\U", "pw"), IsOk());
  EXPECT_TRUE(slot.TakeYielded());
  const SmbMapping mapping = **host_->smb().GetMapping(context_, kShare);
  EXPECT_TRUE(slot.TakeYielded());
  EXPECT_TRUE(Healthy());
  EXPECT_TRUE(slot.TakeYielded());
}

TEST_F(SmbTest, MappingErrorsHaveTheirCodeAndNoPassword) {
  for (const absl::Status& status :
       {Map(kShare, "EX\\u", "hunter2"), Map(kShare, "nobody", "hunter2")}) {
    EXPECT_THAT(status, FailsWith(kPrecondition, "(1326), 0x80041001"));
    EXPECT_EQ(status.message().find("hunter2"), absl::string_view::npos);
  }
  EXPECT_THAT(Map("\\\\nowhere\\data", "EX\\u", "pw"), HasCode(kNotFound));
  EXPECT_THAT(Map("\\\\srv\\none", "EX\\u", "pw"), HasCode(kNotFound));
  EXPECT_THAT(Map("\\\\old\\data", "u", "pw", true), FailsWith(kPrecondition, "(65), 0x80041001"));
  EXPECT_THAT(Map("\\\\old\\data", "u", "pw", false), IsOk());
  ASSERT_THAT(node_->SetServerReachable("srv", false), IsOk());
  EXPECT_THAT(Map(kShare, "EX\\u", "pw"), FailsWith(kNotFound, "(53), 0x80041001"));
}

// Errors of a server that refuses a mapping, and of Windows itself
// (learn.microsoft.com/windows/win32/debug/system-error-codes).
TEST_F(SmbTest, MappingErrorsHaveTheirCodeAndAdvice) {
  struct Row {
    uint32_t error;
    absl::StatusCode code;
    const char* advice;
  };
  constexpr Row kRows[] = {
      {8, absl::StatusCode::kUnavailable, "repair --what=leaked-mappings)"},
      {53, kNotFound, "TCP port 445)"},
      {59, absl::StatusCode::kUnavailable, "(repeat the call;"},
      {64, absl::StatusCode::kUnavailable, "(repeat the call;"},
      {65, kPrecondition, "-require-privacy=false"},
      {67, kNotFound, "(check the share's name"},
      {71, absl::StatusCode::kUnavailable, "(the server has as many connections"},
      {85, kExists, "(another program maps the share"},
      {86, kPrecondition, "(correct the user or the password"},
      {121, absl::StatusCode::kUnavailable, "(the server did not answer in time"},
      {384, kPrecondition, "(turn on SMB 2 or 3"},
      {1219, kPrecondition, "(use the credentials with which the node is connected"},
      {1225, kNotFound, "TCP port 445)"},
      {1231, absl::StatusCode::kUnavailable, "cannot follow a DFS link: name the share"},
      {1240, kPrecondition, "may not sign in from this node"},
      {1265, absl::StatusCode::kUnavailable, "a domain controller"},
      {1272, kPrecondition, "treats the user as a guest"},
      {1311, absl::StatusCode::kUnavailable, "a domain controller"},
      {1312, kPrecondition, "(name the user's domain"},
      {1326, kPrecondition, "(correct the user or the password"},
      {1327, kPrecondition, "set a password for the account"},
      {1328, kPrecondition, "at any hour)"},
      {1330, kPrecondition, "(set a new password"},
      {1331, kPrecondition, "(enable the account)"},
      {1355, absl::StatusCode::kUnavailable, "a domain controller"},
      {1385, kPrecondition, "right to access the server from the network)"},
      {1396, kPrecondition, "knows the server by another name"},
      {1397, kPrecondition, "`Test-ComputerSecureChannel -Repair`"},
      {1398, kPrecondition, "`w32tm /resync`"},
      {1787, kPrecondition, "`Test-ComputerSecureChannel -Repair`"},
      {1789, kPrecondition, "`Test-ComputerSecureChannel -Repair`"},
      {1907, kPrecondition, "(set a new password"},
      {1908, absl::StatusCode::kUnavailable, "a domain controller"},
      {1909, kPrecondition,
       "(correct the password in the driver's secret, then unlock the account"},
      {1937, kPrecondition, "or allow NTLM)"},
      {2138, kPrecondition, "(start the node's service LanmanWorkstation; if it runs, restart it"},
      {2202, kPrecondition, "spelling of the user"},
      {2242, kPrecondition, "(set a new password"},
      {8646, kPrecondition, "not a Microsoft account)"},
  };
  for (const Row& row : kRows) {
    Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create", row.error);
    const absl::Status refused = Map(kShare, "EX\\u", "pw");
    EXPECT_THAT(refused, FailsWith(row.code, row.advice));
    EXPECT_THAT(refused,
                FailsWith(row.code, absl::StrCat(Win32Words(row.error), " (", row.error, ")")));
    EXPECT_NE(Win32Words(row.error), "") << row.error;
  }
}

TEST_F(SmbTest, ErrorsOfEveryMappingCallHaveAdvice) {
  Fail("wmi.Query/MSFT_SmbGlobalMapping", 2138);
  EXPECT_THAT(host_->smb().GetMapping(context_, kShare), FailsWith(kPrecondition, "Lanman"));
  Fail("wmi.Query/MSFT_SmbGlobalMapping", 2138);
  EXPECT_THAT(host_->smb().ListMappings(context_), FailsWith(kPrecondition, "Lanman"));
  ASSERT_THAT(Map(kShare, "EX\\u", "pw"), IsOk());
  const SmbMapping mapping = **host_->smb().GetMapping(context_, kShare);
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Remove", 59);
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping),
              FailsWith(absl::StatusCode::kUnavailable, "(repeat the call"));
  // These calls do not access a server, so error 5 is about this process's own rights.
  Fail("wmi.Query/MSFT_SmbGlobalMapping", 5);
  EXPECT_THAT(host_->smb().ListMappings(context_), FailsWith(kPrecondition, "rights of SYSTEM"));
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Remove", 5);
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping),
              FailsWith(kPrecondition, "rights of SYSTEM"));
}

TEST_F(SmbTest, TheAdviceNamesEncryptionOnlyIfItIsRequired) {
  for (const auto& [error, code] :
       {std::pair{5, kPrecondition}, {50, kInternal}, {65, kPrecondition}, {1117, kInternal}}) {
    for (const bool privacy : {false, true}) {
      Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create", error);
      const absl::Status refused = Map(kShare, "EX\\u", "pw", privacy);
      const bool cannot_encrypt = privacy && error != 1117;
      EXPECT_EQ(refused.code(), cannot_encrypt ? kPrecondition : code) << error << refused;
      EXPECT_EQ(absl::StrContains(refused.message(), "start csi-proxy with -require-privacy=false"),
                cannot_encrypt)
          << refused;
    }
  }
}

// The state that Windows reports may be wrong, so the host judges a mapping by access to the share.
TEST_F(SmbTest, AMappingIsHealthyIfItsShareCanBeReached) {
  ASSERT_THAT(Map(kShare, "EX\\u", "pw"), IsOk());
  const auto shows = [&] { return (*host_->smb().GetMapping(context_, kShare))->is_connected; };
  node_->core()->Change([](NodeState& state) { state.smb_mappings[0].idle = true; });
  EXPECT_FALSE(shows());
  EXPECT_TRUE(Healthy());
  node_->core()->Change([](NodeState& state) {
    state.smb_mappings[0].idle = false;
    state.smb_mappings[0].broken = true;
  });
  EXPECT_TRUE(shows());
  EXPECT_FALSE(Healthy());
}

TEST_F(SmbTest, EachErrorOfAServerMapsToAKindOfAccess) {
  using Kind = SmbAccess::Kind;
  ASSERT_THAT(Map(kShare, "EX\\u", "pw"), IsOk());
  ASSERT_THAT(node_->MakeDirectory("\\\\srv\\data\\a"), IsOk());
  EXPECT_EQ(Access("\\\\srv\\data\\a").kind, Kind::kReached);
  EXPECT_EQ(Access("\\\\srv\\data\\b").kind, Kind::kNoFolder);
  const struct {
    uint32_t error;
    Kind of_share;
    Kind of_folder;
  } rows[] = {
      {2, Kind::kNotReached, Kind::kNoFolder},    {3, Kind::kNotReached, Kind::kNoFolder},
      {5, Kind::kDenied, Kind::kDenied},          {1231, Kind::kNotReached, Kind::kDfsLink},
      {53, Kind::kNotReached, Kind::kNotReached}, {67, Kind::kNotReached, Kind::kNotReached},
      {86, Kind::kNotReached, Kind::kNotReached}, {1326, Kind::kNotReached, Kind::kNotReached},
  };
  for (const auto& row : rows) {
    Fail("win32.Reach", row.error);
    EXPECT_EQ(Access(kShare).kind, row.of_share) << row.error;
    Fail("win32.Reach", row.error);
    EXPECT_EQ(Access("\\\\srv\\data\\a").kind, row.of_folder) << row.error;
  }
}

// An administrator may have mapped the share to a drive letter beside csi-proxy's mapping.
TEST_F(SmbTest, AMappingWithoutADriveLetterIsPreferred) {
  node_->core()->Change([](NodeState& state) {
    for (const char* letter : {"X:", ""}) {
      state.smb_mappings.emplace_back().remote_path = kShare;
      state.smb_mappings.back().username = "EX\\u";
      state.smb_mappings.back().local_path = letter;
    }
  });
  const auto mapping = host_->smb().GetMapping(context_, kShare);
  EXPECT_EQ((*mapping)->local_path, "");
  EXPECT_THAT(host_->smb().RemoveMapping(context_, **mapping), IsOk());
  EXPECT_EQ((*host_->smb().GetMapping(context_, kShare))->local_path, "X:");
}

}  // namespace
}  // namespace csi_proxy::host
