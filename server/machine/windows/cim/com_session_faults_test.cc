// Tests the session with a WMI that fails, and with callers that make mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/machine/windows/cim/connection_windows.h"
#include "server/machine/windows/cim/testing/fake_wmi_fixture_windows.h"
#include "server/names/win32_error.h"

namespace csi_proxy::cim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using ComSessionFaultsTest = FakeWmiTest;

TEST_F(ComSessionFaultsTest, QueriesAndMethodsReturnTheirObjects) {
  const auto things = session_->Query({}, Namespace::kCimV2, cim::Query("Thing"));
  ASSERT_TRUE(things.ok()) << things.status();
  ASSERT_EQ(things->size(), 2u);
  EXPECT_EQ((*things)[0].path(), "Thing.Name=\"x\"");
  EXPECT_EQ((*things)[0].GetString("Name").value(), "a");
  EXPECT_EQ((*things)[1].GetString("Name").value(), "b");
  EXPECT_EQ((*things)[0].class_name(), "Thing");
  const auto result = Invoke("Make", {{"Size", Value::Uint64(1)}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->return_value, 7u);
  EXPECT_EQ(result->out.GetString("Created").value(), "thing");
  EXPECT_FALSE(result->out.Has("ReturnValue"));
  EXPECT_EQ(connections_, 1);
}

// Returns a VARIANT of zeros, which are a valid value of every type but VT_VARIANT.
Variant Zero(VARTYPE type, bool is_array) {
  Variant variant;
  if (is_array) V_ARRAY(variant.get()) = SafeArrayCreateVector(type, 0, 1);
  V_VT(variant.get()) = static_cast<VARTYPE>(type | (is_array ? VT_ARRAY : 0));
  return variant;
}

// If the value of one property cannot be converted, the other properties can still be read.
TEST_F(ComSessionFaultsTest, AnUnreadablePropertyFailsOnlyWhenItIsRead) {
  constexpr VARTYPE kCarriers[] = {VT_I2,      VT_I4,      VT_R4,       VT_R8,    VT_CY,
                                   VT_DATE,    VT_BSTR,    VT_DISPATCH, VT_ERROR, VT_BOOL,
                                   VT_UNKNOWN, VT_DECIMAL, VT_I1,       VT_UI1,   VT_UI2,
                                   VT_UI4,     VT_I8,      VT_UI8,      VT_INT,   VT_UINT};
  constexpr CIMTYPE kTypes[] = {CIM_SINT16,  CIM_SINT32, CIM_REAL32, CIM_REAL64,   CIM_STRING,
                                CIM_BOOLEAN, CIM_OBJECT, CIM_SINT8,  CIM_UINT8,    CIM_UINT16,
                                CIM_UINT32,  CIM_SINT64, CIM_UINT64, CIM_DATETIME, CIM_REFERENCE,
                                CIM_CHAR16,  CIM_ILLEGAL};
  int unreadable = 0;
  for (const VARTYPE carrier : kCarriers) {
    for (const CIMTYPE type : kTypes) {
      for (int arrays = 0; arrays < 4; ++arrays) {
        const ComPtr<FakeObject> thing = FakeObject::New(L"Thing", L"Thing.Name=\"x\"");
        thing->Set(L"Name", "a");
        thing->properties[L"Odd"] = {type | (arrays & 1 ? CIM_FLAG_ARRAY : 0),
                                     Zero(carrier, (arrays & 2) != 0)};
        FakeReply reply;
        reply.objects = {thing};
        wmi_.query = [&](auto&&) { return reply; };
        const auto things = session_->Query({}, Namespace::kCimV2, cim::Query("Thing"));
        ASSERT_TRUE(things.ok()) << carrier << " " << type << things.status();
        EXPECT_EQ((*things)[0].GetString("Name").value(), "a");
        const absl::Status odd = (*things)[0].Get("Odd").status();
        unreadable += !odd.ok();
        if (!odd.ok()) {
          EXPECT_THAT(std::string(odd.message()), StartsWith("Thing.Odd is "));
        }
      }
    }
  }
  EXPECT_GT(unreadable, 700);
}

// Each Next() is a round trip.
TEST_F(ComSessionFaultsTest, ObjectsAreFetchedInBatches) {
  FakeReply reply;
  for (int i = 0; i < 100; ++i) {
    reply.objects.push_back(FakeObject::New(L"Thing", L"Thing=" + std::to_wstring(i)));
  }
  // The second case waits after 7 objects. The third is exactly one batch of 64.
  const struct {
    size_t objects;
    size_t first;
    int nexts;
  } kCases[] = {{100, 0, 2}, {100, 7, 3}, {64, 0, 2}, {1, 0, 1}, {0, 0, 1}};
  for (const auto& [objects, first, nexts] : kCases) {
    reply.objects.resize(objects);
    reply.first = first;
    wmi_.query = [&](auto&&) { return reply; };
    wmi_.nexts = 0;
    const auto things = session_->Query({}, Namespace::kCimV2, cim::Query("Thing"));
    ASSERT_TRUE(things.ok()) << things.status();
    EXPECT_EQ(wmi_.nexts, nexts);
    ASSERT_EQ(things->size(), objects);
    for (size_t i = 0; i < objects; ++i) {
      EXPECT_EQ((*things)[i].path(), absl::StrCat("Thing=", i));
    }
  }
}

TEST_F(ComSessionFaultsTest, TheSessionConnectsOncePerNamespace) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (const Namespace space : {Namespace::kCimV2, Namespace::kSmb, Namespace::kStorage}) {
        EXPECT_TRUE(Query({}, space).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(connections_, 3);
}

TEST_F(ComSessionFaultsTest, ManyThreadsCanUseOneSession) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        const auto things = session_->Query({}, Namespace::kCimV2, cim::Query("Thing"));
        ASSERT_TRUE(things.ok()) << things.status();
        ASSERT_EQ(things->size(), 2u);
        const auto result = Invoke("Make", {{"Port", Value::Uint16(1)}});
        ASSERT_TRUE(result.ok()) << result.status();
        ASSERT_EQ(result->return_value, 7u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queries_, 1600);
  EXPECT_EQ(calls_, 1600);
  EXPECT_EQ(connections_, 1);
}

TEST_F(ComSessionFaultsTest, EveryProxyIsEncryptedAndImpersonates) {
  wmi_.has_proxies = true;
  ASSERT_TRUE(Query().ok());
  ASSERT_TRUE(Invoke("Plain").ok());
  // These are the services, the enumerator, and the call objects for the class and the method.
  ASSERT_EQ(wmi_.blankets.size(), 4u);
  for (const FakeWmi::Blanket& blanket : wmi_.blankets) {
    EXPECT_EQ(blanket.authentication_level, static_cast<DWORD>(RPC_C_AUTHN_LEVEL_PKT_PRIVACY));
    EXPECT_EQ(blanket.impersonation_level, static_cast<DWORD>(RPC_C_IMP_LEVEL_IMPERSONATE));
  }
}

TEST_F(ComSessionFaultsTest, ParametersAreSentWithTheTypesOfTheSignature) {
  wmi_.method = [this](const std::wstring& path, const std::wstring& method, FakeObject* in) {
    ++calls_;
    EXPECT_EQ(path, L"Thing.Name=\"x\"");
    EXPECT_EQ(method, L"Make");
    const auto given = [&](const wchar_t* name) { return in->properties[name].value.get(); };
    EXPECT_EQ(V_VT(given(L"Size")), VT_BSTR);
    EXPECT_EQ(Bstr::Utf8(V_BSTR(given(L"Size"))), "18446744073709551615");
    EXPECT_EQ(V_VT(given(L"Port")), VT_I4);
    EXPECT_EQ(V_I4(given(L"Port")), 65535);
    EXPECT_EQ(V_VT(given(L"Letter")), VT_I2);
    EXPECT_EQ(V_I2(given(L"Letter")), 'D');
    EXPECT_EQ(V_VT(given(L"Full")), VT_BOOL);
    EXPECT_EQ(V_BOOL(given(L"Full")), VARIANT_TRUE);
    EXPECT_EQ(V_VT(given(L"Paths")), VT_ARRAY | VT_BSTR);
    // The caller leaves this argument out.
    EXPECT_EQ(V_VT(given(L"Password")), VT_EMPTY);
    FakeReply reply;
    reply.objects = {FakeObject::New(L"__PARAMETERS")};
    return reply;
  };
  const auto result =
      Invoke("Make", {{"Size", Value::Uint64(~uint64_t{0})},
                      {"Port", Value::Uint16(65535)},
                      {"Letter", Value::Char16(u'D')},
                      {"Full", Value::Boolean(true)},
                      {"Paths", Value::Array(Type::kString, {Value::String("a")})}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->return_value, 0u);
  EXPECT_EQ(calls_, 1);
}

TEST_F(ComSessionFaultsTest, ErrorsNameAWrongParameterButNotItsValue) {
  const auto status_of = [&](const std::string& method, const Arguments& arguments) {
    return Invoke(method, arguments).status();
  };
  const absl::Status unknown = status_of("Make", {{"Nope", Value::String("hunter2")}});
  EXPECT_EQ(HresultOf(unknown), hresult::kInvalidMethodParameters);
  EXPECT_THAT(std::string(unknown.message()),
              AllOf(HasSubstr("Thing.Make(Nope)"), Not(HasSubstr("hunter2"))));
  const absl::Status mismatch = status_of("Make", {{"Size", Value::String("hunter2")}});
  EXPECT_EQ(HresultOf(mismatch), hresult::kTypeMismatch);
  EXPECT_THAT(std::string(mismatch.message()),
              AllOf(HasSubstr("Thing.Make(Size)"), Not(HasSubstr("hunter2"))));
  const absl::Status nul = status_of("Make", {{"Password", Value::String({"hunter2\0", 8})}});
  EXPECT_EQ(nul.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(nul.message()),
              AllOf(HasSubstr("Thing.Make(Password)"), Not(HasSubstr("hunter2"))));
  EXPECT_EQ(HresultOf(status_of("Plain", {{"Size", Value::Uint64(1)}})),
            hresult::kInvalidMethodParameters);
  EXPECT_EQ(HresultOf(status_of("Nope", {})), hresult::kInvalidMethod);
  EXPECT_EQ(HresultOf(session_->Invoke({}, Namespace::kCimV2, "Other", "Make").status()),
            hresult::kInvalidClass);
  EXPECT_EQ(calls_, 0);
}

TEST_F(ComSessionFaultsTest, AMethodWithoutOutParametersSucceeds) {
  wmi_.method = [](auto&&...) { return FakeReply(); };
  const auto result = Invoke("Plain");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->return_value, 0u);
}

// A server in this process may return the answer from the call itself.
TEST_F(ComSessionFaultsTest, ASynchronousAnswerIsAccepted) {
  wmi_.get = [get = wmi_.get](const std::wstring& path) {
    FakeReply reply = get(path);
    reply.at_once = true;
    return reply;
  };
  wmi_.method = [method = wmi_.method](auto&&... arguments) {
    FakeReply reply = method(arguments...);
    reply.at_once = true;
    return reply;
  };
  const auto result = Invoke("Make");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->return_value, 7u);
}

