// Tests that the double of WMI, reached through COM's activation, is as strict as WMI.
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "integration/wine/node/testing_windows.h"
#include "integration/wine/process_counts.h"

namespace csi_proxy::node_double {
namespace {

using testing::HasSubstr;

constexpr char kDisk1[] = "SELECT * FROM MSFT_Disk WHERE Number = 1";
constexpr char kNoDisk[] = "SELECT * FROM MSFT_Disk WHERE Number = 77";

class ComDoubleTest : public NodeTest {
 protected:
  // Returns the CIM type of a property and the type of its VARIANT.
  static std::pair<CIMTYPE, VARTYPE> TypesOf(const ComPtr<IWbemClassObject>& object, LPCWSTR name) {
    Variant value;
    CIMTYPE type = 0;
    EXPECT_EQ(object->Get(name, 0, value.Receive(), &type, nullptr), WBEM_S_NO_ERROR);
    return {type, V_VT(value.get())};
  }
  std::string Disk1() { return Text(First(kDisk1), L"__RELPATH"); }
};

TEST_F(ComDoubleTest, TheNamespacesAreThoseOfTheComputer) {
  ComPtr<IWbemServices> services;
  for (const char* const name : {R"(ROOT\CIMV2)", R"(root\cimv2)", "root/cimv2",
                                 R"(\\.\ROOT\CIMV2)", R"(root\microsoft\windows\storage)", kSmb}) {
    EXPECT_EQ(ConnectServer(name, &services), WBEM_S_NO_ERROR) << name;
  }
  for (const char* const name : {"", "ROOT", R"(ROOT\CIMV3)", R"(\\elsewhere\ROOT\CIMV2)"}) {
    EXPECT_EQ(ConnectServer(name, &services), WBEM_E_INVALID_NAMESPACE) << name;
    EXPECT_FALSE(services) << name;
  }
  EXPECT_EQ(locator_->ConnectServer(Bstr(kStorage).get(), Bstr("me").get(), Bstr("mine").get(),
                                    nullptr, 0, nullptr, nullptr, services.Receive()),
            WBEM_E_LOCAL_CREDENTIALS);
  EXPECT_EQ(locator_->ConnectServer(Bstr(kStorage).get(), nullptr, nullptr, nullptr, 1, nullptr,
                                    nullptr, services.Receive()),
            WBEM_E_INVALID_PARAMETER);
}

TEST_F(ComDoubleTest, ValuesComeAsWmiGivesThem) {
  using Types = std::pair<CIMTYPE, VARTYPE>;
  const auto disk = First(kDisk1);
  EXPECT_EQ(TypesOf(disk, L"Number"), Types(CIM_UINT32, VT_I4));
  EXPECT_EQ(TypesOf(disk, L"Size"), Types(CIM_UINT64, VT_BSTR));
  EXPECT_EQ(TypesOf(disk, L"PartitionStyle"), Types(CIM_UINT16, VT_I4));
  EXPECT_EQ(TypesOf(disk, L"IsOffline"), Types(CIM_BOOLEAN, VT_BOOL));
  EXPECT_EQ(TypesOf(disk, L"Location"), Types(CIM_STRING, VT_BSTR));
  EXPECT_EQ(TypesOf(disk, L"SerialNumber"), Types(CIM_STRING, VT_NULL)) << "it has none";
  EXPECT_EQ(Text(disk, L"Size"), "10737418240");
  const auto partition = First("SELECT * FROM MSFT_Partition WHERE DriveLetter = 'C'");
  EXPECT_EQ(TypesOf(partition, L"DriveLetter"), Types(CIM_CHAR16, VT_I2));
  EXPECT_EQ(TypesOf(partition, L"AccessPaths"),
            Types(CIM_FLAG_ARRAY | CIM_STRING, VT_ARRAY | VT_BSTR));
  const auto volume = First("SELECT * FROM MSFT_Volume WHERE FileSystem = 'NTFS'");
  EXPECT_EQ(TypesOf(volume, L"OperationalStatus"),
            Types(CIM_FLAG_ARRAY | CIM_UINT16, VT_ARRAY | VT_I4));
  EXPECT_EQ(TypesOf(volume, L"__CLASS"), Types(CIM_STRING, VT_BSTR));
  Variant untouched = OfNumber(VT_I4, 5);
  EXPECT_EQ(volume->Get(L"NoSuch", 0, untouched.get(), nullptr, nullptr), WBEM_E_NOT_FOUND);
  EXPECT_EQ(V_I4(untouched.get()), 5);
  EXPECT_EQ(volume->Get(L"Size", 1, untouched.get(), nullptr, nullptr), WBEM_E_INVALID_PARAMETER);
}

TEST_F(ComDoubleTest, MethodsRunWhereTheyBelongWithWhatTheyTake) {
  EXPECT_EQ(Exec("MSFT_StorageSetting", "UpdateHostStorageCache"), WBEM_S_NO_ERROR);
  EXPECT_EQ(Exec("MSFT_Disk", "Online"), WBEM_E_INVALID_METHOD) << "a class is not online";
  EXPECT_EQ(Exec(Disk1(), "Explode"), WBEM_E_INVALID_METHOD);
  EXPECT_EQ(Exec("MSFT_NoSuch", "Online"), WBEM_E_INVALID_CLASS);
  EXPECT_EQ(Exec("MSFT_Disk.ObjectId=\"none\"", "Online"), WBEM_E_NOT_FOUND);
  const auto initialize = Parameters(storage_, "MSFT_Disk", L"Initialize");
  EXPECT_EQ(Exec(Disk1(), "CreatePartition", initialize), WBEM_E_INVALID_METHOD_PARAMETERS);
  EXPECT_EQ(Exec(Disk1(), "Online", initialize), WBEM_E_INVALID_METHOD_PARAMETERS);
  const auto resize = Parameters(storage_, "MSFT_Partition", L"Resize");
  const std::string partition =
      Text(First("SELECT * FROM MSFT_Partition WHERE DriveLetter = 'C'"), L"__RELPATH");
  EXPECT_EQ(Exec(partition, "Resize", resize), WBEM_E_INVALID_METHOD_PARAMETERS);
  EXPECT_EQ(Exec(partition, "Resize"), WBEM_E_INVALID_METHOD_PARAMETERS);
}

TEST_F(ComDoubleTest, AQueryFailsWhenItIsRead) {
  EXPECT_EQ(FirstNext("SELECT * FROM MSFT_NoSuch"), WBEM_E_INVALID_CLASS);
  EXPECT_EQ(FirstNext("SELECT * FORM MSFT_Disk"), WBEM_E_INVALID_QUERY);
  EXPECT_EQ(FirstNext("SELECT * FROM MSFT_Disk WHERE Number = 'one'"), WBEM_E_INVALID_QUERY);
  EXPECT_EQ(FirstNext("ASSOCIATORS OF {MSFT_Disk.Number=1} WHERE AssocClass = A"),
            WBEM_E_INVALID_OBJECT_PATH);
  Inject("wmi.Query/MSFT_Disk", static_cast<uint32_t>(WBEM_E_PROVIDER_LOAD_FAILURE));
  EXPECT_EQ(FirstNext(kDisk1), WBEM_E_PROVIDER_LOAD_FAILURE);
  // Without WBEM_FLAG_RETURN_IMMEDIATELY, ExecQuery itself returns the query's error.
  ComPtr<IEnumWbemClassObject> found;
  EXPECT_EQ(storage_->ExecQuery(Bstr("WQL").get(), Bstr("SELECT").get(), WBEM_FLAG_FORWARD_ONLY,
                                nullptr, found.Receive()),
            WBEM_E_INVALID_QUERY);
  EXPECT_EQ(
      storage_->ExecQuery(Bstr("SQL").get(), Bstr(kDisk1).get(), kFlags, nullptr, found.Receive()),
      WBEM_E_INVALID_QUERY_TYPE);
  EXPECT_EQ(storage_->ExecQuery(Bstr("WQL").get(), nullptr, kFlags, nullptr, found.Receive()),
            WBEM_E_INVALID_PARAMETER);
  EXPECT_FALSE(found);
}

TEST_F(ComDoubleTest, EnumeratorsEndWhereTheObjectsDo) {
  IWbemClassObject* objects[8] = {};
  ULONG count = 0;
  const auto release = [&] {
    for (ULONG i = 0; i < count; ++i) objects[i]->Release();
  };
  // WBEM_S_FALSE may come together with the last objects.
  const auto all = Begin("SELECT * FROM MSFT_Disk");
  EXPECT_EQ(all->Next(WBEM_INFINITE, 8, objects, &count), WBEM_S_FALSE);
  EXPECT_EQ(count, 5u);
  release();
  EXPECT_EQ(all->Next(WBEM_INFINITE, 1, objects, &count), WBEM_S_FALSE);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(FirstNext(kNoDisk), WBEM_S_FALSE) << "finding nothing is not a failure";
  const auto some = Begin("SELECT * FROM MSFT_Disk");
  EXPECT_EQ(some->Skip(WBEM_INFINITE, 3), WBEM_S_NO_ERROR);
  EXPECT_EQ(some->Next(WBEM_INFINITE, 2, objects, &count), WBEM_S_NO_ERROR);
  EXPECT_EQ(count, 2u);
  release();
  EXPECT_EQ(some->Skip(WBEM_INFINITE, 1), WBEM_S_FALSE);
  ComPtr<IEnumWbemClassObject> clone;
  EXPECT_EQ(some->Reset(), WBEM_E_INVALID_OPERATION);
  EXPECT_EQ(some->Clone(clone.Receive()), WBEM_E_INVALID_OPERATION);
  EXPECT_EQ(some->Next(WBEM_INFINITE, 0, objects, &count), WBEM_E_INVALID_PARAMETER);
  const auto both_ways = Begin("SELECT * FROM MSFT_Disk", WBEM_FLAG_RETURN_IMMEDIATELY);
  EXPECT_EQ(both_ways->Skip(WBEM_INFINITE, 4), WBEM_S_NO_ERROR);
  EXPECT_EQ(both_ways->Clone(clone.Receive()), WBEM_S_NO_ERROR);
  EXPECT_EQ(both_ways->Reset(), WBEM_S_NO_ERROR);
  EXPECT_EQ(both_ways->Skip(WBEM_INFINITE, 5), WBEM_S_NO_ERROR);
  EXPECT_EQ(clone->Skip(WBEM_INFINITE, 2), WBEM_S_FALSE) << "where the other was";
}

TEST_F(ComDoubleTest, CallsLastAsLongAsTheyDoAndNobodyWaitsLongerThanHeSays) {
  Inject("wmi.Query/MSFT_Disk", 0, 400);
  const auto slow = Begin(kDisk1);
  ComPtr<IWbemClassObject> object;
  ULONG count = 1;
  EXPECT_EQ(slow->Next(WBEM_NO_WAIT, 1, object.Receive(), &count), WBEM_S_TIMEDOUT);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(slow->Skip(20, 1), WBEM_S_TIMEDOUT);
  EXPECT_EQ(slow->Next(WBEM_INFINITE, 1, object.Receive(), &count), WBEM_S_NO_ERROR);
  EXPECT_EQ(slow->Next(-2, 1, object.Receive(), &count), WBEM_E_INVALID_PARAMETER);

  Inject("wmi.Invoke/MSFT_Disk.Initialize", 0, 400);
  ComPtr<IWbemCallResult> result;
  const absl::Time begin = absl::Now();
  ASSERT_EQ(storage_->ExecMethod(Bstr(Disk1()).get(), Bstr("Initialize").get(),
                                 WBEM_FLAG_RETURN_IMMEDIATELY, nullptr, nullptr, nullptr,
                                 result.Receive()),
            WBEM_S_NO_ERROR);
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(300));
  LONG status = 5;
  EXPECT_EQ(result->GetCallStatus(20, &status), WBEM_S_TIMEDOUT);
  EXPECT_EQ(status, 5) << "untouched";
  EXPECT_EQ(result->GetResultObject(20, object.Receive()), WBEM_S_TIMEDOUT);
  EXPECT_EQ(result->GetCallStatus(WBEM_INFINITE, &status), WBEM_S_NO_ERROR);
  EXPECT_EQ(status, WBEM_S_NO_ERROR);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(390));
  ASSERT_EQ(result->GetResultObject(WBEM_NO_WAIT, object.Receive()), WBEM_S_NO_ERROR);
  EXPECT_EQ(Number(object, L"ReturnValue"), 0);
}

