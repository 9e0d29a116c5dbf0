#include "server/host/testing.h"

namespace csi_proxy::host {
namespace {

constexpr char kServers[] = R"(
  smb_server { name: "srv" user { name: "EX\\u" password: "pw" } share { name: "data" } }
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
    return mapping.ok() && mapping->has_value() && (*mapping)->is_connected;
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
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping), IsOk());
  EXPECT_FALSE(Healthy());
  EXPECT_THAT(host_->smb().RemoveMapping(context_, mapping), HasCode(kNotFound));
}

TEST_F(SmbTest, RefusesWithoutNamingThePassword) {
  for (const absl::Status& status :
       {Map(kShare, "EX\\u", "hunter2"), Map(kShare, "nobody", "hunter2")}) {
    EXPECT_THAT(status, FailsWith(kPrecondition, "0x8007052E"));
    EXPECT_EQ(status.message().find("hunter2"), absl::string_view::npos);
  }
  EXPECT_THAT(Map("\\\\nowhere\\data", "EX\\u", "pw"), HasCode(kNotFound));
  EXPECT_THAT(Map("\\\\srv\\none", "EX\\u", "pw"), HasCode(kNotFound));
  EXPECT_THAT(Map("\\\\old\\data", "u", "pw", true), FailsWith(kPrecondition, "encryption"));
  EXPECT_THAT(Map("\\\\old\\data", "u", "pw", false), IsOk());
  ASSERT_THAT(node_->SetServerReachable("srv", false), IsOk());
  EXPECT_THAT(Map(kShare, "EX\\u", "pw"), FailsWith(kNotFound, "0x80070035"));
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
  EXPECT_THAT(node_->SetSmbPassword("srv", "second", Secret("x")), IsOk());
  EXPECT_TRUE(Healthy());
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
  EXPECT_THAT(node_->AddShare("srv", "bad\\name"), FailsWith(kInvalid, "share[1].name"));
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
