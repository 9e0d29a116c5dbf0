#include "server/names/win32_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace csi_proxy {
namespace {

TEST(Win32ErrorTest, AStatusKeepsItsWin32Code) {
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

TEST(Win32ErrorTest, IsFileNotFoundRecognisesBothErrorsOfAbsentEntries) {
  EXPECT_TRUE(IsFileNotFound(Win32Status(win32_error::kFileNotFound, "x")));
  EXPECT_TRUE(IsFileNotFound(Win32Status(win32_error::kPathNotFound, "x")));
  EXPECT_FALSE(IsFileNotFound(Win32Status(win32_error::kAccessDenied, "x")));
  EXPECT_FALSE(IsFileNotFound(absl::NotFoundError("x"))) << "no word of Windows";
  EXPECT_FALSE(IsFileNotFound(absl::OkStatus()));
}

TEST(Win32ErrorTest, KnownCodesHaveText) {
  EXPECT_EQ(Win32Words(win32_error::kAccessDenied), "Access is denied");
  EXPECT_EQ(Win32Words(4711), "");
  EXPECT_EQ(Win32Text(win32_error::kAccessDenied), "Access is denied (5)");
  EXPECT_EQ(Win32Text(4711), "Windows error (4711)");
}

TEST(Win32ErrorTest, RewordedKeepsTheWin32Code) {
  const absl::Status status = Reworded(Win32Status(win32_error::kAccessDenied, "no"),
                                       absl::StatusCode::kFailedPrecondition, "not without rights");
  EXPECT_EQ(status.message(), "not without rights");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(HasWin32Code(status, win32_error::kAccessDenied));
}

TEST(Win32ErrorTest, APrefixKeepsStatusAndWin32Code) {
  const absl::Status status = Prefixed("making a", Win32Status(win32_error::kAccessDenied, "no"));
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("making a: no ("));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(HasWin32Code(status, win32_error::kAccessDenied));
  EXPECT_TRUE(Prefixed("x", absl::OkStatus()).ok());
}

}  // namespace
}  // namespace csi_proxy
