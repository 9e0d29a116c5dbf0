// Fixture for tests of files. Each test has a new directory.
#pragma once

#include "server/machine/windows/testing_windows.h"
// The headers below must follow testing_windows.h, which undefines macros of windows.h.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace csi_proxy::machine {

// Deletes everything in a directory.
inline void Empty(File& directory) {
  const auto names = directory.List();
  ASSERT_TRUE(names.ok()) << names.status();
  for (const std::string& name : *names) {
    const auto file = directory.Open(name, Access::kDelete);
    ASSERT_TRUE(file.ok()) << name << ": " << file.status();
    if ((*file)->GetAttributes()->is_directory) Empty(**file);
    EXPECT_EQ(Code((*file)->Delete()), 0) << name;
  }
}

// Opens a new directory for each test as `at()`. With Path() and Other(), tests act as other
// programs, which use Win32's usual calls.
class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    wchar_t temporary[MAX_PATH + 1];
    // Writes a path such as `C:\a\b\`.
    GetTempPathW(MAX_PATH + 1, temporary);
    path_ = win32::Utf8(temporary);
    auto root = os_->OpenRoot(path_.substr(0, 3));
    EXPECT_TRUE(root.ok()) << root.status();
    held_.push_back(*std::move(root));
    for (size_t at = 3; at < path_.size();) {
      const size_t end = path_.find('\\', at);
      auto next = held_.back()->Open(path_.substr(at, end - at), Access::kRead);
      EXPECT_TRUE(next.ok()) << path_ << ": " << next.status();
      held_.push_back(*std::move(next));
      at = end + 1;
    }
    name_ = absl::StrCat("csi-proxy-test-", GetCurrentProcessId());
    EXPECT_EQ(Code(held_.back()->CreateDirectory(name_)), 0);
    path_ = absl::StrCat("\\\\?\\", path_, name_);
    auto made = held_.back()->Open(name_, Access::kRead);
    EXPECT_TRUE(made.ok()) << made.status();
    held_.push_back(*std::move(made));
  }

  ~FilesTest() override {
    held_.pop_back();
    const auto last = held_.back()->Open(name_, Access::kDelete);
    EXPECT_EQ(Code(last), 0);
    Empty(**last);
    EXPECT_EQ(Code((*last)->Delete()), 0);
  }

  File& at() { return *held_.back(); }

  // Lists the directory by a new handle, because under Wine a handle repeats its first listing.
  std::vector<std::string> Names() {
    return *(*held_[held_.size() - 2]->Open(name_, Access::kRead))->List();
  }

  std::wstring Path(const std::string& name) const {
    return win32::Utf16(absl::StrCat(path_, "\\", name));
  }

  // Opens an entry as another program. Returns the Win32 error, or 0.
  DWORD Other(const std::string& name, DWORD access, DWORD share, win32::UniqueHandle* kept) {
    *kept = win32::UniqueHandle(CreateFileW(Path(name).c_str(), access, share, nullptr,
                                            OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
    return kept->valid() ? 0 : GetLastError();
  }

  void MakeFile(const std::string& name) {
    const win32::UniqueHandle made(CreateFileW(Path(name).c_str(), GENERIC_WRITE, 0, nullptr,
                                               CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
    ASSERT_TRUE(made.valid()) << name << ": " << GetLastError();
  }

  void MakeDirectory(const std::string& name) {
    ASSERT_EQ(Code(at().CreateDirectory(name)), 0) << name;
  }

  int64_t DeleteEntry(const std::string& name) {
    const auto file = at().Open(name, Access::kDelete);
    return file.ok() ? Code((*file)->Delete()) : Code(file);
  }

  const std::unique_ptr<Os> os_ = NewOs();
  std::vector<std::unique_ptr<File>> held_;
  std::string path_;
  std::string name_;
};

}  // namespace csi_proxy::machine