TEST_F(ComDoubleTest, SemisynchronousCallsNeedAPlaceForTheirResult) {
  const Bstr path(Disk1());
  ComPtr<IWbemClassObject> object;
  ComPtr<IWbemCallResult> result;
  EXPECT_EQ(storage_->GetObject(path.get(), WBEM_FLAG_RETURN_IMMEDIATELY, nullptr, object.Receive(),
                                nullptr),
            WBEM_E_INVALID_PARAMETER);
  EXPECT_EQ(storage_->GetObject(path.get(), 0, nullptr, object.Receive(), result.Receive()),
            WBEM_E_INVALID_PARAMETER);
  ASSERT_EQ(storage_->GetObject(path.get(), WBEM_FLAG_RETURN_IMMEDIATELY, nullptr, object.Receive(),
                                result.Receive()),
            WBEM_S_NO_ERROR);
  EXPECT_FALSE(object);
  IWbemCallResult* taken = result.get();
  EXPECT_EQ(storage_->GetObject(path.get(), WBEM_FLAG_RETURN_IMMEDIATELY, nullptr, object.Receive(),
                                &taken),
            WBEM_E_INVALID_PARAMETER)
      << "it must be null";
  ASSERT_EQ(result->GetResultObject(WBEM_INFINITE, object.Receive()), WBEM_S_NO_ERROR);
  EXPECT_EQ(Number(object, L"Number"), 1);
  // Both GetCallStatus() and GetResultObject() report a failed call.
  ASSERT_EQ(storage_->ExecMethod(Bstr("MSFT_Disk").get(), Bstr("Online").get(),
                                 WBEM_FLAG_RETURN_IMMEDIATELY, nullptr, nullptr, nullptr,
                                 result.Receive()),
            WBEM_S_NO_ERROR);
  LONG status = 0;
  EXPECT_EQ(result->GetCallStatus(WBEM_INFINITE, &status), WBEM_S_NO_ERROR);
  EXPECT_EQ(static_cast<HRESULT>(status), WBEM_E_INVALID_METHOD);
  EXPECT_EQ(result->GetResultObject(WBEM_INFINITE, object.Receive()), WBEM_E_INVALID_METHOD);
}

