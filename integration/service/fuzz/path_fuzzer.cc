// Parses fuzzed paths, UNC paths and volume ids. An accepted value must be canonical: parsed again,
// it is the same.
#include <cstdint>
#include <cstdlib>

#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckPath(const csi_proxy::WindowsPath& path) {
  const auto again = csi_proxy::WindowsPath::Parse("path", path.ToString());
  Require(again.ok());
  Require(again->ToString() == path.ToString());
  Require(*again == path);
  Require(path.Contains(path));
  Require(path.Parent().Contains(path));
  for (const std::string& component : path.components()) {
    Require(!component.empty() && component != "." && component != "..");
    Require(component.find_first_of("\\/:*?\"<>|") == std::string::npos);
    Require(csi_proxy::EqualNames(component, csi_proxy::FoldName(component)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto path = csi_proxy::WindowsPath::Parse("path", text); path.ok()) CheckPath(*path);
  static const auto roots = *csi_proxy::PathRoots::Parse("roots", {"C:\\a", "D:\\"});
  if (const auto path = csi_proxy::ConfinedPath::Parse(
          roots, "path", text, csi_proxy::Place::kBelowRoots, csi_proxy::Spelling::kLenient);
      path.ok()) {
    CheckPath(path->path);
    Require(roots->Contains(path->path));
  }
  if (const auto path = csi_proxy::UncPath::Parse("path", text); path.ok()) {
    const auto again = csi_proxy::UncPath::Parse("path", path->ToString());
    Require(again.ok() && again->ToString() == path->ToString());
    Require(again->Share() == path->Share());
  }
  if (const auto id = csi_proxy::VolumeId::Parse(text); id.ok()) {
    const auto again = csi_proxy::VolumeId::Parse(id->ToString());
    Require(again.ok() && *again == *id);
  }
  return 0;
}
