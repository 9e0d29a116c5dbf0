// Tests who can serve a name that clients keep in use while servers start, stop and crash.
#include "server/pipe/pipe_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "server/names/win32_error.h"
#include "server/pipe/closer.h"
#include "server/pipe/testing/leaky_clients.h"
#include "server/pipe/testing/npfs.h"

namespace csi_proxy::pipe {
namespace {

using testing::HasSubstr;

constexpr char kUserSid[] = "S-1-5-21-1-2-3-1001";

// The security of the Go release's pipes: Windows' defaults, which let everyone read.
const ObjectSecurity kGos{.owner = kAdministratorsSid,
                          .has_dacl = true,
                          .dacl = {{.rights = 0x10000000, .sid = kSystemSid},
                                   {.rights = 0x10000000, .sid = kAdministratorsSid},
                                   {.rights = 0x80000000, .sid = kEveryoneSid}}};

// Does what a listener does: takes the name, and makes an instance and a ServerEnd per client.
class Server {
 public:
  explicit Server(std::shared_ptr<Npfs> npfs, uint32_t id = 1)
      : calls_(std::make_shared<Npfs::Process>(
            npfs, kOurs, Npfs::Process::Token{.sids = {kAdministratorsSid, kSystemSid}, .id = id})),
        closer_(calls_, absl::Milliseconds(200)) {}

  absl::Status Start(const absl::Status& alone = absl::OkStatus()) {
    const absl::StatusOr<void*> first = TakeName(*calls_, kTestPipe, alone);
    if (first.ok()) ends_.push_back(closer_.Adopt(*first));
    return first.status();
  }
  // Connects a client, and makes an instance for the next client.
  absl::Status Serve(LeakyClients* clients) {
    absl::Status opened = clients->Open();
    const absl::StatusOr<void*> next = calls_->Create(kTestPipe, Creation::kFurther);
    if (next.ok()) ends_.push_back(closer_.Adopt(*next));
    opened.Update(next.status());
    return opened;
  }
  // Stops as a listener does, then ends the process.
  void Stop() {
    for (const auto& end : ends_) end->DisconnectOnceRead();
    ends_.clear();
    closer_.Finish();
    calls_->Crash();
  }
  void Crash() { calls_->Crash(); }
  Npfs::Process& calls() { return *calls_; }