TEST_F(ComDoubleTest, FailuresExplainThemselves) {
  Inject("wmi.Query/MSFT_Disk", static_cast<uint32_t>(WBEM_E_ACCESS_DENIED));
  ASSERT_EQ(FirstNext(kDisk1), WBEM_E_ACCESS_DENIED);
  ComPtr<IErrorInfo> info;
  ASSERT_EQ(GetErrorInfo(0, info.Receive()), S_OK);
  const auto error = info.As<IWbemClassObject>(IID_IWbemClassObject);
  ASSERT_TRUE(error);
  EXPECT_EQ(Text(error, L"__CLASS"), "__ExtendedStatus");
  EXPECT_EQ(static_cast<HRESULT>(Number(error, L"StatusCode")), WBEM_E_ACCESS_DENIED);
  EXPECT_EQ(Text(error, L"Operation"), "Next");
  EXPECT_EQ(Text(error, L"ParameterInfo"), kDisk1);
  Bstr description;
  ASSERT_EQ(info->GetDescription(description.Receive()), S_OK);
  EXPECT_EQ(description.ToUtf8(), Text(error, L"Description"));
  EXPECT_THAT(description.ToUtf8(), HasSubstr("MSFT_Disk"));
  EXPECT_EQ(GetErrorInfo(0, info.Receive()), S_FALSE) << "told once";
}

