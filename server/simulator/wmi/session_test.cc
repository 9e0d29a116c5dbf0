#include "server/simulator/wmi/session.h"

#include "absl/time/clock.h"
#include "server/names/win32_error.h"
#include "server/simulator/storage.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::SizeIs;

constexpr cim::Association kPartitions = {"MSFT_DiskToPartition", "MSFT_Partition", "Partition",
                                          "Disk"};

class SessionTest : public WmiTest {
 protected:
  void Inject(const char* operation, const char* resource, uint32_t error,
              absl::Duration latency = absl::ZeroDuration()) {
    FaultRule rule;
    rule.operation = operation;
    rule.resource = resource;
    rule.latency = latency;
    rule.code = latency > absl::ZeroDuration() ? absl::StatusCode::kOk : kInternal;
    rule.error = {error, "injected"};
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
  }
};

TEST_F(SessionTest, UnknownClassesObjectsAndMethodsAreErrors) {
  const std::string disk = Disk(1).path();
  const auto invoke = [&](const std::string& path, const std::string& method,
                          const cim::Arguments& arguments = {}) {
    return session_->Invoke(context_, kStorage, path, method, arguments);
  };
  EXPECT_THAT(All(Query("MSFT_Nothing")), FailsWithHresult(cim::hresult::kInvalidClass));
  EXPECT_THAT(All(Query("MSFT_Disk"), kSmb), FailsWithHresult(cim::hresult::kInvalidClass));
  EXPECT_THAT(All(Query("MSFT_Disk").Where("Letter", Value::Uint32(1))),
              FailsWithHresult(cim::hresult::kInvalidQuery));
  EXPECT_THAT(session_->Get(context_, kStorage, "MSFT_Disk"),
              FailsWithHresult(cim::hresult::kInvalidObjectPath));
  EXPECT_THAT(session_->Get(context_, kStorage, "MSFT_Disk.ObjectId=\"x\""),
              FailsWithHresult(cim::hresult::kNotFound));
  EXPECT_THAT(invoke("MSFT_Nothing", "New"), FailsWithHresult(cim::hresult::kInvalidClass));
  EXPECT_THAT(invoke(disk, "Reboot"), FailsWithHresult(cim::hresult::kInvalidMethod));
  // Calls an instance's method on the class.
  EXPECT_THAT(invoke("MSFT_Disk", "Online"), FailsWithHresult(cim::hresult::kInvalidMethod));
  EXPECT_THAT(invoke("MSFT_Disk.ObjectId=\"x\"", "Online"),
              FailsWithHresult(cim::hresult::kNotFound));
}

TEST_F(SessionTest, ArgumentsMustMatchTheMethodsSignature) {
  const auto initialize = [&](const cim::Arguments& arguments) {
    return Invoke(Disk(1), "Initialize", arguments);
  };
  EXPECT_THAT(initialize({{"Style", Value::Uint16(2)}}),
              FailsWithHresult(cim::hresult::kInvalidMethodParameters));
  EXPECT_THAT(initialize({{"PartitionStyle", Value::Uint32(2)}}),
              FailsWithHresult(cim::hresult::kTypeMismatch));
  EXPECT_THAT(initialize({{"PartitionStyle", Value::String("2")}}),
              FailsWithHresult(cim::hresult::kTypeMismatch));
  EXPECT_THAT(
      initialize({{"PartitionStyle", Value::Array(cim::Type::kUint16, {Value::Uint16(2)})}}),
      FailsWithHresult(cim::hresult::kTypeMismatch));
  EXPECT_THAT(initialize({{"ExtendedStatus", Value::String("")}}),
              FailsWithHresult(cim::hresult::kInvalidMethodParameters));
  EXPECT_THAT(Invoke(Partition(2, 1), "Resize"),
              FailsWithHresult(cim::hresult::kInvalidMethodParameters));
  EXPECT_THAT(Invoke(Partition(2, 1), "Resize", {{"Size", Value()}}),
              FailsWithHresult(cim::hresult::kInvalidMethodParameters));
  EXPECT_THAT(Disk(1).GetUint32("PartitionStyle"), Yields(0U));
  // A null argument counts as not given, and names are compared ignoring case.
  EXPECT_THAT(initialize({{"partitionstyle", Value()}}), Returns(0));
}

