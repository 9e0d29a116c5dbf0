#include "server/rpc/connection_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::rpc {
namespace {

std::shared_ptr<Client> NewClient(int64_t process_id) {
  return std::make_shared<Client>(Peer{.process_id = process_id, .image_path = ""});
}

class ConnectionTableTest : public testing::Test {
 protected:
  using Served = std::shared_ptr<ServedConnection>;

  // Makes a connection that is not listed yet.
  ConnectionBeforePreface* New(const std::shared_ptr<Client>& client, size_t pipe = 0) {
    ConnectionBeforePreface& connection = connections_.emplace_back();
    connection.pipe = pipe;
    connection.client = client;
    return &connection;
  }
  // Admits `connection` and returns the connection that it displaces, if any.
  ConnectionBeforePreface* Admit(ConnectionBeforePreface* connection) {
    ConnectionBeforePreface* displaced = nullptr;
    EXPECT_TRUE(table_->Admit(connection, &displaced));
    return displaced;
  }
  bool Refused(ConnectionBeforePreface* connection) {
    ConnectionBeforePreface* displaced = connection;
    const bool admitted = table_->Admit(connection, &displaced);
    EXPECT_EQ(displaced, nullptr);
    return !admitted;
  }
  // Serves a connection. Its eviction adds `name` to hung_up_.
  Served Serve(const std::shared_ptr<Client>& client, const std::string& name, size_t pipe = 0) {
    ConnectionBeforePreface* const connection = New(client, pipe);
    EXPECT_EQ(Admit(connection), nullptr) << name;
    const Served served = table_->Promote(connection);
    table_->Serve(served, {.hang_up = [this, name] { hung_up_.push_back(name); },
                           .go_away =
                               [this, name](bool only_if_idle) {
                                 (only_if_idle ? idle_ : gone_).push_back(name);
                               }});
    return served;
  }
  void Limit(size_t max_connections, size_t client_share) {
    table_.emplace(ListenerLimits{.preface_timeout = absl::Hours(1),
                                  .max_connections = max_connections,
                                  .client_share = client_share});
  }

  ConnectionTableTest() { Limit(2, 100); }