// Estimates the number of open handles by the value of a new handle, the lowest free one. Wine's
// GetProcessHandleCount returns 0.
int64_t Handles() {
  const win32::UniqueHandle handle(CreateEventW(nullptr, FALSE, FALSE, nullptr));
  return reinterpret_cast<int64_t>(handle.get()) / 4;
}

TEST_F(ComDoubleTest, NothingIsLeftBehind) {
  const auto rounds = [&](int count) {
    const auto in = Parameters(storage_, "MSFT_Disk", L"Initialize");
    for (int i = 0; i < count; ++i) {
      First("SELECT * FROM MSFT_Partition WHERE DriveLetter = 'C'");
      FirstNext("SELECT nonsense");
      ComPtr<IWbemClassObject> out;
      ASSERT_EQ(in->Put(L"PartitionStyle", 0, OfText("2").get(), 0), WBEM_S_NO_ERROR);
      ASSERT_EQ(Exec(Disk1(), "Initialize", in, &out), WBEM_S_NO_ERROR);
      GetErrorInfo(0, ComPtr<IErrorInfo>().Receive());
    }
  };
  rounds(500);
  const int64_t handles = Handles();
  const win32::UniqueHandle self(GetCurrentProcess());
  const size_t bytes = integration::WorkingSet(self);
  ASSERT_GT(bytes, 0u);
  constexpr int kRounds = 10'000;
  rounds(kRounds);
  // The margin covers the stacks of threads that were started later. Leaking even the smallest
  // object in each round would exceed it.
  EXPECT_LE(Handles(), handles + 32);
  EXPECT_LE(integration::WorkingSet(self), bytes + kRounds * 300);

  SetErrorInfo(0, nullptr);
  storage_ = {};
  locator_ = {};
  const HMODULE dll = GetModuleHandleW(L"csi_proxy_node_double.dll");
  ASSERT_NE(dll, nullptr);
  const auto can_unload = reinterpret_cast<HRESULT(WINAPI*)()>(
      reinterpret_cast<void*>(GetProcAddress(dll, "DllCanUnloadNow")));
  // A cancelled query may end slightly later.
  const absl::Time give_up = absl::Now() + absl::Seconds(5);
  while (can_unload() != S_OK && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(can_unload(), S_OK) << "some object is not released";
}

}  // namespace
}  // namespace csi_proxy::node_double
