// Tests WMI's scripting objects, late bound as the Go release calls them, against Microsoft's
// pages. peer.sh tests them over a node's whole life.
#include <string>
#include <utility>
#include <vector>

#include "integration/wine/node/testing_windows.h"

namespace csi_proxy::node_double {
namespace {

using testing::HasSubstr;

// Returns a reference to `variant`, for an out parameter.
Variant Place(VARIANT* variant) {
  Variant place;
  V_VT(place.get()) = VT_BYREF | VT_VARIANT;
  V_VARIANTREF(place.get()) = variant;
  return place;
}
Variant Null() {
  Variant null;
  V_VT(null.get()) = VT_NULL;
  return null;
}

class ScriptingTest : public NodeTest {
 protected:
  struct Failure {
    HRESULT code = S_OK;
    std::string description;
  };

  // Calls a member. `arguments` are in the member's order.
  Variant Call(IDispatch* object, const wchar_t* name, WORD flags,
               std::vector<Variant> arguments = {}, Failure* failure = nullptr) {
    std::wstring text = name;
    LPOLESTR names[] = {text.data()};
    DISPID id = 0;
    const HRESULT known = object->GetIDsOfNames(IID_NULL, names, 1, 0, &id);
    EXPECT_EQ(known, S_OK) << win32::Utf8(name);
    std::vector<VARIANT> reversed;
    for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
      reversed.push_back(**argument);
    }
    DISPID put = DISPID_PROPERTYPUT;
    DISPPARAMS params{reversed.data(), nullptr, static_cast<UINT>(reversed.size()), 0};
    if (flags == DISPATCH_PROPERTYPUT) {
      params.rgdispidNamedArgs = &put;
      params.cNamedArgs = 1;
    }
    Variant result;
    EXCEPINFO exception{};
    const HRESULT called =
        object->Invoke(id, IID_NULL, 0, flags, &params, result.get(), &exception, nullptr);
    if (failure != nullptr) {
      EXPECT_EQ(called, DISP_E_EXCEPTION);
      failure->code = exception.scode;
      failure->description = Bstr::Utf8(exception.bstrDescription);
    } else {
      EXPECT_EQ(called, S_OK) << win32::Utf8(name) << ": " << Bstr::Utf8(exception.bstrDescription);
    }
    SysFreeString(exception.bstrDescription);
    return result;
  }
  ComPtr<IDispatch> Object(const Variant& variant) {
    EXPECT_EQ(V_VT(&*variant), VT_DISPATCH);
    if (V_VT(&*variant) != VT_DISPATCH || V_DISPATCH(&*variant) == nullptr) return {};
    V_DISPATCH(&*variant)->AddRef();
    return ComPtr<IDispatch>(V_DISPATCH(&*variant));
  }
  Variant Get(const ComPtr<IDispatch>& object, const wchar_t* name) {
    return Call(object.get(), name, DISPATCH_PROPERTYGET);
  }
  template <typename... Arguments>
  static std::vector<Variant> List(Arguments... arguments) {
    std::vector<Variant> list;
    (list.push_back(std::move(arguments)), ...);
    return list;
  }