 private:
  const std::shared_ptr<Npfs::Process> calls_;
  Closer closer_;
  std::vector<std::shared_ptr<ServerEnd>> ends_;
};

class PipeNameTest : public testing::TestWithParam<size_t> {
 protected:
  void Leak(Server* server) {
    for (size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(server->Serve(&leaked_).ok()) << i;
  }
  // Expects that the name exists but no process serves it.
  void ExpectZombie() {
    ASSERT_TRUE(npfs_->HasName(kTestPipe));
    Npfs::Process other(npfs_, kOurs);
    EXPECT_TRUE(HasWin32Code(other.Look(kTestPipe).status(), win32_error::kFileNotFound));
    EXPECT_TRUE(HasWin32Code(other.Create(kTestPipe, Creation::kFirst).status(),
                             win32_error::kAccessDenied));
  }
  void ExpectServes(Server* server) {
    LeakyClients clients(npfs_);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(server->Serve(&clients).ok());
  }

  const std::shared_ptr<Npfs> npfs_ = std::make_shared<Npfs>();
  LeakyClients leaked_{npfs_};
};

INSTANTIATE_TEST_SUITE_P(LeakedEnds, PipeNameTest, testing::Values(1, 100, 5000));

TEST_P(PipeNameTest, ANewServerInheritsTheNameAfterACrash) {
  Server first(npfs_);
  ASSERT_TRUE(first.Start().ok());
  Leak(&first);
  first.Crash();
  ExpectZombie();
  Server second(npfs_);
  const absl::Status started = second.Start();
  ASSERT_TRUE(started.ok()) << started;
  ExpectServes(&second);
  // The second server keeps the name when the clients of the first disconnect.
  leaked_.Leave();
  ExpectServes(&second);
  Server third(npfs_);
  EXPECT_TRUE(absl::IsFailedPrecondition(third.Start()));
}

TEST_P(PipeNameTest, TheNameIsFreeAfterAStop) {
  Server first(npfs_);
  ASSERT_TRUE(first.Start().ok());
  Leak(&first);
  first.Stop();
  EXPECT_EQ(leaked_.size(), GetParam());
  EXPECT_FALSE(npfs_->HasName(kTestPipe));
  Server second(npfs_);
  EXPECT_TRUE(second.Start().ok());
  ExpectServes(&second);
}

TEST_P(PipeNameTest, AnUpgradedAndARolledBackServerCanTakeTheName) {
  Server old_one(npfs_);
  ASSERT_TRUE(old_one.Start().ok());
  Leak(&old_one);
  // The process of a server whose stop took too long is killed.
  old_one.Crash();
  Server upgraded(npfs_);
  ASSERT_TRUE(upgraded.Start().ok());
  Leak(&upgraded);
  upgraded.Crash();
  ExpectZombie();
  Server rolled_back(npfs_);
  const absl::Status started = rolled_back.Start();
  ASSERT_TRUE(started.ok()) << started;
  ExpectServes(&rolled_back);
  EXPECT_EQ(leaked_.size(), 2 * GetParam());
  rolled_back.Stop();
  // Clients of the two crashed servers keep the name.
  ExpectZombie();
  leaked_.Leave();
  EXPECT_FALSE(npfs_->HasName(kTestPipe));
}

class TakeNameTest : public testing::Test {
 protected:
  // Leaves a pipe whose server has crashed while a client has it open.
  void LeftBy(Npfs::Process* server) {
    ASSERT_TRUE(server->Create(kTestPipe, Creation::kFirst).ok());
    ASSERT_TRUE(clients_.Open(server_sids_).ok());
    server->Crash();
  }
  // Tries to take the name and returns the status. A failure must leave no instance.
  absl::Status Take(const absl::Status& alone = absl::OkStatus()) {
    const size_t before = npfs_->instances(kTestPipe);
    const absl::Status status = TakeName(calls_, kTestPipe, alone).status();
    EXPECT_EQ(npfs_->instances(kTestPipe), before + (status.ok() ? 1 : 0));
    return status;
  }
  void ExpectRefused(const absl::Status& status, const std::string& words) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(kTestPipe));
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  const std::shared_ptr<Npfs> npfs_ = std::make_shared<Npfs>();
  LeakyClients clients_{npfs_};
  Npfs::Process calls_{npfs_, kOurs};
  std::vector<std::string> server_sids_ = {kAdministratorsSid, kSystemSid, kUserSid};
};

TEST_F(TakeNameTest, AFreeNameIsTakenEvenWithoutTheLock) {
  EXPECT_TRUE(Take(absl::UnavailableError("no lock")).ok());
}

TEST_F(TakeNameTest, TheErrorNamesTheProcessThatServesTheName) {
  Npfs::Process living(npfs_, kOurs, {.id = 4711});
  ASSERT_TRUE(living.Create(kTestPipe, Creation::kFirst).ok());
  ExpectRefused(Take(), "process 4711");
}

TEST_F(TakeNameTest, AServedNameIsRefusedEvenIfAllInstancesAreBusy) {
  Npfs::Process living(npfs_, kOurs);
  ASSERT_TRUE(living.Create(kTestPipe, Creation::kFirst).ok());
  LeakyClients clients(npfs_);
  ASSERT_TRUE(clients.Open().ok());
  ExpectRefused(Take(), "is served already");
}

TEST_F(TakeNameTest, AServerThatDeniesAllClientsCountsAsServing) {
  Npfs::Process living(npfs_, {.has_dacl = true}, {.sids = {kUserSid}});
  ASSERT_TRUE(living.Create(kTestPipe, Creation::kFirst).ok());
  ExpectRefused(Take(), "is served already");
}

TEST_F(TakeNameTest, AServerThatStartsAfterTheFirstCheckIsDetected) {
  Npfs::Process other(npfs_, kOurs);
  calls_.after_look = [&] { (void)other.Create(kTestPipe, Creation::kFirst); };
  ExpectRefused(TakeName(calls_, kTestPipe, absl::OkStatus()).status(), "is served already");
  EXPECT_EQ(npfs_->instances(kTestPipe), 1u);
}

// Without the lock, two servers could both find that no process serves the name, and both inherit
// it.
TEST_F(TakeNameTest, ANameIsInheritedOnlyUnderTheLock) {
  Npfs::Process crashed(npfs_, kOurs);
  LeftBy(&crashed);
  ExpectRefused(Take(absl::PermissionDeniedError("somebody has the lock")),
                "somebody has the lock");
  EXPECT_TRUE(Take().ok());
  Npfs::Process second(npfs_, kOurs);
  ExpectRefused(TakeName(second, kTestPipe, absl::OkStatus()).status(), "is served already");
}

TEST_F(TakeNameTest, TakeNameSucceedsIfTheLastClientLeavesDuringTheCall) {
  Npfs::Process crashed(npfs_, kOurs);
  ASSERT_TRUE(crashed.Create(kTestPipe, Creation::kFirst).ok());
  const auto client = npfs_->Open(kTestPipe, kPodSids);
  ASSERT_TRUE(client.ok());
  crashed.Crash();
  int looks = 0;
  calls_.after_look = [&] {
    if (++looks == 2) npfs_->Close(*client);
  };
  EXPECT_TRUE(TakeName(calls_, kTestPipe, absl::OkStatus()).ok());
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(npfs_->instances(kTestPipe), 1u);
}

TEST_F(TakeNameTest, APipeLeftByAnotherUserIsRefused) {
  // Everyone may make instances of this pipe, so its owner could serve it too.
  Npfs::Process squatter(npfs_, {}, {.sids = {kUserSid}});
  LeftBy(&squatter);
  ExpectRefused(Take(), std::string("belongs to ") + kUserSid);
}

TEST_F(TakeNameTest, APipeLeftByAnotherUserWithOurDaclIsRefused) {
  ObjectSecurity pretended = kOurs;
  pretended.owner = kUserSid;
  Npfs::Process squatter(npfs_, pretended, {.sids = {kUserSid}});
  server_sids_ = kPodSids;
  LeftBy(&squatter);
  ExpectRefused(Take(), std::string("belongs to ") + kUserSid);
}

TEST_F(TakeNameTest, APipeLeftByAnotherUserThatDeniesUsIsRefused) {
  const ObjectSecurity closed{.has_dacl = true, .dacl = {{.rights = 0x1f01ff, .sid = kUserSid}}};
  Npfs::Process squatter(npfs_, closed, {.sids = {kUserSid}});
  LeftBy(&squatter);
  ExpectRefused(Take(), "no instance can be made of it");
}

TEST_F(TakeNameTest, APipeThatAnotherUserMakesDuringTheCallIsRefused) {
  Npfs::Process crashed(npfs_, kOurs);
  ASSERT_TRUE(crashed.Create(kTestPipe, Creation::kFirst).ok());
  const auto client = npfs_->Open(kTestPipe, kPodSids);
  ASSERT_TRUE(client.ok());
  crashed.Crash();
  Npfs::Process squatter(npfs_, {}, {.sids = {kUserSid}});
  int looks = 0;
  calls_.after_look = [&] {
    if (++looks != 2) return;
    npfs_->Close(*client);
    ASSERT_TRUE(squatter.Create(kTestPipe, Creation::kFirst).ok());
  };
  ExpectRefused(TakeName(calls_, kTestPipe, absl::OkStatus()).status(),
                std::string("belongs to ") + kUserSid);
  EXPECT_EQ(npfs_->instances(kTestPipe), 1u);
}

TEST_F(TakeNameTest, TheErrorReportsThatNoInstanceCanBeMade) {
  Npfs::Process crashed(npfs_, kOurs);
  crashed.max_instances = 1;
  LeftBy(&crashed);
  ExpectRefused(Take(), "no instance can be made of it");
}

TEST_F(TakeNameTest, AnAdministratorsPipeThatOtherAccountsMayServeIsRefused) {
  Npfs::Process open(npfs_, {});
  LeftBy(&open);
  ExpectRefused(Take(), "others than SYSTEM and the administrators may serve it");
}

TEST_F(TakeNameTest, APipeLeftByTheGoReleaseGetsOurOwnerAndDacl) {
  Npfs::Process go(npfs_, kGos);
  LeftBy(&go);
  LeakyClients clients(npfs_);
  absl::StatusOr<Npfs::Client> early = absl::UnknownError("none");
  calls_.after_create = [&] {
    if (!early.ok()) early = npfs_->Open(kTestPipe, {kUserSid}, 0x80000000);
  };
  const absl::StatusOr<void*> taken = TakeName(calls_, kTestPipe, absl::OkStatus());
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_TRUE(SameDacl(*calls_.Security(*taken), kOurs));
  EXPECT_EQ(calls_.Security(*taken)->owner, kSystemSid);
  // A client that connected under the old DACL is not served.
  ASSERT_TRUE(early.ok());
  EXPECT_TRUE(HasWin32Code(npfs_->Read(*early).status(), 233));
  EXPECT_TRUE(HasWin32Code(npfs_->Open(kTestPipe, {kUserSid}, 0x80000000).status(),
                           win32_error::kAccessDenied));
  EXPECT_TRUE(clients.Open().ok());
  npfs_->Close(*early);
}

// Clients send nothing to a pipe of Administrators, because a container's administrator may have
// made it.
TEST_F(TakeNameTest, AnInheritedPipeWithOurDaclGetsOurOwner) {
  ObjectSecurity theirs = kOurs;
  theirs.owner = kAdministratorsSid;
  Npfs::Process administrators(npfs_, theirs);
  LeftBy(&administrators);
  const absl::StatusOr<void*> taken = TakeName(calls_, kTestPipe, absl::OkStatus());
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(calls_.Security(*taken)->owner, kSystemSid);
}

// In console mode the user is an administrator, and another administrator or SYSTEM may have served
// before.
TEST_F(TakeNameTest, AUserInheritsOnlyTheUsersOwnAndTheGoReleasesPipes) {
  ObjectSecurity users = kOurs;
  users.owner = kUserSid;
  users.dacl.push_back({.rights = 0x10000000, .sid = kUserSid});
  const Npfs::Process::Token token{.sids = {kAdministratorsSid, kUserSid}};
  for (const ObjectSecurity& left : {users, kGos}) {
    Npfs::Process crashed(npfs_, left, token);
    LeftBy(&crashed);
    Npfs::Process user(npfs_, users, token);
    const absl::StatusOr<void*> taken = TakeName(user, kTestPipe, absl::OkStatus());
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_EQ(user.Security(*taken)->owner, kUserSid);
    clients_.Leave();
  }
  Npfs::Process system(npfs_, kOurs);
  LeftBy(&system);
  Npfs::Process user(npfs_, users, token);
  ExpectRefused(TakeName(user, kTestPipe, absl::OkStatus()).status(), "no instance can be made");
}

}  // namespace
}  // namespace csi_proxy::pipe
