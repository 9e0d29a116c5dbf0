#include "server/base/win32_error.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace csi_proxy {
namespace {

TEST(Win32ErrorTest, StatusesKeepTheirCode) {
  const absl::Status status = Win32Status(win32_error::kDirNotEmpty, "C:\\a");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Win32CodeOf(status), 145u);
  EXPECT_TRUE(HasWin32Code(status, 145));
  EXPECT_FALSE(HasWin32Code(status, 5));
  EXPECT_EQ(Win32CodeOf(absl::InternalError("x")), std::nullopt);
  EXPECT_FALSE(HasWin32Code(absl::OkStatus(), 0));
  EXPECT_TRUE(Win32Status(0, "x").ok());
  EXPECT_EQ(Win32Status(4711, "x").code(), absl::StatusCode::kInternal);
}

TEST(Win32ErrorTest, RecognisesAbsentEntries) {
  EXPECT_TRUE(IsNotThere(Win32Status(win32_error::kFileNotFound, "x")));
  EXPECT_TRUE(IsNotThere(Win32Status(win32_error::kPathNotFound, "x")));
  EXPECT_FALSE(IsNotThere(Win32Status(win32_error::kAccessDenied, "x")));
  EXPECT_FALSE(IsNotThere(absl::NotFoundError("x"))) << "no word of Windows";
  EXPECT_FALSE(IsNotThere(absl::OkStatus()));
}

TEST(Win32ErrorTest, WordsOfCodes) {
  EXPECT_EQ(Win32Words(win32_error::kAccessDenied), "Access is denied");
  EXPECT_EQ(Win32Words(4711), "");
  EXPECT_EQ(Win32Text(win32_error::kAccessDenied), "Access is denied (5)");
  EXPECT_EQ(Win32Text(4711), "Windows error (4711)");
}

// Numbers and texts of learn.microsoft.com/windows/win32/debug/system-error-codes.
TEST(Win32ErrorTest, EveryCodeHasItsStatus) {
  const std::map<absl::StatusCode, std::vector<uint32_t>> codes = {
      {absl::StatusCode::kNotFound, {2, 3, 15, 53, 67, 1060, 1168}},
      {absl::StatusCode::kPermissionDenied, {5, 303, 1314}},
      {absl::StatusCode::kAlreadyExists, {80, 183, 1056, 1073}},
      {absl::StatusCode::kInvalidArgument, {87, 123, 161}},
      {absl::StatusCode::kFailedPrecondition, {145, 267, 1051, 1058, 1326}},
      {absl::StatusCode::kUnavailable, {32, 109, 231, 232, 233, 1061}},
      {absl::StatusCode::kResourceExhausted, {8, 14, 112, 1450}},
      {absl::StatusCode::kDeadlineExceeded, {121, 258}},
      {absl::StatusCode::kCancelled, {995, 1223}},
  };
  for (const auto& [status, of_windows] : codes) {
    for (const uint32_t code : of_windows) EXPECT_EQ(Win32Status(code, "").code(), status) << code;
  }
}

TEST(Win32ErrorTest, EveryCodeHasItsWords) {
  const std::pair<uint32_t, const char*> words[] = {
      {1, "Incorrect function"},
      {2, "The system cannot find the file specified"},
      {3, "The system cannot find the path specified"},
      {5, "Access is denied"},
      {8, "Not enough memory resources are available to process this command"},
      {15, "The system cannot find the drive specified"},
      {19, "The media is write protected"},
      {21, "The device is not ready"},
      {31, "A device attached to the system is not functioning"},
      {32, "The process cannot access the file because it is being used by another process"},
      {50, "The request is not supported"},
      {53, "The network path was not found"},
      {59, "An unexpected network error occurred"},
      {64, "The specified network name is no longer available"},
      {67, "The network name cannot be found"},
      {85, "The local device name is already in use"},
      {86, "The specified network password is not correct"},
      {87, "The parameter is incorrect"},
      {112, "There is not enough space on the disk"},
      {121, "The semaphore timeout period has expired"},
      {123, "The filename, directory name, or volume label syntax is incorrect"},
      {145, "The directory is not empty"},
      {161, "The specified path is invalid"},
      {183, "Cannot create a file when that file already exists"},
      {206, "The filename or extension is too long"},
      {234, "More data is available"},
      {267, "The directory name is invalid"},
      {1005, "The volume does not contain a recognized file system"},
      {1051,
       "A stop control has been sent to a service that other running services are dependent on"},
      {1056, "An instance of the service is already running"},
      {1058, "The service cannot be started because it is disabled"},
      {1060, "The specified service does not exist as an installed service"},
      {1061, "The service cannot accept control messages at this time"},
      {1062, "The service has not been started"},
      {1068, "The dependency service or group failed to start"},
      {1219, "Other connections to the server with other credentials exist"},
      {1231, "The network location cannot be reached"},
      {1326, "The user name or password is incorrect"},
      {1327, "Account restrictions prevent the user from signing in"},
      {1328, "Your account has time restrictions that keep you from signing in right now"},
      {1330, "The password of this account has expired"},
      {1331, "This account is disabled"},
      {1385,
       "Logon failure: the user has not been granted the requested logon type at this computer"},
      {1907, "The user's password must be changed before signing in"},
      {1909, "The account is locked out"},
      {1921, "The name of the file cannot be resolved by the system"},
      {2138, "The Workstation service has not been started"},
      {2250, "The network connection could not be found"},
      {4390, "The file or directory is not a reparse point"},
      {4392, "The data present in the reparse point buffer is invalid"},
      {4394,
       "There is a mismatch between the tag specified in the request and the tag present in the "
       "reparse point"},
      {4395, "The object manager encountered a reparse point while retrieving an object"},
  };
  for (const auto& [code, text] : words) EXPECT_EQ(Win32Words(code), text) << code;
}

TEST(Win32ErrorTest, OtherWordsKeepTheWin32Code) {
  const absl::Status status = Reworded(Win32Status(win32_error::kAccessDenied, "no"),
                                       absl::StatusCode::kFailedPrecondition, "not without rights");
  EXPECT_EQ(status.message(), "not without rights");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(HasWin32Code(status, win32_error::kAccessDenied));
}

TEST(Win32ErrorTest, APrefixKeepsCodes) {
  const absl::Status status = Prefixed("making a", Win32Status(win32_error::kAccessDenied, "no"));
  EXPECT_EQ(status.message(), "making a: no");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(HasWin32Code(status, win32_error::kAccessDenied));
  EXPECT_TRUE(Prefixed("x", absl::OkStatus()).ok());
}

}  // namespace
}  // namespace csi_proxy
