// Tests that the double of WMI, reached through COM's activation, is as strict as WMI.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "integration/wine/double/scripting_windows.h"
#include "integration/wine/double/testing_windows.h"

namespace csi_proxy::node_double {
namespace {

using testing::HasSubstr;

constexpr char kDisk1[] = "SELECT * FROM MSFT_Disk WHERE Number = 1";

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

TEST_F(ComDoubleTest, ValuesHaveTheTypesOfRealWmi) {
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

TEST_F(ComDoubleTest, MethodsRunOnlyOnTheirObjectsWithTheirParameters) {
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

TEST_F(ComDoubleTest, TheFirstReadReturnsTheErrorOfAQuery) {
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

TEST_F(ComDoubleTest, FailuresLeaveAnErrorObject) {
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

// Calls a member of a scripting object with texts.
Variant CallScripting(const Variant& object, std::wstring name, std::vector<std::string> texts) {
  LPOLESTR names = name.data();
  DISPID id = 0;
  EXPECT_EQ(V_DISPATCH(&*object)->GetIDsOfNames(IID_NULL, &names, 1, 0, &id), S_OK);
  std::vector<Variant> owned;
  std::vector<VARIANT> arguments;
  // DISPPARAMS lists arguments in reverse.
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) {
    arguments.push_back(*owned.emplace_back(OfText(*text)));
  }
  DISPPARAMS params{arguments.data(), nullptr, static_cast<UINT>(arguments.size()), 0};
  Variant result;
  EXPECT_EQ(V_DISPATCH(&*object)->Invoke(id, IID_NULL, 0, DISPATCH_METHOD | DISPATCH_PROPERTYGET,
                                         &params, result.get(), nullptr, nullptr),
            S_OK);
  return result;
}

TEST_F(ComDoubleTest, ScriptingObjectsEnumerateTheirProperties) {
  Variant locator;
  V_VT(locator.get()) = VT_DISPATCH;
  ASSERT_EQ(CoCreateInstance(kScriptingLocatorClass, nullptr, CLSCTX_INPROC_SERVER, IID_IDispatch,
                             reinterpret_cast<void**>(&V_DISPATCH(locator.get()))),
            S_OK);
  const Variant services = CallScripting(locator, L"ConnectServer", {"", kStorage});
  const Variant setting = CallScripting(services, L"Get", {"MSFT_StorageSetting"});
  const Variant out = CallScripting(setting, L"ExecMethod_", {"UpdateHostStorageCache"});
  const Variant set = CallScripting(out, L"Properties_", {});
  const Variant unknown = CallScripting(set, L"_NewEnum", {});
  void* found = nullptr;
  ASSERT_EQ(V_UNKNOWN(&*unknown)->QueryInterface(IID_IEnumVARIANT, &found), S_OK);
  const ComPtr<IEnumVARIANT> properties(static_cast<IEnumVARIANT*>(found));
  Variant property;
  ULONG count = 0;
  ASSERT_EQ(properties->Next(1, property.get(), &count), S_OK);
  const Variant name = CallScripting(property, L"Name", {});
  EXPECT_EQ(Bstr::Utf8(V_BSTR(&*name)), "ReturnValue");
  EXPECT_EQ(properties->Next(1, property.Receive(), &count), S_FALSE) << "it is the only one";
  EXPECT_EQ(count, 0u);
}

class PutRulesTest : public NodeTest {
 protected:
  // The parameters of MSFT_Disk.CreatePartition, which have values of most types.
  ComPtr<IWbemClassObject> in_ = Parameters(storage_, "MSFT_Disk", L"CreatePartition");

  static HRESULT Put(const ComPtr<IWbemClassObject>& object, LPCWSTR name, Variant value) {
    return object->Put(name, 0, value.get(), 0);
  }
};

TEST_F(PutRulesTest, EachTypeAcceptsItsOwnAndConvertibleValues) {
  struct Case {
    LPCWSTR name;
    Variant value;
    // Checks the value that is read back; null if Put() refuses.
    std::function<bool(const VARIANT&)> reads;
  };
  const auto is_number = [](LONG wanted) {
    return [=](const VARIANT& v) { return V_VT(&v) == VT_I4 && V_I4(&v) == wanted; };
  };
  const auto is_text = [](const char* wanted) {
    return
        [=](const VARIANT& v) { return V_VT(&v) == VT_BSTR && Bstr::Utf8(V_BSTR(&v)) == wanted; };
  };
  const auto is_unit = [](SHORT wanted) {
    return [=](const VARIANT& v) { return V_VT(&v) == VT_I2 && V_I2(&v) == wanted; };
  };
  const auto is_true = [](const VARIANT& v) {
    return V_VT(&v) == VT_BOOL && V_BOOL(&v) == VARIANT_TRUE;
  };
  std::vector<Case> cases;
  const auto add = [&](LPCWSTR name, Variant value,
                       std::function<bool(const VARIANT&)> reads = nullptr) {
    cases.push_back({name, std::move(value), std::move(reads)});
  };
  // uint32.
  add(L"Alignment", OfNumber(VT_I4, 4096), is_number(4096));
  add(L"Alignment", OfNumber(VT_I4, -1), is_number(-1));
  add(L"Alignment", OfReal(512), is_number(512));
  add(L"Alignment", OfText("77"), is_number(77));
  add(L"Alignment", OfNumber(VT_I2, 5));
  add(L"Alignment", OfNumber(VT_UI2, 5), is_number(5));
  add(L"Alignment", OfNumber(VT_UI4, 5), is_number(5));
  add(L"Alignment", OfNumber(VT_UI4, 0xFFFFFFFF));
  add(L"Alignment", OfNumber(VT_I8, 5));
  add(L"Alignment", OfText("much"));
  add(L"Alignment", OfReal(1e12));
  add(L"Alignment", OfArray(VT_I4));
  // uint64: decimal text.
  add(L"Size", OfText("18446744073709551615"), is_text("18446744073709551615"));
  add(L"Size", OfNumber(VT_I4, 33), is_text("33"));
  add(L"Size", OfText("0x21"));
  add(L"Size", OfText("18446744073709551616"));
  add(L"Size", OfNumber(VT_I4, -1));
  add(L"Size", OfNumber(VT_UI8, 33));
  // uint16.
  add(L"MbrType", OfNumber(VT_I4, 7), is_number(7));
  add(L"MbrType", OfNumber(VT_I2, 7), is_number(7));
  add(L"MbrType", OfNumber(VT_I4, 65536));
  add(L"MbrType", OfNumber(VT_I4, -1));
  add(L"MbrType", OfNumber(VT_UI2, 65535), is_number(65535));
  // char16.
  add(L"DriveLetter", OfNumber(VT_I2, 'X'), is_unit('X'));
  add(L"DriveLetter", OfNumber(VT_I4, 'X'), is_unit('X'));
  add(L"DriveLetter", OfText("X"));
  // boolean.
  add(L"IsHidden", OfFlag(true), is_true);
  add(L"IsHidden", OfNumber(VT_I4, 1), is_true);
  add(L"IsHidden", OfText("perhaps"));
  // string.
  add(L"GptType", OfText("{}"), is_text("{}"));
  add(L"GptType", OfNumber(VT_I4, 5), is_text("5"));
  add(L"GptType", OfArray(VT_BSTR, "{}"));
  add(L"GptType", OfNumber(VT_BYREF | VT_I4, 0));

  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i);
    Case& one = cases[i];
    Variant null = OfNumber(VT_NULL, 0);
    ASSERT_EQ(in_->Put(one.name, 0, null.get(), 0), WBEM_S_NO_ERROR);
    EXPECT_EQ(in_->Put(one.name, 0, one.value.get(), 0),
              one.reads != nullptr ? static_cast<HRESULT>(WBEM_S_NO_ERROR)
                                   : static_cast<HRESULT>(WBEM_E_TYPE_MISMATCH));
    Variant now;
    ASSERT_EQ(in_->Get(one.name, 0, now.Receive(), nullptr, nullptr), WBEM_S_NO_ERROR);
    EXPECT_TRUE(one.reads != nullptr ? one.reads(*now) : V_VT(now.get()) == VT_NULL)
        << "reads back as type " << V_VT(now.get());
  }
}

TEST_F(PutRulesTest, ArraysMustHaveTheElementType) {
  const ComPtr<IWbemClassObject> in = Parameters(Connect(kSmb), "MSFT_SmbGlobalMapping", L"Create");
  EXPECT_EQ(Put(in, L"FullAccess", OfArray(VT_BSTR, "everyone")), WBEM_S_NO_ERROR);
  Variant read;
  CIMTYPE type = 0;
  ASSERT_EQ(in->Get(L"FullAccess", 0, read.Receive(), &type, nullptr), WBEM_S_NO_ERROR);
  EXPECT_EQ(type, CIM_FLAG_ARRAY | CIM_STRING);
  ASSERT_EQ(V_VT(read.get()), VT_ARRAY | VT_BSTR);
  Bstr first;
  LONG index = 0;
  ASSERT_EQ(SafeArrayGetElement(V_ARRAY(read.get()), &index, first.Receive()), S_OK);
  EXPECT_EQ(first.ToUtf8(), "everyone");
  // An empty array may be of VARIANTs, but not of another wrong type.
  EXPECT_EQ(Put(in, L"FullAccess", OfArray(VT_VARIANT)), WBEM_S_NO_ERROR);
  EXPECT_EQ(Put(in, L"FullAccess", OfArray(VT_I4)), WBEM_E_TYPE_MISMATCH);
  EXPECT_EQ(Put(in, L"FullAccess", OfText("everyone")), WBEM_E_TYPE_MISMATCH);
}

TEST_F(PutRulesTest, PutChecksNamesFlagsAndTypes) {
  Variant value = OfNumber(VT_I4, 1);
  EXPECT_EQ(in_->Put(L"alignment", 0, value.get(), 0), WBEM_S_NO_ERROR) << "without case";
  EXPECT_EQ(in_->Put(L"NoSuch", 0, value.get(), 0), WBEM_E_NOT_FOUND);
  // Out parameters cannot be set.
  EXPECT_EQ(in_->Put(L"CreatedPartition", 0, value.get(), 0), WBEM_E_NOT_FOUND);
  EXPECT_EQ(in_->Put(L"__CLASS", 0, OfText("Mine").get(), 0), WBEM_E_READ_ONLY);
  EXPECT_EQ(in_->Put(nullptr, 0, value.get(), 0), WBEM_E_INVALID_PARAMETER);
  EXPECT_EQ(in_->Put(L"Alignment", 1, value.get(), 0), WBEM_E_INVALID_PARAMETER);
  EXPECT_EQ(in_->Put(L"Alignment", 0, value.get(), CIM_UINT32), WBEM_E_INVALID_PARAMETER);
  EXPECT_EQ(in_->Put(L"Alignment", 0, nullptr, 0), WBEM_S_NO_ERROR);
  Variant read;
  ASSERT_EQ(in_->Get(L"Alignment", 0, read.Receive(), nullptr, nullptr), WBEM_S_NO_ERROR);
  EXPECT_EQ(V_VT(read.get()), VT_NULL);
}

}  // namespace
}  // namespace csi_proxy::node_double