TEST_F(ComSessionFaultsTest, AClassDefinitionIsFetchedOnce) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Invoke("Make").ok());
  EXPECT_TRUE(
      session_->Invoke({}, Namespace::kCimV2, R"(\\HOST\root\cimv2:Thing.Name="x")", "Make").ok());
  EXPECT_TRUE(session_->Invoke({}, Namespace::kCimV2, "THING", "Make").ok());
  EXPECT_EQ(definitions_, 1);
  EXPECT_EQ(calls_, 7);
}

TEST_F(ComSessionFaultsTest, TextThatWmiCannotAcceptIsNotSent) {
  const auto query = [&](const std::string& name) {
    return session_
        ->Query({}, Namespace::kCimV2, cim::Query("Thing").Where("Name", Value::String(name)))
        .status()
        .code();
  };
  EXPECT_EQ(query(std::string("a\0b", 3)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(query(std::string(65536, 'x')), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(query("\xFF"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->Invoke({}, Namespace::kCimV2, std::string(8193, 'x'), "Make").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->Invoke({}, Namespace::kCimV2, std::string("a\0b", 3), "Make").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(connections_, 0);
  EXPECT_EQ(query(std::string(16000, 'x')), absl::StatusCode::kOk);
}

// Errors contain what WMI reports.

FakeReply Failing(HRESULT begin, HRESULT end) {
  FakeReply reply;
  reply.begin = begin;
  reply.end = end;
  reply.error = FakeObject::New(L"__ExtendedStatus");
  reply.error->Set(L"Description", "the words");
  reply.error->Set(L"Operation", "ExecQuery");
  reply.error->Set(L"ParameterInfo", "what was asked");
  reply.error->Set(L"StatusCode", CIM_UINT32, Hr(0x80041024));
  return reply;
}

TEST_F(ComSessionFaultsTest, ErrorsIncludeTheErrorObject) {
  for (const bool at_once : {true, false}) {
    const FakeReply reply = at_once ? Failing(WBEM_E_FAILED, 0) : Failing(0, WBEM_E_FAILED);
    wmi_.query = [reply](auto&&...) { return reply; };
    wmi_.method = [reply](auto&&...) { return reply; };
    for (const absl::Status& status : {Query(), Invoke("Make").status()}) {
      EXPECT_EQ(HresultOf(status), hresult::kFailed);
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("the words"), HasSubstr("ExecQuery"), HasSubstr("0x80041024"),
                        Not(HasSubstr("what was asked"))));
    }
  }
  EXPECT_THAT(std::string(Invoke("Make").status().message()), HasSubstr("Thing.Make"));
  EXPECT_THAT(std::string(Query().message()), HasSubstr("SELECT * FROM Thing"));
}

TEST_F(ComSessionFaultsTest, AWin32CodeInTheErrorObjectIsKept) {
  FakeReply reply;
  reply.end = WBEM_E_FAILED;
  reply.error = FakeObject::New(L"MSFT_WmiError");
  reply.error->Set(L"MessageID", "Windows System Error 1219");
  reply.error->Set(L"error_Code", CIM_UINT32, 1219);
  wmi_.method = [reply](auto&&...) { return reply; };
  const absl::Status failed = Invoke("Make").status();
  EXPECT_TRUE(HasWin32Code(failed, 1219)) << failed;
  EXPECT_EQ(HresultOf(failed), hresult::kFailed) << failed;
}

// Calls still succeed, because each proxy is secured on its own.
TEST_F(ComSessionFaultsTest, AFailedComSecuritySetupIsOnlyLogged) {
  // Static, because StartCom() takes a plain function, which cannot capture.
  static HRESULT answer;
  const struct {
    HRESULT answer;
    size_t warnings;
  } rows[] = {{S_OK, 0}, {RPC_E_TOO_LATE, 0}, {E_INVALIDARG, 1}, {E_FAIL, 1}};
  for (const auto& row : rows) {
    answer = row.answer;
    std::vector<std::string> warnings;
    const absl::Status started =
        StartCom([](auto...) -> HRESULT { return answer; },
                 [&](absl::string_view line) { warnings.emplace_back(line); });
    EXPECT_TRUE(started.ok()) << started;
    ASSERT_EQ(warnings.size(), row.warnings);
    for (const std::string& warning : warnings) {
      EXPECT_THAT(warning, HasSubstr("CoInitializeSecurity"));
    }
  }
}

TEST_F(ComSessionFaultsTest, TheProvidersMessageReplacesTheDescription) {
  FakeReply reply = Failing(0, WBEM_E_FAILED);
  reply.error->Set(L"Message", "the provider's words");
  wmi_.method = [reply](auto&&...) { return reply; };
  EXPECT_THAT(std::string(Invoke("Make").status().message()),
              AllOf(HasSubstr("the provider's words"), Not(HasSubstr("the words"))));
}

TEST_F(ComSessionFaultsTest, AnOlderErrorOfTheThreadIsIgnored) {
  ICreateErrorInfo* create = nullptr;
  ASSERT_EQ(CreateErrorInfo(&create), S_OK);
  create->SetDescription(const_cast<wchar_t*>(L"stale"));
  const auto info = ComPtr<ICreateErrorInfo>(create).As<IErrorInfo>(IID_IErrorInfo);
  ASSERT_EQ(SetErrorInfo(0, info.get()), S_OK);
  wmi_.query = [](auto&&...) {
    FakeReply reply;
    reply.end = WBEM_E_FAILED;
    return reply;
  };
  EXPECT_THAT(std::string(Query().message()), Not(HasSubstr("stale")));
}

TEST_F(ComSessionFaultsTest, AMissingObjectIsNotFoundAndAMissingNamespaceUnimplemented) {
  wmi_.method = [](auto&&...) {
    FakeReply reply;
    reply.end = WBEM_E_NOT_FOUND;
    return reply;
  };
  const absl::Status status = Invoke("Make").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Thing.Make"));
  wmi_.connect = [](auto&&...) { return Hr(hresult::kInvalidNamespace); };
  EXPECT_EQ(Query({}, Namespace::kSmb).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(ComSessionFaultsTest, ErrorsShortenLongQueries) {
  wmi_.query = [](auto&&...) {
    FakeReply reply;
    reply.end = WBEM_E_FAILED;
    return reply;
  };
  std::string name;
  while (name.size() < 9000) name += "\xE2\x82\xAC";
  const absl::Status status =
      session_->Query({}, Namespace::kCimV2, cim::Query("Thing").Where("N", Value::String(name)))
          .status();
  EXPECT_EQ(HresultOf(status), hresult::kFailed);
  EXPECT_LT(status.message().size(), 500u);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\xE2\x82\xAC...`"));
}

}  // namespace
}  // namespace csi_proxy::cim