  ComPtr<IDispatch> Locator() {
    CLSID id;
    EXPECT_EQ(CLSIDFromProgID(L"WbemScripting.SWbemLocator", &id), S_OK);
    ComPtr<IDispatch> locator;
    EXPECT_EQ(CoCreateInstance(id, nullptr, CLSCTX_INPROC_SERVER, IID_IDispatch,
                               reinterpret_cast<void**>(locator.Receive())),
              S_OK);
    return locator;
  }
  ComPtr<IDispatch> Services() {
    return Object(Call(Locator().get(), L"ConnectServer", DISPATCH_METHOD,
                       List(OfText("."), OfText(kStorage), OfText(""), OfText(""))));
  }
  std::vector<ComPtr<IDispatch>> All(const Variant& set) {
    const Variant unknown = Get(Object(set), L"_NewEnum");
    EXPECT_EQ(V_VT(&*unknown), VT_UNKNOWN);
    V_UNKNOWN(&*unknown)->AddRef();
    const auto objects = ComPtr<IUnknown>(V_UNKNOWN(&*unknown)).As<IEnumVARIANT>(IID_IEnumVARIANT);
    std::vector<ComPtr<IDispatch>> all;
    for (;;) {
      Variant object;
      ULONG count = 0;
      if (objects->Next(1, object.get(), &count) != S_OK || count == 0) return all;
      all.push_back(Object(object));
    }
  }
  std::vector<ComPtr<IDispatch>> Query(absl::string_view wql) {
    return All(Call(Services().get(), L"ExecQuery", DISPATCH_METHOD, List(OfText(wql))));
  }
};

TEST_F(ScriptingTest, OnThisComputerOneIsWhoOneIs) {
  Failure failure;
  Call(Locator().get(), L"ConnectServer", DISPATCH_METHOD,
       List(OfText(""), OfText(kStorage), OfText("me"), OfText("mine")), &failure);
  EXPECT_EQ(failure.code, WBEM_E_LOCAL_CREDENTIALS);
  EXPECT_TRUE(Services());
}

TEST_F(ScriptingTest, PropertiesHaveTheTypesOfWmi) {
  const auto disks = Query("SELECT * FROM MSFT_Disk WHERE Number = 1");
  ASSERT_EQ(disks.size(), 1u);
  const Variant number = Get(disks[0], L"Number");
  EXPECT_EQ(V_VT(&*number), VT_I4);
  const Variant size = Get(disks[0], L"size");
  EXPECT_EQ(V_VT(&*size), VT_BSTR) << "names have no case";
  EXPECT_EQ(V_VT(&*Get(disks[0], L"SerialNumber")), VT_NULL);
  const auto property = Object(Call(Object(Get(disks[0], L"SystemProperties_")).get(), L"Item",
                                    DISPATCH_METHOD, List(OfText("__PATH"))));
  const Variant path = Get(property, L"Value");
  EXPECT_THAT(Bstr::Utf8(V_BSTR(&*path)), HasSubstr(":MSFT_Disk.ObjectId="));
}

TEST_F(ScriptingTest, WhatAQueryNamesIsEnoughForAMethodAndAnAssociation) {
  const auto disks = Query("SELECT IsOffline FROM MSFT_Disk WHERE Number = '3'");
  ASSERT_EQ(disks.size(), 1u);
  EXPECT_EQ(V_I4(&*Call(disks[0].get(), L"Online", DISPATCH_METHOD)), 0);
  EXPECT_EQ(
      Number(First("SELECT * FROM MSFT_Disk WHERE IsOffline = FALSE AND Number = 3"), L"Number"),
      3);
  const auto partitions =
      Query("SELECT ObjectId FROM MSFT_Partition WHERE DiskNumber = 0 AND GptType <> 'x'");
  ASSERT_EQ(partitions.size(), 3u);
  const Variant volumes = Call(partitions[2].get(), L"Associators_", DISPATCH_METHOD,
                               List(OfText("MSFT_PartitionToVolume"), OfText("MSFT_Volume"),
                                    OfText("Volume"), OfText("Partition")));
  EXPECT_EQ(All(volumes).size(), 1u);
}

// Calls the methods as the Go release initialises and partitions a disk.
TEST_F(ScriptingTest, ParametersOfAMethodHaveTheirPlaces) {
  const auto disk = Query("SELECT * FROM MSFT_Disk WHERE Number = 1").at(0);
  EXPECT_EQ(V_I4(&*Call(disk.get(), L"Initialize", DISPATCH_METHOD, List(OfNumber(VT_I4, 2)))), 0);
  Variant created;
  const Variant made = Call(disk.get(), L"CreatePartition", DISPATCH_METHOD,
                            List(Null(), OfFlag(true), Null(), Null(), Null(), OfFlag(false),
                                 Null(), OfText("{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}"),
                                 OfFlag(false), OfFlag(false), Place(created.get())));
  EXPECT_EQ(V_I4(&*made), 0);
  EXPECT_EQ(V_VT(created.get()), VT_UNKNOWN) << "CreatedPartition comes behind what goes in";
  Variant least;
  Variant most;
  const auto partition =
      Query("SELECT * FROM MSFT_Partition WHERE DiskNumber = 1 AND PartitionNumber = 2").at(0);
  EXPECT_EQ(V_I4(&*Call(partition.get(), L"GetSupportedSize", DISPATCH_METHOD,
                        List(Place(least.get()), Place(most.get())))),
            0);
  EXPECT_EQ(V_VT(least.get()), VT_BSTR);
  EXPECT_EQ(V_VT(most.get()), VT_BSTR);
}

TEST_F(ScriptingTest, ParametersOfAStaticMethodHaveNames) {
  const auto target = Object(
      Call(Services().get(), L"Get", DISPATCH_METHOD, List(OfText("MSFT_iSCSITargetPortal"))));
  const auto method = Object(
      Call(Object(Get(target, L"Methods_")).get(), L"Item", DISPATCH_METHOD, List(OfText("New"))));
  const Variant in =
      Call(Object(Get(method, L"InParameters")).get(), L"SpawnInstance_", DISPATCH_METHOD);
  const auto item = [&](const char* name) {
    return Object(Call(Object(Get(Object(in), L"Properties_")).get(), L"Item", DISPATCH_METHOD,
                       List(OfText(name))));
  };
  Call(item("TargetPortalAddress").get(), L"Value", DISPATCH_PROPERTYPUT, List(OfText("10.0.0.5")));
  Failure failure;
  Call(item("TargetPortalPortNumber").get(), L"Value", DISPATCH_PROPERTYPUT,
       List(OfText("no number")), &failure);
  EXPECT_EQ(failure.code, WBEM_E_TYPE_MISMATCH);
  Variant passed;
  *passed.get() = *in;
  V_DISPATCH(passed.get())->AddRef();
  const auto out = Object(
      Call(target.get(), L"ExecMethod_", DISPATCH_METHOD, List(OfText("New"), std::move(passed))));
  EXPECT_EQ(V_I4(&*Get(out, L"ReturnValue")), 0);
  EXPECT_EQ(Query("SELECT * FROM MSFT_iSCSITargetPortal").size(), 1u);
}

TEST_F(ScriptingTest, FailuresTellTheirCodeAndWhy) {
  Inject("wmi.Invoke/MSFT_Disk.Refresh", 0x80041001);
  const auto disk = Query("SELECT * FROM MSFT_Disk WHERE Number = 1").at(0);
  Failure failure;
  Call(disk.get(), L"Refresh", DISPATCH_METHOD, {}, &failure);
  EXPECT_EQ(failure.code, WBEM_E_FAILED);
  EXPECT_THAT(failure.description, HasSubstr("MSFT_Disk.Refresh"));
  std::wstring none = L"NoSuchMember";
  LPOLESTR names[] = {none.data()};
  DISPID id = 0;
  EXPECT_EQ(disk->GetIDsOfNames(IID_NULL, names, 1, 0, &id), DISP_E_UNKNOWNNAME);
}

// The Go release stops a service, then refreshes the object until the state changes.
TEST_F(ScriptingTest, AnObjectIsWhatItWasUntilItIsRefreshed) {
  const auto services = Object(Call(Locator().get(), L"ConnectServer", DISPATCH_METHOD,
                                    List(OfText("."), OfText("root\\cimv2"))));
  const auto service =
      All(Call(services.get(), L"ExecQuery", DISPATCH_METHOD,
               List(OfText("SELECT State FROM Win32_Service WHERE Name = 'MSiSCSI'"))))
          .at(0);
  const auto state = [&] {
    const Variant text = Get(service, L"State");
    return Bstr::Utf8(V_BSTR(&*text));
  };
  EXPECT_EQ(state(), "Running");
  EXPECT_EQ(V_I4(&*Call(service.get(), L"StopService", DISPATCH_METHOD)), 0);
  EXPECT_EQ(state(), "Running");
  Call(service.get(), L"Refresh_", DISPATCH_METHOD);
  EXPECT_NE(state(), "Running");
}

}  // namespace
}  // namespace csi_proxy::node_double
