// lock_tool --check DIR   fails unless DIR/released.lock equals the versions below DIR
// lock_tool --add DIR     locks new versions; fails if a locked version was changed or removed
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/lock.h"

namespace csi_proxy::api {
namespace {

absl::Status Run(const std::string& mode, const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/released.lock");
  const absl::StatusOr<std::string> text = ReadFile(path);
  // Only --add may run without a lock file.
  if (!text.ok() && !(mode == "--add" && absl::IsNotFound(text.status()))) return text.status();
  const absl::StatusOr<Lock> locked = ParseLock(text.ok() ? *text : "");
  if (!locked.ok()) return locked.status();

  const absl::StatusOr<std::unique_ptr<Files>> files = Files::ParseDirectory(directory);
  if (!files.ok()) return files.status();
  const Lock current = LockOf(**files);

  if (mode == "--add") {
    const absl::StatusOr<Lock> added = AddVersions(*locked, current);
    return added.ok() ? WriteFile(path, FormatLock(*added)) : added.status();
  }
  const std::vector<std::string> differences = Differences(*locked, current);
  if (differences.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(differences, "\n"));
}

int Main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "--check" && mode != "--add") {
    std::fprintf(stderr, "usage: lock_tool --check|--add API_DIRECTORY\n");
    return 2;
  }
  const absl::Status status = Run(mode, argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace csi_proxy::api

int main(int argc, char** argv) { return csi_proxy::api::Main(argc, argv); }
