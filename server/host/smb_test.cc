#include "server/base/win32_error.h"
#include "server/host/testing.h"

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
    const auto mapping = host_->smb().GetMapping(context_, share);
    if (!mapping.ok() || !mapping->has_value()) return false;
    const auto healthy = host_->smb().IsHealthy(context_, **mapping);
    EXPECT_THAT(healthy, IsOk());
    return healthy.ok() && *healthy;
  }

  // Lets the machine answer once with an error.
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
  std::unique_ptr<Host> host_ = HostOver(*node_);
};

TEST_F(SmbTest, MapsAndUnmaps) {
  EXPECT_THAT(host_->smb().GetMapping(context_, kShare), Yields(std::nullopt));
  ASSERT_THAT(Map(kShare, "ex\\U", "pw"), IsOk());
  EXPECT_THAT(Map(kShare, "EX\\u", "pw"), HasCode(kExists));
  EXPECT_EQ((*host_->smb().GetMapping(context_, kShare))->remote_path, kShare);
  EXPECT_TRUE(Healthy());
  const SmbMapping mapping = **host_->smb().GetMapping(context_, kShare);
  machine::simulated::FaultRule gone;
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

TEST_F(SmbTest, ACallThatWaitsForAServerYieldsItsSlot) {
  TestSlot slot;
  context_ = context_.With(&slot);
  ASSERT_THAT(Map(kShare, "ex\\U", "pw"), IsOk());
  EXPECT_TRUE(slot.TakeYielded());
  const SmbMapping mapping = **host_->smb().GetMapping(context_, kShare);
  EXPECT_TRUE(slot.TakeYielded());
  EXPECT_THAT(host_->smb().IsHealthy(context_, mapping), Yields(true));
  EXPECT_TRUE(slot.TakeYielded());
}

TEST_F(SmbTest, RefusesWithoutNamingThePassword) {
  for (const absl::Status& status :
       {Map(kShare, "EX\\u", "hunter2"), Map(kShare, "nobody", "hunter2")}) {
    EXPECT_THAT(status, FailsWith(kPrecondition, "(1326), 0x80041001"));
    EXPECT_EQ(status.message().find("hunter2"), absl::string_view::npos);
  }
  EXPECT_THAT(Map("\\\\nowhere\\data", "EX\\u", "pw"), HasCode(kNotFound));
  EXPECT_THAT(Map("\\\\srv\\none", "EX\\u", "pw"), HasCode(kNotFound));
  EXPECT_THAT(Map("\\\\old\\data", "u", "pw", true), FailsWith(kPrecondition, "encryption"));
  EXPECT_THAT(Map("\\\\old\\data", "u", "pw", false), IsOk());
  ASSERT_THAT(node_->SetServerReachable("srv", false), IsOk());
  EXPECT_THAT(Map(kShare, "EX\\u", "pw"), FailsWith(kNotFound, "(53), 0x80041001"));
}

// learn.microsoft.com/windows/win32/debug/system-error-codes: what a server answers that refuses,
// and what Windows does where there is a mapping. Each is told with what to do about it.
TEST_F(SmbTest, EveryErrorHasItsCodeAndAdvice) {
  struct Row {
    uint32_t error;
    absl::StatusCode code;
    const char* advice;
  };
  constexpr Row kRows[] = {
      {8, absl::StatusCode::kResourceExhausted, "repair --what=leaked-mappings)"},
      {53, kNotFound, "TCP port 445)"},
      {59, absl::StatusCode::kUnavailable, "(repeat the call;"},
      {64, absl::StatusCode::kUnavailable, "(repeat the call;"},
      {67, kNotFound, "(check the share's name"},
      {85, kExists, "(another program maps the share"},
      {86, kPrecondition, "(correct the user or the password"},
      {121, absl::StatusCode::kUnavailable, "(the server did not answer in time"},
      {1231, absl::StatusCode::kUnavailable, "(the node has no route to the server"},
      {1326, kPrecondition, "(correct the user or the password"},
      {1327, kPrecondition, "empty password"},
      {1328, kPrecondition, "at any hour)"},
      {1330, kPrecondition, "(set a new password"},
      {1331, kPrecondition, "(enable the account)"},
      {1385, kPrecondition, "right to access the server from the network)"},
      {1907, kPrecondition, "(set a new password"},
      {1909, kPrecondition, "(unlock the account"},
      {2138, kPrecondition, "(start the node's service LanmanWorkstation; if it runs, restart it"},
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

TEST_F(SmbTest, ErrorsOfOtherCallsHaveTheirAdviceToo) {
  Fail("wmi.Query/MSFT_SmbGlobalMapping", 2138);
  EXPECT_THAT(host_->smb().GetMapping(context_, kShare), FailsWith(kPrecondition, "Lanman"));
  Fail("wmi.Query/MSFT_SmbGlobalMapping", 2138);
  EXPECT_THAT(host_->smb().ListMappings(context_), FailsWith(kPrecondition, "Lanman"));
  ASSERT_THAT(Map(kShare, "EX\\u", "pw"), IsOk());
  const SmbMapping mapping = **host_->smb().GetMapping(context_, kShare);
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Remove", 59);
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping),
              FailsWith(absl::StatusCode::kUnavailable, "(repeat the call"));
}

TEST_F(SmbTest, AServerThatCannotEncryptIsToldFromOneThatRefuses) {
  for (const auto& [error, code] : {std::pair{5, kDenied}, {50, kInternal}, {1117, kInternal}}) {
    for (const bool privacy : {false, true}) {
      Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create", error);
      const absl::Status refused = Map(kShare, "EX\\u", "pw", privacy);
      const bool cannot_encrypt = privacy && error != 1117;
      EXPECT_EQ(refused.code(), cannot_encrypt ? kPrecondition : code) << error << refused;
      EXPECT_EQ(
          refused.message().find(" (encryption is required: see the option require_privacy)") !=
              absl::string_view::npos,
          cannot_encrypt)
          << refused;
    }
  }
}

TEST_F(SmbTest, ANewPasswordBreaksTheMappingUntilItIsMadeAnew) {
  ASSERT_THAT(Map(kShare, "EX\\u", "pw"), IsOk());
  ASSERT_THAT(node_->SetSmbPassword("SRV", "ex\\u", Secret("new")), IsOk());
  EXPECT_FALSE(Healthy());
  ASSERT_THAT(host_->smb().RemoveMapping(context_, **host_->smb().GetMapping(context_, kShare)),
              IsOk());
  EXPECT_THAT(Map(kShare, "EX\\u", "pw"), HasCode(kPrecondition));
  EXPECT_THAT(Map(kShare, "EX\\u", "new"), IsOk());
  EXPECT_TRUE(Healthy());
  EXPECT_THAT(node_->SetSmbPassword("nowhere", "u", Secret("x")), HasCode(kNotFound));
  EXPECT_THAT(node_->SetSmbPassword("srv", "third", Secret("x")), IsOk());
  EXPECT_TRUE(Healthy());
}

// The shown state of a mapping may be wrong: only reaching the share tells.
TEST_F(SmbTest, IsHealthyWhileTheShareIsReached) {
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

TEST_F(SmbTest, AShareWhoseRootMayNotBeReadIsReached) {
  ASSERT_THAT(Map(kShare, "EX\\u", "pw"), IsOk());
  const auto reach_fails_with = [&](uint32_t error) {
    node_->ClearFaults();
    machine::simulated::FaultRule rule;
    rule.operation = "win32.Reach";
    rule.code = kInternal;
    rule.error = KnownError(error);
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
  };
  reach_fails_with(5);
  EXPECT_TRUE(Healthy());
  for (const uint32_t error : {53, 67, 86, 1326}) {
    reach_fails_with(error);
    EXPECT_FALSE(Healthy()) << error;
  }
}

TEST_F(SmbTest, AServerGoesAndComesBack) {
  ASSERT_THAT(Map(kShare, "EX\\u", "pw"), IsOk());
  ASSERT_THAT(node_->SetServerReachable("srv", false), IsOk());
  EXPECT_FALSE(Healthy());
  ASSERT_THAT(node_->SetServerReachable("srv", true), IsOk());
  EXPECT_TRUE(Healthy());
  ASSERT_THAT(node_->BreakMapping("//SRV/Data"), IsOk());
  EXPECT_FALSE(Healthy());
  EXPECT_THAT(node_->BreakMapping("\\\\srv\\none"), HasCode(kNotFound));
  EXPECT_THAT(node_->BreakMapping("srv"), HasCode(kInvalid));
  EXPECT_THAT(node_->SetServerReachable("nowhere", true), HasCode(kNotFound));
}

TEST_F(SmbTest, AddsSharesAndFillsThem) {
  ASSERT_THAT(node_->AddShare("new.example", "s"), IsOk());
  EXPECT_THAT(node_->AddShare("NEW.example", "S"), HasCode(kExists));
  EXPECT_THAT(node_->AddShare("srv", "bad\\name"), FailsWith(kInvalid, "share[3].name"));
  EXPECT_THAT(node_->AddShare("", "s"), HasCode(kInvalid));
  EXPECT_THAT(node_->MakeDirectory("\\\\new.example\\s\\a\\b"), IsOk());
  EXPECT_THAT(node_->WriteFile("\\\\new.example\\s\\a\\b\\f", 12, false), IsOk());
  EXPECT_THAT(node_->WriteFile("\\\\new.example\\s\\a\\b\\f", 13, false), IsOk());
  EXPECT_THAT(node_->WriteFile("\\\\new.example\\s\\a\\b", 12, false), HasCode(kExists));
  EXPECT_THAT(node_->WriteFile("\\\\new.example\\s\\x\\f", 12, false), IsOk());
  EXPECT_THAT(node_->MakeDirectory("\\\\new.example\\none\\a"), HasCode(kNotFound));
  EXPECT_THAT(node_->MakeDirectory("\\\\new.example\\s\\a\\b\\f\\g"), HasCode(kPrecondition));
}

}  // namespace
}  // namespace csi_proxy::host