  std::optional<ConnectionTable> table_;
  std::deque<ConnectionBeforePreface> connections_;
  std::vector<std::string> hung_up_, idle_, gone_;
  const std::shared_ptr<Client> one_ = NewClient(1), two_ = NewClient(2), three_ = NewClient(3);
};

using Names = std::vector<std::string>;

TEST_F(ConnectionTableTest, AtTheLimitThePipesOldestSilentConnectionIsEvicted) {
  ConnectionBeforePreface* const elsewhere = New(one_, 1);
  ConnectionBeforePreface* const first = New(one_);
  EXPECT_EQ(Admit(elsewhere), nullptr);
  EXPECT_EQ(Admit(first), nullptr);
  EXPECT_EQ(Admit(New(one_)), nullptr);
  EXPECT_EQ(Admit(New(one_)), first);
  EXPECT_FALSE(first->listed);
  EXPECT_TRUE(elsewhere->listed);
  EXPECT_EQ(table_->counters().silent, 3u);
  EXPECT_EQ(table_->counters().dropped_for_room, 1u);
}

TEST_F(ConnectionTableTest, ABarredClientIsRefused) {
  for (int i = 0; i <= 2048; ++i) one_->CountRefusedCall();
  EXPECT_TRUE(Refused(New(one_)));
  EXPECT_EQ(table_->counters().dropped_barred, 1u);
  EXPECT_EQ(table_->counters().dropped_for_room, 0u);
  EXPECT_EQ(Admit(New(two_)), nullptr);
  // The client of unknown processes is never barred, because several processes share it.
  const std::shared_ptr<Client> unknown = NewClient(0);
  for (int i = 0; i <= 2048; ++i) unknown->CountRefusedCall();
  EXPECT_EQ(Admit(New(unknown)), nullptr);
}

TEST_F(ConnectionTableTest, AClientThatConnectsEndlesslyWithoutCallsIsBarred) {
  int dialled = 0;
  const auto dial = [&](const std::shared_ptr<Client>& client, bool calls) {
    const Served served = Serve(client, absl::StrCat(++dialled));
    if (!calls) return;
    served->BeginCall();
    served->EndCall();
  };
  // A driver opens a connection for each call and never closes it.
  for (int i = 0; i < 1100; ++i) dial(one_, true);
  EXPECT_FALSE(one_->barred());
  for (int i = 0; i < 1000; ++i) dial(two_, false);
  EXPECT_FALSE(two_->barred());
  // The account earns only 20 tokens a second, so at most 100 more connections overdraw it.
  for (int i = 0; i < 100 && !two_->barred(); ++i) dial(two_, false);
  EXPECT_TRUE(Refused(New(two_)));
}

TEST_F(ConnectionTableTest, ConnectionsWithARunningCallAreNotEvicted) {
  Serve(one_, "a")->BeginCall();
  const Served second = Serve(one_, "b");
  second->BeginCall();
  EXPECT_TRUE(Refused(New(two_)));
  EXPECT_EQ(table_->counters().dropped_for_room, 1u);
  second->EndCall();
  EXPECT_EQ(Admit(New(two_)), nullptr);
  EXPECT_EQ(hung_up_, Names{"b"});
  EXPECT_EQ(table_->counters().ended_for_room, 1u);
}

TEST_F(ConnectionTableTest, EvictionOrderIsSilentThenNeverUsedThenWithoutARecentCall) {
  Limit(4, 100);
  std::vector<Served> served;
  for (const char* name : {"a", "b", "c"}) served.push_back(Serve(one_, name));
  for (const int called : {0, 1}) {
    served[called]->BeginCall();
    served[called]->EndCall();
  }
  ConnectionBeforePreface* const silent = New(one_);
  Admit(silent);
  EXPECT_EQ(Admit(New(two_)), silent);
  // The client with the most connections loses one; the client that dials does not.
  EXPECT_EQ(Admit(New(two_)), nullptr);
  EXPECT_EQ(hung_up_, Names{"c"}) << "it has never made a call";
  served[0]->BeginCall();
  served[0]->EndCall();
  EXPECT_EQ(Admit(New(three_)), nullptr);
  EXPECT_EQ(hung_up_, (Names{"c", "b"})) << "the other one has made a call since";
}

TEST_F(ConnectionTableTest, TheClientWithTheMostConnectionsLosesOne) {
  Limit(8, 100);
  const auto silent_of_two = New(two_);
  Admit(silent_of_two);
  Admit(New(two_));
  for (int i = 0; i < 6; ++i) Serve(one_, absl::StrCat(i));
  EXPECT_EQ(Admit(New(three_)), nullptr);
  EXPECT_EQ(hung_up_, Names{"0"});
  EXPECT_TRUE(silent_of_two->listed);
}

TEST_F(ConnectionTableTest, InPlaceOfABusyClientTheNextClientLosesAConnection) {
  Limit(5, 100);
  for (int i = 0; i < 3; ++i) Serve(one_, absl::StrCat("busy", i))->BeginCall();
  for (int i = 0; i < 2; ++i) Serve(two_, absl::StrCat("idle", i));
  EXPECT_EQ(Admit(New(three_)), nullptr);
  EXPECT_EQ(hung_up_, Names{"idle0"});
  // Calls are under way on all connections of one_, so two_ loses its own connection.
  EXPECT_EQ(Admit(New(two_)), nullptr);
  EXPECT_EQ(hung_up_, (Names{"idle0", "idle1"}));
}

TEST_F(ConnectionTableTest, AClientBeyondItsShareLosesItsOwnConnection) {
  Limit(8, 75);
  for (int i = 0; i < 6; ++i) Serve(one_, absl::StrCat(i));
  ConnectionBeforePreface* const newest = New(one_);
  EXPECT_EQ(Admit(newest), nullptr);
  EXPECT_EQ(hung_up_, Names{"0"});
  EXPECT_EQ(Admit(New(one_)), newest) << "the silent one goes first";
  // Other clients get the places beyond the part of one_ without an eviction.
  EXPECT_EQ(Admit(New(two_)), nullptr);
  EXPECT_EQ(Admit(New(three_)), nullptr);
  EXPECT_EQ(hung_up_, Names{"0"});
}

TEST_F(ConnectionTableTest, ABusyClientBeyondItsShareIsRefused) {
  Limit(4, 75);
  for (int i = 0; i < 3; ++i) Serve(one_, absl::StrCat(i))->BeginCall();
  EXPECT_TRUE(Refused(New(one_)));
  EXPECT_EQ(Admit(New(two_)), nullptr);
}

TEST_F(ConnectionTableTest, ATenantOfManyProcessesLosesConnectionsToAnotherTenant) {
  Limit(16, 75);
  const auto tenant = std::make_shared<Tenant>();
  std::vector<std::shared_ptr<Client>> greedy;
  for (int i = 0; i < 13; ++i) {
    greedy.push_back(
        std::make_shared<Client>(Peer{.process_id = 10 + i, .image_path = ""}, tenant));
  }
  for (int i = 0; i < 12; ++i) Serve(greedy[i], absl::StrCat("greedy", i));
  // The tenant has three quarters: one more of its processes displaces a connection of the tenant.
  Serve(greedy[12], "greedy12");
  ASSERT_EQ(hung_up_.size(), 1u);
  for (int i = 0; i < 3; ++i) Serve(one_, absl::StrCat("honest", i));
  Serve(two_, "last");
  ASSERT_EQ(hung_up_.size(), 1u);
  // The honest process has the most connections, but its tenant has fewer than the greedy tenant.
  Serve(three_, "late");
  ASSERT_EQ(hung_up_.size(), 2u);
  for (const std::string& name : hung_up_) EXPECT_EQ(name.substr(0, 6), "greedy");
}

class TwoProcessesTest : public ConnectionTableTest, public CallObserver {
 protected:
  void OnDone(const MethodInfo&, const CallContext&, const absl::Status&, absl::Duration) override {
  }
  void OnLimit(const Peer& peer, rpc::Limit, uint64_t) override { at_limit_ = peer.process_id; }