TEST_F(SessionTest, AnObjectWithoutItsKeyHasNoPath) {
  SimulatedSession session(node_->core());
  const auto bare =
      session.DoQuery(context_, kStorage, "SELECT Number FROM MSFT_Disk WHERE Number = 2");
  ASSERT_THAT(bare, IsOk());
  ASSERT_THAT(*bare, SizeIs(1));
  EXPECT_EQ(bare->front().path(), "");
  EXPECT_THAT(bare->front().properties(), SizeIs(1));
  const auto whole = session.DoQuery(context_, kStorage,
                                     "SELECT Number, ObjectId FROM MSFT_Disk WHERE Number = 2");
  EXPECT_EQ(whole->front().path(), Disk(2).path());
}

TEST_F(SessionTest, AFaultsResourceMatchesTheObjectOfACall) {
  const cim::Object first = Disk(1);
  const cim::Object second = Disk(2);
  const cim::Object partition = Partition(2, 1);
  const cim::Object volume = Volume(TestVolume(2));
  Inject("wmi.*", "2", cim::hresult::kFailed);
  Inject("wmi.*", TestVolume(2).ToString().c_str(), cim::hresult::kTimedOut);
  Inject("wmi.*", R"(\\files\data)", cim::hresult::kNotFound);
  Inject("wmi.*", "10.0.0.5:3260", cim::hresult::kAccessDenied);
  Inject("wmi.*", "iqn.a", cim::hresult::kProviderLoadFailure);
  const auto fails = FailsWithHresult(cim::hresult::kFailed);
  EXPECT_THAT(All(Query("MSFT_Disk").Where("Number", Value::Uint32(2))), fails);
  EXPECT_THAT(All(Query("MSFT_Partition").Where("DiskNumber", Value::Uint32(2))), fails);
  EXPECT_THAT(session_->Get(context_, kStorage, second.path()), fails);
  EXPECT_THAT(Invoke(second, "Refresh"), fails);
  EXPECT_THAT(Invoke(partition, "Online"), fails);
  EXPECT_THAT(session_->Associators(context_, kStorage, second.path(), kPartitions), fails);
  EXPECT_THAT(session_->Get(context_, kStorage, first.path()), IsOk());
  EXPECT_THAT(All(Query("MSFT_Disk")), IsOk());
  EXPECT_THAT(Invoke(volume, "Flush"), FailsWithHresult(cim::hresult::kTimedOut));
  EXPECT_THAT(InvokeStatic("MSFT_SmbGlobalMapping", "Create",
                           {{"RemotePath", Value::String(R"(\\FILES\data)")}}, kSmb),
              FailsWithHresult(cim::hresult::kNotFound));
  EXPECT_THAT(InvokeStatic("MSFT_iSCSITargetPortal", "New",
                           {{"TargetPortalAddress", Value::String("10.0.0.5")},
                            {"TargetPortalPortNumber", Value::Uint16(3260)}}),
              FailsWithHresult(cim::hresult::kAccessDenied));
  EXPECT_THAT(
      InvokeStatic("MSFT_iSCSITarget", "Connect", {{"NodeAddress", Value::String("iqn.a")}}),
      FailsWithHresult(cim::hresult::kProviderLoadFailure));
}

TEST_F(SessionTest, AMethodCanBeConfiguredToFinishAfterItsCallerLeft) {
  for (const bool changed : {false, true}) {
    node_->Reset();
    FaultRule rule;
    rule.operation = "wmi.Invoke/MSFT_Disk.Initialize";
    rule.times = 1;
    rule.latency = absl::Milliseconds(60);
    rule.goes_on = true;
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
    const CallContext hurried(absl::Now() + absl::Milliseconds(20), nullptr, nullptr);
    EXPECT_THAT(session_->Invoke(hurried, kStorage, Disk(1).path(), "Initialize"),
                HasCode(absl::StatusCode::kDeadlineExceeded));
    EXPECT_THAT(Disk(1).GetUint32("PartitionStyle"), Yields(0U));
    if (changed) node_->core()->Change([](NodeState& state) { state.disks[1].read_only = true; });
    absl::SleepFor(absl::Milliseconds(100));
    EXPECT_THAT(Disk(1).GetUint32("PartitionStyle"), Yields(changed ? 0U : 2U));
  }
}

TEST_F(SessionTest, AQueryCanBeConfiguredToReturnNoObjectOrEachObjectTwice) {
  for (const auto& [objects, count] :
       {std::pair(AnsweredObjects::kNone, 0u), std::pair(AnsweredObjects::kEachTwice, 2u)}) {
    FaultRule rule;
    rule.operation = "wmi.Query/MSFT_Disk";
    rule.times = 1;
    rule.objects = objects;
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
    const auto found = session_->Query(CallContext(), kStorage,
                                       Query("MSFT_Disk").Where("Number", Value::Uint32(1)));
    ASSERT_THAT(found, IsOk());
    EXPECT_EQ(found->size(), count);
  }
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi
