#include "server/names/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"

namespace csi_proxy {
namespace {

using enum absl::StatusCode;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A way in which Windows refuses a call, and the function that makes the status of the refusal.
struct Way {
  const char* operation;
  Refuser refuser;
  absl::Status (*refuse)(uint32_t number);
};

absl::Status ByStorage(absl::string_view operation, uint32_t number) {
  cim::MethodResult result;
  result.return_value = number;
  return cim::StorageStatus(operation, result);
}

const Way kWays[] = {
    {"Format", Refuser::kStorage,
     [](uint32_t number) { return ByStorage("formatting volume V", number); }},
    {"Resize", Refuser::kStorage,
     [](uint32_t number) { return ByStorage("resizing volume V", number); }},
    {"query", Refuser::kHresult,
     [](uint32_t number) { return cim::HresultStatus(number, "querying MSFT_Disk"); }},
    {"connect", Refuser::kHresult,
     [](uint32_t number) { return cim::HresultStatus(number, "connecting target T"); }},
    {"delete", Refuser::kWin32,
     [](uint32_t number) {
       return Win32Status(number, absl::StrCat("removing P: ", Win32Text(number)));
     }},
    {"sign-in", Refuser::kSignIn,
     [](uint32_t number) {
       return Win32Status(number, absl::StrCat("mapping S: ", Win32Text(number)));
     }},
    {"iSCSI", Refuser::kInitiator,
     [](uint32_t number) {
       return RefusedBy(
           Refuser::kInitiator,
           Win32Status(number, absl::StrCat("connecting target T: ", Win32Text(number))));
     }},
    {"mapping", Refuser::kMapping,
     [](uint32_t number) {
       return RefusedBy(Refuser::kMapping,
                        Win32Status(number, absl::StrCat("mapping S: ", Win32Text(number))));
     }},
    {"encrypted mapping", Refuser::kEncryptedMapping,
     [](uint32_t number) {
       return RefusedBy(Refuser::kEncryptedMapping,
                        Win32Status(number, absl::StrCat("mapping S: ", Win32Text(number))));
     }},
};

bool IsOfIscsi(uint32_t number) { return number >> 16 == 0xEFFF; }

// csi-proxyctl reads four codes as faults of a field, a path, the service's load or the caller's
// timeout. No refusal of Windows may have one of these codes.
TEST(RefusalsTest, RefusalsOfWindowsHaveOtherCodesThanRefusalsOfTheService) {
  // CSI_PROXY_REFUSALS_TABLE names a file that gets the table of all refusals.
  const char* const file = std::getenv("CSI_PROXY_REFUSALS_TABLE");
  std::ofstream table(file == nullptr ? "" : file);
  table << "| operation | number | code | text and advice |\n|---|---|---|---|\n";
  for (const Way& way : kWays) {
    std::set<uint32_t> numbers;
    for (const Refusal& row : AllRefusals(way.refuser)) {
      if (way.refuser == Refuser::kHresult &&
          IsOfIscsi(row.number) != (absl::string_view(way.operation) == "connect")) {
        continue;
      }
      EXPECT_TRUE(numbers.insert(row.number).second) << "twice: " << row.number;
      const absl::Status refused = way.refuse(row.number);
      const std::string text(refused.message());
      EXPECT_EQ(refused.code(), row.code) << refused;
      for (const absl::StatusCode code :
           {kInvalidArgument, kPermissionDenied, kResourceExhausted, kDeadlineExceeded}) {
        EXPECT_NE(refused.code(), code) << refused;
      }
      // A repeat does not help after INTERNAL, so no text with this code may advise a repeat.
      EXPECT_FALSE(row.code == kInternal && absl::StrContains(row.advice, "repeat the call"))
          << text;
      EXPECT_THAT(text, HasSubstr(absl::StrCat("(", row.number >> 31 ? "0x" : "")));
      EXPECT_THAT(text, Not(HasSubstr("Windows error (")));
      EXPECT_THAT(text, EndsWith(*row.advice == '\0' ? "" : absl::StrCat(" (", row.advice, ")")));
      table << absl::StrCat(
          "| ", way.operation, " | ",
          row.number >> 31 ? absl::StrCat("0x", absl::Hex(row.number)) : absl::StrCat(row.number),
          " | ", absl::StatusCodeToString(refused.code()), " | ",
          absl::StrReplaceAll(text, {{"|", "\\|"}}), " |\n");
    }
  }
}

TEST(RefusalsTest, TheOutermostOperationReplacesTheAdvice) {
  const absl::Status denied = Win32Status(5, "mapping S: Access is denied (5)");
  EXPECT_EQ(denied.code(), kFailedPrecondition);
  EXPECT_THAT(std::string(denied.message()), EndsWith("can take them away)"));
  const absl::Status mapping = RefusedBy(Refuser::kMapping, Prefixed("staging", denied));
  EXPECT_THAT(std::string(mapping.message()),
              StartsWith("staging: mapping S: Access is denied (5) (the server refuses the user"));
  EXPECT_THAT(std::string(mapping.message()), Not(HasSubstr("take them away")));
  EXPECT_TRUE(HasWin32Code(mapping, 5));
  const absl::Status encrypted = RefusedBy(Refuser::kEncryptedMapping, mapping);
  EXPECT_THAT(std::string(encrypted.message()), HasSubstr("(5) (csi-proxy requires encryption"));
  EXPECT_EQ(RefusedBy(Refuser::kMapping, absl::InternalError("x")), absl::InternalError("x"));
  EXPECT_EQ(Advise(absl::InternalError("x"), ""), absl::InternalError("x"));
  EXPECT_TRUE(Advise(absl::OkStatus(), "y").ok());
}

// Callers decide by the status codes of these numbers.
TEST(RefusalsTest, EachErrorNumberHasItsStatusCode) {
  const struct {
    Refuser refuser;
    uint32_t number;
    absl::StatusCode code;
  } rows[] = {
      {Refuser::kWin32, 2, kNotFound},
      {Refuser::kWin32, 183, kAlreadyExists},
      {Refuser::kWin32, 145, kFailedPrecondition},
      {Refuser::kWin32, 32, kUnavailable},
      {Refuser::kWin32, 87, kInternal},
      {Refuser::kMapping, 67, kNotFound},
      {Refuser::kMapping, 85, kAlreadyExists},
      {Refuser::kHresult, 0x80070422, kFailedPrecondition},
      {Refuser::kHresult, 0x800401F3, kFailedPrecondition},
      {Refuser::kHresult, 0x80040154, kFailedPrecondition},
      {Refuser::kHresult, 0x80090324, kFailedPrecondition},
      {Refuser::kHresult, 0x80041010, kUnimplemented},
      {Refuser::kHresult, 0xEFFF0003, kUnavailable},
      {Refuser::kHresult, 0xEFFF0029, kNotFound},
      {Refuser::kHresult, 0xEFFF003F, kAlreadyExists},
      {Refuser::kStorage, 6, kFailedPrecondition},
      {Refuser::kStorage, 8, kUnavailable},
      {Refuser::kStorage, 40000, kFailedPrecondition},
      {Refuser::kStorage, 43001, kFailedPrecondition},
  };
  for (const auto& row : rows) {
    const Refusal* const refusal = FindRefusal(row.refuser, row.number);
    ASSERT_NE(refusal, nullptr) << row.number;
    EXPECT_EQ(refusal->code, row.code) << row.number;
  }
  EXPECT_EQ(FindRefusal(Refuser::kWin32, 4711), nullptr);
}

}  // namespace
}  // namespace csi_proxy