  TwoProcessesTest() {
    table_.emplace(ListenerLimits{.max_connections = 4, .client_share = 50},
                   std::vector<CallObserver*>{this});
  }

  const std::shared_ptr<Tenant> tenant_ = std::make_shared<Tenant>();
  const std::shared_ptr<Client> slow_ = std::make_shared<Client>(
                                    Peer{.process_id = 10, .image_path = ""}, tenant_),
                                fast_ = std::make_shared<Client>(
                                    Peer{.process_id = 11, .image_path = ""}, tenant_);
  int64_t at_limit_ = 0;
};

TEST_F(TwoProcessesTest, AProcessLosesItsOwnSilentConnectionFirst) {
  ConnectionBeforePreface* const slow = New(slow_);
  ConnectionBeforePreface* const fast = New(fast_);
  Admit(slow);
  Admit(fast);
  EXPECT_EQ(Admit(New(fast_)), fast);
  EXPECT_TRUE(slow->listed);
}

TEST_F(TwoProcessesTest, TheLimitIsReportedForTheProcessThatDials) {
  Admit(New(slow_));
  Admit(New(slow_));
  EXPECT_NE(Admit(New(fast_)), nullptr);
  EXPECT_EQ(at_limit_, 11);
}

TEST_F(TwoProcessesTest, AProcessThatEvictsAnotherAgainAndAgainIsBarred) {
  for (int i = 0; i < 2200; ++i) {
    if (fast_->barred()) break;
    Serve(i % 2 == 0 ? slow_ : fast_, "");
  }
  EXPECT_TRUE(fast_->barred());
}

TEST_F(ConnectionTableTest, ATenantsConnectionsAreLimitedOverAllPipes) {
  table_.emplace(
      ListenerLimits{.max_connections = 3, .client_share = 100, .max_connections_of_tenant = 4});
  const auto tenant = std::make_shared<Tenant>();
  const auto first = std::make_shared<Client>(Peer{.process_id = 10, .image_path = ""}, tenant);
  const auto second = std::make_shared<Client>(Peer{.process_id = 11, .image_path = ""}, tenant);
  for (int i = 0; i < 3; ++i) Serve(first, absl::StrCat("a", i), 0);
  Serve(second, "b0", 1);
  Serve(one_, "honest", 1);
  Serve(second, "b1", 1);
  EXPECT_EQ(hung_up_, Names{"a0"});
  // The pipe is full, so another connection to the pipe is evicted.
  Serve(second, "b2", 1);
  EXPECT_EQ(hung_up_, (Names{"a0", "b0"}));
  Serve(one_, "honest", 2);
  EXPECT_EQ(tenant->connections, 4u);
}

TEST_F(ConnectionTableTest, AConnectionThatIsEndingDoesNotCount) {
  Limit(4, 75);
  std::vector<Served> served;
  for (int i = 0; i < 3; ++i) served.push_back(Serve(one_, absl::StrCat(i)));
  Admit(New(one_));
  EXPECT_EQ(hung_up_, Names{"0"});
  EXPECT_EQ(table_->counters().live, 3u);
  // Ending the evicted connection does not count it a second time.
  table_->End(served[0]);
  EXPECT_EQ(table_->counters().live, 2u);
  EXPECT_EQ(Admit(New(two_)), nullptr);
  EXPECT_EQ(hung_up_, Names{"0"});
}

TEST_F(ConnectionTableTest, EvictEndsAConnectionOfTheClientWithTheMostOnAnyPipe) {
  Limit(100, 75);
  ConnectionBeforePreface* displaced = nullptr;
  EXPECT_FALSE(table_->Evict(&displaced));
  Serve(one_, "a", 0);
  for (int i = 0; i < 3; ++i) Serve(two_, absl::StrCat(i), 1);
  EXPECT_TRUE(table_->Evict(&displaced));
  EXPECT_EQ(displaced, nullptr);
  EXPECT_EQ(hung_up_, Names{"0"});
  ConnectionBeforePreface* const silent = New(two_, 1);
  Admit(silent);
  EXPECT_TRUE(table_->Evict(&displaced));
  EXPECT_EQ(displaced, silent);
}

TEST_F(ConnectionTableTest, OverdueConnectionsAreDroppedOldestFirst) {
  EXPECT_EQ(table_->next_deadline(), SteadyTime::InfiniteFuture());
  ConnectionBeforePreface* const first = New(one_);
  ConnectionBeforePreface* const elsewhere = New(two_, 1);
  Admit(first);
  Admit(elsewhere);
  EXPECT_EQ(table_->next_deadline(), first->deadline);
  EXPECT_EQ(table_->DropOverdue(SteadyTime::Now()), nullptr);
  EXPECT_EQ(table_->DropOverdue(elsewhere->deadline), first);
  EXPECT_EQ(table_->DropOverdue(elsewhere->deadline), elsewhere);
  EXPECT_EQ(table_->DropOverdue(elsewhere->deadline), nullptr);
  EXPECT_EQ(table_->counters().dropped_silent, 2u);
  EXPECT_EQ(table_->counters().silent, 0u);
}

TEST_F(ConnectionTableTest, AConnectionIdleBeyondTheTimeoutIsSentGoAway) {
  table_.emplace(ListenerLimits{.idle_timeout = absl::Milliseconds(20)});
  Serve(one_, "idle");
  const Served busy = Serve(one_, "busy");
  busy->BeginCall();
  const SteadyTime now = SteadyTime::Now();
  const SteadyTime next = table_->EndIdle(now);
  EXPECT_EQ(idle_, Names{}) << "not yet";
  EXPECT_GT(next, now);
  absl::SleepFor(absl::Milliseconds(25));
  EXPECT_EQ(table_->EndIdle(now), next) << "it is too early to look again";
  EXPECT_EQ(idle_, Names{});
  table_->EndIdle(next);
  EXPECT_EQ(idle_, Names{"idle"});
  busy->EndCall();
  table_->EndIdle(next + absl::Hours(1));
  EXPECT_EQ(idle_, (Names{"idle", "idle"})) << "the other one has just ended a call";
}

TEST_F(ConnectionTableTest, AStopSendsGoAwayAndWaitsForServedConnections) {
  Limit(8, 100);
  Admit(New(one_));
  const Served served = Serve(one_, "a");
  table_->GoAway();
  EXPECT_EQ(gone_, Names{"a"});
  EXPECT_FALSE(table_->AwaitNoneLive(SteadyTime::Now()));
  std::thread ends([&] { table_->End(served); });
  EXPECT_TRUE(table_->AwaitNoneLive(SteadyTime::Now() + absl::Seconds(30)));
  ends.join();
  table_->GoAway();
  EXPECT_EQ(gone_, Names{"a"});
}

TEST_F(ConnectionTableTest, HangUpEndsOnlyServedConnections) {
  Admit(New(one_));
  Serve(one_, "a");
  table_->HangUp();
  EXPECT_EQ(hung_up_, Names{"a"});
}

TEST_F(ConnectionTableTest, EachClientHasOneMainConnectionPerPipe) {
  Limit(8, 100);
  const auto client = NewClient(1), other = NewClient(2);
  const Served first = Serve(client, "1"), further = Serve(client, "2");
  EXPECT_TRUE(first->is_main());
  EXPECT_FALSE(further->is_main());
  EXPECT_TRUE(Serve(client, "3", 1)->is_main()) << "of another pipe";
  EXPECT_TRUE(Serve(other, "4")->is_main());
  table_->End(further);
  EXPECT_FALSE(Serve(client, "5")->is_main());
  table_->End(first);
  EXPECT_TRUE(Serve(client, "6")->is_main()) << "in place of the one that ended";
}

}  // namespace
}  // namespace csi_proxy::rpc
