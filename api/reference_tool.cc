// reference_tool --check DIR   fails unless DIR/REFERENCE.md is what the protos below DIR say
// reference_tool --write DIR   writes it
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/reference.h"

namespace csi_proxy::api {
namespace {

absl::Status Run(const std::string& mode, const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/REFERENCE.md");
  const absl::StatusOr<std::unique_ptr<Files>> files = Files::ParseDirectory(directory);
  if (!files.ok()) return files.status();
  const absl::StatusOr<std::string> text = Reference(**files);
  if (!text.ok()) return text.status();

  if (mode == "--write") return WriteFile(path, *text);
  const absl::StatusOr<std::string> written = ReadFile(path);
  if (!written.ok()) return written.status();
  if (*written == *text) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is not what the protos say; write it with `reference_tool --write ", directory, "`"));
}

int Main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "--check" && mode != "--write") {
    std::fprintf(stderr, "usage: reference_tool --check|--write API_DIRECTORY\n");
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
