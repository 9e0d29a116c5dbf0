#include "server/machine/cim/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/win32_error.h"

namespace csi_proxy::cim {
namespace {

using enum absl::StatusCode;
using ::testing::EndsWith;
using ::testing::HasSubstr;

MethodResult Returning(uint32_t value, Properties out = {}) {
  MethodResult result;
  result.return_value = value;
  result.out = Object("__PARAMETERS", "", std::move(out));
  return result;
}

struct Group {
  absl::StatusCode code;
  std::set<uint32_t> values;
};

// Every code with a status of its own; others are INTERNAL.
const Group kGroups[] = {
    {kInvalidArgument,
     {5, 40005, 41005, 41006, 41010, 41012, 41016, 41017, 42007, 43000, 43001, 43005}},
    {kPermissionDenied, {40001}},
    {kDeadlineExceeded, {3}},
    {kResourceExhausted, {40000, 40002, 41004}},
    {kFailedPrecondition,
     {6, 40018, 41000, 41001, 41002, 41003, 41009, 41015, 41018, 42004, 42008, 42009, 42010, 42011,
      43002, 43006}},
    {kUnimplemented, {1}},
};

absl::StatusCode Expected(uint32_t value) {
  for (const Group& group : kGroups) {
    if (group.values.count(value) > 0) return group.code;
  }
  return kInternal;
}

TEST(StorageStatusTest, EveryReturnValueHasItsStatus) {
  EXPECT_TRUE(StorageStatus("format", Returning(0)).ok());
  for (uint32_t value = 1; value < 50'000; ++value) {
    const absl::Status status = StorageStatus("format the volume", Returning(value));
    ASSERT_EQ(status.code(), Expected(value)) << status;
    ASSERT_THAT(std::string(status.message()), HasSubstr("format the volume failed: "));
    ASSERT_THAT(std::string(status.message()), EndsWith(absl::StrCat("(", value, ")")));
  }
  EXPECT_EQ(StorageStatus("format", Returning(0xFFFFFFFF)).code(), kInternal);
}

TEST(StorageStatusTest, CodesTheProductDecidesByAreExplained) {
  for (const uint32_t value :
       {kJobStarted, kSizeNotSupported, kCacheOutOfDate, kAlreadyInitialized, kAccessPathInUse}) {
    EXPECT_NE(StorageStatus("x", Returning(value)).message(),
              absl::StrCat("x failed: WMI says no (", value, ")"));
  }
  EXPECT_EQ(StorageStatus("x", Returning(49'999)).message(), "x failed: WMI says no (49999)");
}

// Text, an object with a Message, or nothing of use: never an error of its own.
TEST(StorageStatusTest, ExtendedStatusIsAddedWhateverItsForm) {
  const auto message = [](Value extended) {
    return std::string(
        StorageStatus("resize", Returning(4, {{"ExtendedStatus", std::move(extended)}})).message());
  };
  EXPECT_EQ(message(Value::String("no room")), "resize failed: Failed (4): no room");
  EXPECT_EQ(message(Value::Embedded(
                Object("MSFT_StorageExtendedStatus", "", {{"Message", Value::String("no room")}}))),
            "resize failed: Failed (4): no room");
  const Value useless[] = {Value(),
                           Value::Null(Type::kObject),
                           Value::String(""),
                           Value::Uint32(7),
                           Value::Array(Type::kString, {Value::String("x")}),
                           Value::Embedded(Object("X", "", {})),
                           Value::Embedded(Object("X", "", {{"Message", Value()}})),
                           Value::Embedded(Object("X", "", {{"Message", Value::Uint32(1)}}))};
  for (const Value& value : useless) EXPECT_EQ(message(value), "resize failed: Failed (4)");
}

TEST(OpaqueStatusTest, ReturnValuesAreWin32CodesOrHresults) {
  EXPECT_TRUE(OpaqueStatus("map the share", Returning(0)).ok());
  const absl::Status denied = OpaqueStatus("map the share", Returning(5));
  EXPECT_EQ(denied.code(), kPermissionDenied);
  EXPECT_TRUE(HasWin32Code(denied, 5));
  EXPECT_EQ(denied.message(), "map the share failed: Access is denied (5)");
  EXPECT_EQ(OpaqueStatus("map", Returning(53)).code(), kNotFound);
  EXPECT_EQ(OpaqueStatus("map", Returning(12345)).code(), kInternal);
  const absl::Status gone = OpaqueStatus("map the share", Returning(hresult::kNotFound));
  EXPECT_EQ(gone.code(), kNotFound);
  EXPECT_EQ(HresultOf(gone), hresult::kNotFound);
  EXPECT_EQ(OpaqueStatus("map", Returning(0x80070035)).code(), kNotFound);
  EXPECT_EQ(OpaqueStatus("map", Returning(7, {{"ExtendedStatus", Value::String("why")}})).message(),
            "map failed: Windows error (7): why");
}

struct Code {
  uint32_t hresult;
  const char* name;
  absl::StatusCode code;
};

const Code kCodes[] = {
    {hresult::kFailed, "WBEM_E_FAILED", kInternal},
    {hresult::kNotFound, "WBEM_E_NOT_FOUND", kNotFound},
    {hresult::kAccessDenied, "WBEM_E_ACCESS_DENIED", kPermissionDenied},
    {hresult::kProviderFailure, "WBEM_E_PROVIDER_FAILURE", kInternal},
    {hresult::kTypeMismatch, "WBEM_E_TYPE_MISMATCH", kInternal},
    {hresult::kInvalidParameter, "WBEM_E_INVALID_PARAMETER", kInternal},
    {0x8004100C, "WBEM_E_NOT_SUPPORTED", kUnimplemented},
    {hresult::kInvalidNamespace, "WBEM_E_INVALID_NAMESPACE", kUnimplemented},
    {hresult::kInvalidClass, "WBEM_E_INVALID_CLASS", kUnimplemented},
    {hresult::kProviderLoadFailure, "WBEM_E_PROVIDER_LOAD_FAILURE", kUnavailable},
    {hresult::kTransportFailure, "WBEM_E_TRANSPORT_FAILURE", kUnavailable},
    {hresult::kInvalidQuery, "WBEM_E_INVALID_QUERY", kInternal},
    {0x80041024, "WBEM_E_PROVIDER_NOT_CAPABLE", kUnimplemented},
    {hresult::kInvalidMethod, "WBEM_E_INVALID_METHOD", kUnimplemented},
    {hresult::kInvalidMethodParameters, "WBEM_E_INVALID_METHOD_PARAMETERS", kInternal},
    {hresult::kShuttingDown, "WBEM_E_SHUTTING_DOWN", kUnavailable},
    {hresult::kInvalidObjectPath, "WBEM_E_INVALID_OBJECT_PATH", kInternal},
    {0x80041055, "WBEM_E_METHOD_NOT_IMPLEMENTED", kUnimplemented},
    {0x80041058, "WBEM_E_UNPARSABLE_QUERY", kInternal},
    {hresult::kTimedOut, "WBEM_E_TIMED_OUT", kDeadlineExceeded},
    {0x8004106C, "WBEM_E_QUOTA_VIOLATION", kResourceExhausted},
    {hresult::kCallRejected, "RPC_E_CALL_REJECTED", kUnavailable},
    {hresult::kRpcDisconnected, "RPC_E_DISCONNECTED", kUnavailable},
    {hresult::kRpcServerUnavailable, "RPC_S_SERVER_UNAVAILABLE", kUnavailable},
    {hresult::kRpcCallFailed, "RPC_S_CALL_FAILED", kUnavailable},
    {hresult::kRpcCallFailedDne, "RPC_S_CALL_FAILED_DNE", kUnavailable},
};

TEST(HresultStatusTest, CodesHaveTheirNameAndStatus) {
  for (const Code& code : kCodes) {
    const absl::Status status = HresultStatus(code.hresult, "what");
    EXPECT_EQ(status.code(), code.code) << status;
    EXPECT_EQ(status.message(), absl::StrFormat("what: %s (0x%08X)", code.name, code.hresult));
    EXPECT_EQ(HresultOf(status), code.hresult);
  }
  EXPECT_EQ(HresultStatus(hresult::kFailed, "what", "why").message(),
            "what: WBEM_E_FAILED (0x80041001): why");
}

TEST(HresultStatusTest, Win32CodesInHresultsKeepTheirStatusAndCode) {
  const absl::Status denied = HresultStatus(0x80070005, "what", "why");
  EXPECT_EQ(denied.code(), kPermissionDenied);
  EXPECT_TRUE(HasWin32Code(denied, 5));
  EXPECT_EQ(HresultOf(denied), 0x80070005u);
  EXPECT_EQ(denied.message(), "what: Access is denied (5), 0x80070005: why");
  EXPECT_EQ(HresultStatus(0x8007000E, "what").code(), kResourceExhausted);
}

TEST(HresultStatusTest, OtherCodesAreInternal) {
  for (const uint32_t code : {0x80004005u, 0x80070000u, 0x8004FFFFu, 0u}) {
    EXPECT_EQ(HresultStatus(code, "what").code(), kInternal) << code;
    EXPECT_EQ(HresultOf(HresultStatus(code, "what")), code);
  }
  EXPECT_EQ(HresultStatus(0x80004005, "what").message(), "what: WMI failed (0x80004005)");
}

TEST(HresultStatusTest, ACodeSurvivesAPrefixAndNothingElseHasOne) {
  EXPECT_EQ(HresultOf(Prefixed("outer", HresultStatus(hresult::kNotFound, "inner"))),
            hresult::kNotFound);
  EXPECT_EQ(HresultOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(HresultOf(absl::NotFoundError("x")), std::nullopt);
  EXPECT_EQ(HresultOf(Win32Status(2, "x")), std::nullopt);
}

Object ErrorObject(Properties properties) {
  return Object("MSFT_WmiError", "", std::move(properties));
}

TEST(ErrorObjectStatusTest, TheErrorThatTheObjectNamesDecides) {
  const auto id = [](const char* text) {
    return ErrorObject({{"MessageID", Value::String(text)}});
  };
  const struct {
    Object object;
    uint32_t error;
  } rows[] = {
      {id("Windows System Error 53"), 53},
      {id("windows system error 1219"), 1219},
      {id("WIN32 1722"), 1722},
      {id("HRESULT 0x80070035"), 53},
      {ErrorObject({{"error_Code", Value::Uint32(1326)}}), 1326},
      {ErrorObject(
           {{"error_Code", Value::Uint32(0x80070005)}, {"error_Type", Value::String("HRESULT")}}),
       5},
      {ErrorObject({{"StatusCode", Value::Uint32(0x80070056)}}), 86},
      // The first one that names a Win32 error counts.
      {ErrorObject(
           {{"MessageID", Value::String("HRESULT 0x80041001")}, {"error_Code", Value::Uint32(67)}}),
       67},
      {ErrorObject({{"MessageID", Value::String("Windows System Error 2")},
                    {"error_Code", Value::Uint32(67)}}),
       2},
  };
  for (const auto& row : rows) {
    const absl::Status status = ErrorObjectStatus(hresult::kFailed, "what", row.object);
    EXPECT_EQ(status.code(), Win32Status(row.error, "").code()) << status;
    EXPECT_TRUE(HasWin32Code(status, row.error)) << status;
    EXPECT_EQ(HresultOf(status), hresult::kFailed) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("what: ", Win32Text(row.error), ", 0x80041001")));
  }
}

// Connect-IscsiTarget shows such an error: FullyQualifiedErrorId `HRESULT 0xefff0009`.
TEST(ErrorObjectStatusTest, AnHresultThatTheObjectNamesTakesThePlaceOfTheFailure) {
  const absl::Status status =
      ErrorObjectStatus(hresult::kFailed, "what",
                        ErrorObject({{"MessageID", Value::String("HRESULT 0xefff0009")},
                                     {"Message", Value::String("Authentication Failure.")}}));
  EXPECT_EQ(HresultOf(status), 0xEFFF0009);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Authentication Failure."));
}

TEST(ErrorObjectStatusTest, AnObjectThatNamesNoneLeavesTheHresult) {
  const Object objects[] = {
      ErrorObject({}),
      ErrorObject({{"MessageID", Value::String("HRESULT 0x80041001")}}),
      ErrorObject({{"MessageID", Value::String("Windows System Error ")}}),
      ErrorObject({{"MessageID", Value::String("Windows System Error 99999999999")}}),
      ErrorObject({{"MessageID", Value::String("Windows System Error 53x")}}),
      ErrorObject({{"MessageID", Value::String("Error 53")}}),
      ErrorObject({{"MessageID", Value::Uint32(53)}}),
      ErrorObject({{"error_Code", Value::Uint32(0)}}),
      ErrorObject({{"error_Code", Value::Uint32(2)}, {"error_Type", Value::String("MI")}}),
      ErrorObject({{"error_Code", Value::Uint32(0x80041003)}}),
      ErrorObject({{"StatusCode", Value::Uint32(5)}}),
      ErrorObject({{"StatusCode", Value::Uint32(0x80041024)}}),
  };
  for (const Object& object : objects) {
    const absl::Status status = ErrorObjectStatus(hresult::kFailed, "what", object);
    EXPECT_EQ(status.code(), kInternal) << status;
    EXPECT_EQ(Win32CodeOf(status), std::nullopt) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("WBEM_E_FAILED (0x80041001)"));
  }
}

TEST(ErrorObjectStatusTest, AnHresultThatSaysMoreKeepsItsCode) {
  const Object object = ErrorObject({{"error_Code", Value::Uint32(53)}});
  const absl::Status denied = ErrorObjectStatus(hresult::kAccessDenied, "what", object);
  EXPECT_EQ(denied.code(), kPermissionDenied);
  EXPECT_TRUE(HasWin32Code(denied, 53));
  EXPECT_EQ(HresultOf(denied), hresult::kAccessDenied);
  EXPECT_EQ(denied.message(), "what: WBEM_E_ACCESS_DENIED (0x80041003)");
  const absl::Status wrapped = ErrorObjectStatus(0x80070005, "what", object);
  EXPECT_TRUE(HasWin32Code(wrapped, 5));
}

TEST(ErrorObjectStatusTest, TheObjectsWordsAreTold) {
  const absl::Status status =
      ErrorObjectStatus(hresult::kFailed, "what",
                        ErrorObject({{"Message", Value::String("its own words")},
                                     {"Description", Value::String("others")},
                                     {"Operation", Value::String("ExecMethod")},
                                     {"ParameterInfo", Value::String("what was asked")},
                                     {"MessageID", Value::String("Windows System Error 53")}}));
  EXPECT_EQ(status.message(), absl::StrCat("what: ", Win32Text(53),
                                           ", 0x80041001: its own words (Operation ExecMethod)"));
}

TEST(IsConnectionLostTest, OnlyWhereAnotherConnectionMayHelp) {
  const std::set<uint32_t> lost = {hresult::kShuttingDown,    hresult::kTransportFailure,
                                   hresult::kRpcDisconnected, hresult::kRpcServerUnavailable,
                                   hresult::kRpcCallFailed,   hresult::kRpcCallFailedDne};
  for (const Code& code : kCodes) {
    EXPECT_EQ(IsConnectionLost(HresultStatus(code.hresult, "x")), lost.count(code.hresult) > 0)
        << code.name;
  }
  EXPECT_FALSE(IsConnectionLost(absl::OkStatus()));
  EXPECT_FALSE(IsConnectionLost(absl::UnavailableError("x")));
}

}  // namespace
}  // namespace csi_proxy::cim
