// The fixture of the double's tests: WMI from COM's activation, and the simulated node behind it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "integration/support/node_admin.h"
#include "server/machine/windows/cim/com_windows.h"
#include "server/platform/win32.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy::node_double {

using cim::Bstr;
using cim::ComPtr;
using cim::Variant;

inline constexpr char kStorage[] = R"(ROOT\Microsoft\Windows\Storage)";
inline constexpr char kSmb[] = R"(ROOT\Microsoft\Windows\SMB)";
inline constexpr LONG kFlags =
    WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_RETURN_IMMEDIATELY | WBEM_FLAG_ENSURE_LOCATABLE;

class NodeTest : public testing::Test {
 protected:
  NodeTest() {
    static const HRESULT joined = [] {
      CO_MTA_USAGE_COOKIE cookie;
      return CoIncrementMTAUsage(&cookie);
    }();
    EXPECT_EQ(joined, S_OK);
    // Reset fails unless the double is active.
    locator_ = NewLocator();
    csi_proxy::simulated::ResetResponse reset;
    EXPECT_TRUE(Admin("Reset", csi_proxy::simulated::ResetRequest(), &reset).ok());
    storage_ = Connect(kStorage);
  }

  static ComPtr<IWbemLocator> NewLocator() {
    ComPtr<IWbemLocator> locator;
    EXPECT_EQ(CoCreateInstance(CLSID_WbemLocator, nullptr, CLSCTX_INPROC_SERVER, IID_IWbemLocator,
                               reinterpret_cast<void**>(locator.Receive())),
              S_OK);
    return locator;
  }
  ComPtr<IWbemServices> Connect(absl::string_view space) {
    ComPtr<IWbemServices> services;
    EXPECT_EQ(ConnectServer(space, &services), WBEM_S_NO_ERROR) << space;
    return services;
  }
  HRESULT ConnectServer(absl::string_view space, ComPtr<IWbemServices>* services) {
    return locator_->ConnectServer(Bstr(space).get(), nullptr, nullptr, nullptr, 0, nullptr,
                                   nullptr, services->Receive());
  }

  static absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                            google::protobuf::Message* response) {
    return integration::CallMachineAdmin(method, request, response);
  }
  // Injects a fault of one call. `error` is an HRESULT, a return value or a Win32 error.
  static void Inject(const std::string& operation, uint32_t error) {
    csi_proxy::simulated::InjectFaultRequest request;
    csi_proxy::simulated::InjectFaultResponse response;
    request.mutable_fault()->set_operation(operation);
    request.mutable_fault()->set_times(1);
    request.mutable_fault()->set_code("INTERNAL");
    request.mutable_fault()->mutable_error()->set_code(error);
    const absl::Status status = Admin("InjectFault", request, &response);
    EXPECT_TRUE(status.ok()) << status;
  }

  // Starts a query. ExecQuery succeeds for any text; its error comes from Next().
  ComPtr<IEnumWbemClassObject> Begin(absl::string_view wql) {
    ComPtr<IEnumWbemClassObject> found;
    EXPECT_EQ(
        storage_->ExecQuery(Bstr("WQL").get(), Bstr(wql).get(), kFlags, nullptr, found.Receive()),
        WBEM_S_NO_ERROR);
    return found;
  }
  // Returns the result of the query's first Next().
  HRESULT FirstNext(absl::string_view wql) {
    ComPtr<IWbemClassObject> object;
    ULONG count = 0;
    return Begin(wql)->Next(WBEM_INFINITE, 1, object.Receive(), &count);
  }
  // Returns the first object that a query finds.
  ComPtr<IWbemClassObject> First(absl::string_view wql) {
    ComPtr<IWbemClassObject> object;
    ULONG count = 0;
    EXPECT_EQ(Begin(wql)->Next(WBEM_INFINITE, 1, object.Receive(), &count), WBEM_S_NO_ERROR) << wql;
    EXPECT_EQ(count, 1u) << wql;
    return object;
  }
  static ComPtr<IWbemClassObject> Get(const ComPtr<IWbemServices>& services,
                                      absl::string_view path) {
    ComPtr<IWbemClassObject> object;
    EXPECT_EQ(services->GetObject(Bstr(path).get(), 0, nullptr, object.Receive(), nullptr),
              WBEM_S_NO_ERROR)
        << path;
    return object;
  }
  // Returns an empty parameter object of a method.
  static ComPtr<IWbemClassObject> Parameters(const ComPtr<IWbemServices>& services,
                                             absl::string_view class_name, LPCWSTR method) {
    ComPtr<IWbemClassObject> signature;
    ComPtr<IWbemClassObject> in;
    EXPECT_EQ(Get(services, class_name)->GetMethod(method, 0, signature.Receive(), nullptr),
              WBEM_S_NO_ERROR);
    EXPECT_EQ(signature->SpawnInstance(0, in.Receive()), WBEM_S_NO_ERROR);
    return in;
  }
  HRESULT Exec(absl::string_view path, absl::string_view method,
               const ComPtr<IWbemClassObject>& in = {}) {
    return storage_->ExecMethod(Bstr(path).get(), Bstr(method).get(), 0, nullptr, in.get(), nullptr,
                                nullptr);
  }

  static std::string Text(const ComPtr<IWbemClassObject>& object, LPCWSTR name) {
    Variant value;
    EXPECT_EQ(object->Get(name, 0, value.Receive(), nullptr, nullptr), WBEM_S_NO_ERROR);
    return V_VT(value.get()) == VT_BSTR ? Bstr::Utf8(V_BSTR(value.get())) : "";
  }
  static LONG Number(const ComPtr<IWbemClassObject>& object, LPCWSTR name) {
    Variant value;
    EXPECT_EQ(object->Get(name, 0, value.Receive(), nullptr, nullptr), WBEM_S_NO_ERROR);
    EXPECT_EQ(V_VT(value.get()), VT_I4);
    return V_I4(value.get());
  }

  ComPtr<IWbemLocator> locator_;
  ComPtr<IWbemServices> storage_;
};

inline Variant OfText(absl::string_view text) {
  Variant variant;
  V_VT(variant.get()) = VT_BSTR;
  V_BSTR(variant.get()) = Bstr(text).Release();
  return variant;
}
inline Variant OfFlag(bool flag) {
  Variant variant;
  V_VT(variant.get()) = VT_BOOL;
  V_BOOL(variant.get()) = flag ? VARIANT_TRUE : VARIANT_FALSE;
  return variant;
}
// Makes a VARIANT of an integer type.
inline Variant OfNumber(VARTYPE type, int64_t number) {
  Variant variant;
  V_VT(variant.get()) = type;
  V_I8(variant.get()) = number;
  return variant;
}
inline Variant OfReal(double number) {
  Variant variant;
  V_VT(variant.get()) = VT_R8;
  V_R8(variant.get()) = number;
  return variant;
}
// Makes an array that is empty, or holds `text`.
inline Variant OfArray(VARTYPE type, const char* text = nullptr) {
  Variant variant;
  V_VT(variant.get()) = VT_ARRAY | type;
  V_ARRAY(variant.get()) = SafeArrayCreateVector(type, 0, text == nullptr ? 0 : 1);
  LONG first = 0;
  if (text != nullptr) SafeArrayPutElement(V_ARRAY(variant.get()), &first, Bstr(text).get());
  return variant;
}

}  // namespace csi_proxy::node_double
