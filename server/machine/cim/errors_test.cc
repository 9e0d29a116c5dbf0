#include "server/machine/cim/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/names/refusals.h"
#include "server/names/win32_error.h"

namespace csi_proxy::cim {
namespace {

using enum absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

MethodResult Returning(uint32_t value, Properties out = {}) {
  MethodResult result;
  result.return_value = value;
  result.out = Object("__PARAMETERS", "", std::move(out));
  return result;
}

// Each message contains the return value, even a value that Windows' pages do not list.
TEST(StorageStatusTest, EveryErrorContainsItsNumber) {
  EXPECT_TRUE(StorageStatus("format", Returning(0)).ok());
  for (uint32_t value = 1; value < 50'000; ++value) {
    const absl::Status status = StorageStatus("format the volume", Returning(value));
    ASSERT_THAT(std::string(status.message()), AllOf(HasSubstr("format the volume failed: "),
                                                     HasSubstr(absl::StrCat(" (", value, ")"))));
    if (FindRefusal(Refuser::kStorage, value) == nullptr) {
      ASSERT_EQ(status.code(), kInternal);
    }
  }
  EXPECT_EQ(StorageStatus("format", Returning(0xFFFFFFFF)).code(), kInternal);
}

TEST(StorageStatusTest, KnownReturnValuesHaveAnExplanationAndUnknownOnesHaveNone) {
  for (const uint32_t value :
       {kJobStarted, kSizeNotSupported, kCacheOutOfDate, kAlreadyInitialized, kAccessPathInUse}) {
    EXPECT_NE(StorageStatus("x", Returning(value)).message(),
              absl::StrCat("x failed: WMI gives no reason (", value, ")"));
  }
  EXPECT_EQ(StorageStatus("x", Returning(49'999)).message(),
            "x failed: WMI gives no reason (49999)");
}

// ExtendedStatus may be text, an object with a Message, or anything else, which is ignored.
TEST(StorageStatusTest, ExtendedStatusIsAppendedInEachOfItsForms) {
  const auto message = [](Value extended) {
    return std::string(
        StorageStatus("resize", Returning(41009, {{"ExtendedStatus", std::move(extended)}}))
            .message());
  };
  EXPECT_EQ(message(Value::String("no room")),
            "resize failed: Not on a critical disk (41009): no room");
  EXPECT_EQ(message(Value::Embedded(
                Object("MSFT_StorageExtendedStatus", "", {{"Message", Value::String("no room")}}))),
            "resize failed: Not on a critical disk (41009): no room");
  const Value useless[] = {Value(),
                           Value::Null(Type::kObject),
                           Value::String(""),
                           Value::Uint32(7),
                           Value::Array(Type::kString, {Value::String("x")}),
                           Value::Embedded(Object("X", "", {})),
                           Value::Embedded(Object("X", "", {{"Message", Value()}})),
                           Value::Embedded(Object("X", "", {{"Message", Value::Uint32(1)}}))};
  for (const Value& value : useless)
    EXPECT_EQ(message(value), "resize failed: Not on a critical disk (41009)");
}

TEST(ReturnValueStatusTest, ReturnValuesAreReadAsWin32CodesOrHresults) {
  EXPECT_TRUE(ReturnValueStatus("map the share", Returning(0)).ok());
  const absl::Status denied = ReturnValueStatus("map the share", Returning(5));
  EXPECT_EQ(denied.code(), kFailedPrecondition);
  EXPECT_TRUE(HasWin32Code(denied, 5));
  EXPECT_THAT(std::string(denied.message()),
              StartsWith("map the share failed: Access is denied (5) ("));
  EXPECT_EQ(ReturnValueStatus("map", Returning(53)).code(), kNotFound);
  EXPECT_EQ(ReturnValueStatus("map", Returning(12345)).code(), kInternal);
  const absl::Status gone = ReturnValueStatus("map the share", Returning(hresult::kNotFound));
  EXPECT_EQ(gone.code(), kNotFound);
  EXPECT_EQ(HresultOf(gone), hresult::kNotFound);
  EXPECT_EQ(ReturnValueStatus("map", Returning(0x80070035)).code(), kNotFound);
  EXPECT_EQ(
      ReturnValueStatus("map", Returning(7, {{"ExtendedStatus", Value::String("why")}})).message(),
      "map failed: Windows error (7): why");
}

TEST(HresultStatusTest, KnownHresultsHaveTheirNameAndStatusCode) {
  for (const Refusal& row : AllRefusals(Refuser::kHresult)) {
    const absl::Status status = HresultStatus(row.number, "what", "why");
    EXPECT_EQ(status.code(), row.code) << status;
    EXPECT_THAT(std::string(status.message()),
                StartsWith(absl::StrFormat("what: %s (0x%08X): why", row.words, row.number)));
    EXPECT_EQ(HresultOf(status), row.number);
  }
  EXPECT_EQ(HresultStatus(hresult::kFailed, "what").message(), "what: WBEM_E_FAILED (0x80041001)");
  EXPECT_THAT(std::string(HresultStatus(0x80070422, "what").message()),
              HasSubstr("`Set-Service -Name Winmgmt -StartupType Automatic`"));
}

TEST(HresultStatusTest, AnHresultOfAWin32ErrorHasTheErrorsCodeAndStatus) {
  const absl::Status denied = HresultStatus(0x80070005, "what", "why");
  EXPECT_EQ(denied.code(), kFailedPrecondition);
  EXPECT_TRUE(HasWin32Code(denied, 5));
  EXPECT_EQ(HresultOf(denied), 0x80070005u);
  EXPECT_THAT(std::string(denied.message()),
              StartsWith("what: Access is denied (5), 0x80070005: why ("));
  EXPECT_EQ(HresultStatus(0x8007000E, "what").code(), kUnavailable);
}

TEST(HresultStatusTest, UnknownHresultsAreInternalErrors) {
  for (const uint32_t code : {0x80004005u, 0x80070000u, 0x8004FFFFu, 0u}) {
    EXPECT_EQ(HresultStatus(code, "what").code(), kInternal) << code;
    EXPECT_EQ(HresultOf(HresultStatus(code, "what")), code);
  }
  EXPECT_EQ(HresultStatus(0x80004005, "what").message(), "what: WMI failed (0x80004005)");
  EXPECT_EQ(HresultStatus(0xEFFF0055, "what").message(),
            "what: iSCSI error (0xEFFF0055, see iscsierr.h)");
}

TEST(HresultStatusTest, PrefixedErrorsKeepTheirHresultAndOtherErrorsHaveNone) {
  EXPECT_EQ(HresultOf(Prefixed("outer", HresultStatus(hresult::kNotFound, "inner"))),
            hresult::kNotFound);
  EXPECT_EQ(HresultOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(HresultOf(absl::NotFoundError("x")), std::nullopt);
  EXPECT_EQ(HresultOf(Win32Status(2, "x")), std::nullopt);
}

Object ErrorObject(Properties properties) {
  return Object("MSFT_WmiError", "", std::move(properties));
}

TEST(ErrorObjectStatusTest, AnErrorNumberInTheObjectDeterminesTheStatus) {
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
      // The first property that names a Win32 error counts.
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

// Connect-IscsiTarget shows such an error, with the FullyQualifiedErrorId `HRESULT 0xefff0009`.
TEST(ErrorObjectStatusTest, AnHresultInTheObjectReplacesTheGeneralFailure) {
  const absl::Status status =
      ErrorObjectStatus(hresult::kFailed, "what",
                        ErrorObject({{"MessageID", Value::String("HRESULT 0xefff0009")},
                                     {"Message", Value::String("Authentication Failure.")}}));
  EXPECT_EQ(HresultOf(status), 0xEFFF0009);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Authentication Failure."));
}

TEST(ErrorObjectStatusTest, AnObjectWithoutAnErrorNumberKeepsTheHresult) {
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

TEST(ErrorObjectStatusTest, ASpecificHresultIsKeptBesideTheObjectsError) {
  const Object object = ErrorObject({{"error_Code", Value::Uint32(53)}});
  const absl::Status denied = ErrorObjectStatus(hresult::kAccessDenied, "what", object);
  EXPECT_EQ(denied.code(), kFailedPrecondition);
  EXPECT_TRUE(HasWin32Code(denied, 53));
  EXPECT_EQ(HresultOf(denied), hresult::kAccessDenied);
  EXPECT_THAT(std::string(denied.message()), StartsWith("what: WBEM_E_ACCESS_DENIED (0x80041003)"));
  const absl::Status wrapped = ErrorObjectStatus(0x80070005, "what", object);
  EXPECT_TRUE(HasWin32Code(wrapped, 5));
}

TEST(ErrorObjectStatusTest, TheObjectsTextIsPartOfTheError) {
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

TEST(IsConnectionLostTest, OnlyTransportErrorsCountAsALostConnection) {
  const std::set<uint32_t> lost = {hresult::kShuttingDown,    hresult::kTransportFailure,
                                   hresult::kRpcDisconnected, hresult::kRpcServerUnavailable,
                                   hresult::kRpcCallFailed,   hresult::kRpcCallFailedDne};
  for (const Refusal& row : AllRefusals(Refuser::kHresult)) {
    EXPECT_EQ(IsConnectionLost(HresultStatus(row.number, "x")), lost.count(row.number) > 0)
        << row.words;
  }
  EXPECT_FALSE(IsConnectionLost(absl::OkStatus()));
  EXPECT_FALSE(IsConnectionLost(absl::UnavailableError("x")));
}

}  // namespace
}  // namespace csi_proxy::cim
