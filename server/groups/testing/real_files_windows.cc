#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/testing/real_files.h"
#include "server/machine/os_wrapper_testing.h"
#include "server/machine/reparse_point.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::groups {
namespace {

namespace fs = std::filesystem;
using machine::Access;
using machine::Bytes;
using machine::File;
using machine::FileAttributes;
using machine::Os;

constexpr char kKubelet[] = R"(C:\var\lib\kubelet)";

// The links of the tests, each recorded by the path of its placeholder directory.
class Links {
 public:
  void Set(const std::string& path, Bytes data) {
    const std::lock_guard lock(mutex_);
    links_[FoldName(path)] = std::move(data);
  }
  void Forget(const std::string& path) {
    const std::lock_guard lock(mutex_);
    links_.erase(FoldName(path));
  }
  std::optional<Bytes> Find(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(FoldName(path));
    if (found == links_.end()) return std::nullopt;
    return found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Bytes> links_;  // guarded by mutex_
};

class LinkedFile final : public machine::FileWrapper<> {
 public:
  LinkedFile(std::unique_ptr<File> file, std::string path, Links* links)
      : FileWrapper(std::move(file)), path_(std::move(path)), links_(*links) {}

  absl::StatusOr<FileAttributes> GetAttributes() override {
    absl::StatusOr<FileAttributes> attributes = FileWrapper::GetAttributes();
    if (attributes.ok() && links_.Find(path_).has_value()) {
      attributes->is_reparse_point = true;
      attributes->reparse_tag = machine::kReparseTagSymlink;
    }
    return attributes;
  }
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name, Access access) override {
    return Linked(FileWrapper::Open(name, access), name);
  }
  absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                  Access access) override {
    std::string path = names.front();
    for (size_t i = 1; i < names.size(); ++i) {
      if (links_.Find(PathOf(path)).has_value()) {
        return Win32Status(win32_error::kReparsePointEncountered, path);
      }
      absl::StrAppend(&path, "\\", names[i]);
    }
    return Linked(FileWrapper::OpenBelow(names, access), path);
  }
  absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string& name) override {
    return Linked(FileWrapper::CreateDirectory(name), name);
  }
  absl::StatusOr<std::vector<machine::DirectoryEntry>> ListNext(bool restart) override {
    auto entries = FileWrapper::ListNext(restart);
    if (!entries.ok()) return entries;
    for (machine::DirectoryEntry& entry : *entries) {
      if (links_.Find(PathOf(entry.name)).has_value()) entry.is_reparse_point = true;
    }
    return entries;
  }
  absl::Status Delete() override {
    const absl::Status deleted = FileWrapper::Delete();
    if (deleted.ok()) links_.Forget(path_);
    return deleted;
  }
  absl::StatusOr<Bytes> ReadReparsePoint() override {
    std::optional<Bytes> data = links_.Find(path_);
    if (data.has_value()) return *std::move(data);
    return Win32Status(win32_error::kNotAReparsePoint, path_);
  }
  absl::Status WriteReparsePoint(const Bytes& data) override {
    links_.Set(path_, data);
    return absl::OkStatus();
  }
  absl::Status DeleteReparsePoint(uint32_t) override {
    if (!links_.Find(path_).has_value()) {
      return Win32Status(win32_error::kNotAReparsePoint, path_);
    }
    links_.Forget(path_);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::unique_ptr<File>> Linked(absl::StatusOr<std::unique_ptr<File>> file,
                                               const std::string& name) {
    if (!file.ok()) return file;
    return std::make_unique<LinkedFile>(*std::move(file), PathOf(name), &links_);
  }
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(path_, absl::EndsWith(path_, "\\") ? "" : "\\", name);
  }

  const std::string path_;
  Links& links_;
};

class LinkedOs final : public machine::OsWrapper<> {
 public:
  LinkedOs(std::unique_ptr<Os> rest, Links* links) : OsWrapper(std::move(rest)), links_(*links) {}

  absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string& root) override {
    absl::StatusOr<std::unique_ptr<File>> file = real_->OpenRoot(root);
    if (!file.ok()) return file;
    return std::make_unique<LinkedFile>(*std::move(file), root, &links_);
  }

 private:
  const std::unique_ptr<Os> real_ = machine::NewOs();
  Links& links_;
};

class WineFiles final : public RealFiles {
 public:
  WineFiles() {
    for (const char* root : {R"(C:\var\lib)", R"(C:\outside)"}) fs::remove_all(root);
    for (const char* directory : {"pods", "plugins"}) {
      fs::create_directories(fs::path(kKubelet) / directory);
    }
  }

  std::unique_ptr<Os> NewOs(std::unique_ptr<Os> rest) override {
    return std::make_unique<LinkedOs>(std::move(rest), &links_);
  }

  absl::Status MakeLink(const std::string& path, const std::string& target) override {
    ABSL_ASSIGN_OR_RETURN(Bytes data,
                          absl::StartsWith(target, "\\\\") ? ShareLink(target) : DriveLink(target));
    // Records the link before its placeholder exists, so that no call sees a directory there.
    links_.Set(path, std::move(data));
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (fs::create_directory(path, error)) return absl::OkStatus();
    links_.Forget(path);
    return absl::AlreadyExistsError(path);
  }

  absl::Status WriteFile(const std::string& path, uint64_t size_bytes) override {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << std::string(size_bytes, 'x');
    return absl::OkStatus();
  }

  std::string ListOutside() override {
    std::vector<std::string> lines;
    for (const char* root : {R"(C:\var)", R"(C:\outside)"}) {
      if (!fs::exists(root)) continue;
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
        const std::string path = entry.path().string();
        if (absl::StartsWithIgnoreCase(path, absl::StrCat(kKubelet, "\\"))) continue;
        lines.push_back(absl::StrCat(path, " ", entry.is_directory() ? 0 : entry.file_size()));
      }
    }
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const std::string& line : lines) absl::StrAppend(&all, line, "\n");
    return all;
  }

 private:
  static absl::StatusOr<Bytes> DriveLink(const std::string& target) {
    ABSL_ASSIGN_OR_RETURN(const WindowsPath path, WindowsPath::Parse("target", target));
    return machine::MakeSymlink(path);
  }
  static absl::StatusOr<Bytes> ShareLink(const std::string& target) {
    ABSL_ASSIGN_OR_RETURN(const UncPath path, UncPath::Parse("target", target));
    return machine::MakeSymlink(path);
  }

  Links links_;
};

}  // namespace

std::unique_ptr<RealFiles> NewRealFiles() { return std::make_unique<WineFiles>(); }

bool HaveRealFiles() { return true; }

}  // namespace csi_proxy::groups
