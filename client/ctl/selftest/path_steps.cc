// Steps on paths: directories, links, volumes found by mount path, and hostile paths.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/selftest/selftest.h"
#include "server/names/hostile_paths.h"

namespace csi_proxy::ctl::selftest {
namespace {

// A path that does not exist and is outside all working directories.
constexpr char kOutside[] = R"(C:\csi-proxy-selftest-outside)";

constexpr char kClosest[] = "GetClosestVolumeIDFromTargetPath";

using enum absl::StatusCode;

}  // namespace

void Attempt::Link(const std::string& source, const std::string& target) {
  Call("filesystem.CreateSymlink", {{"source-path", source}, {"target-path", target}});
}

void Attempt::ExpectVolume(const std::string& path, const char* method) {
  const std::string volume = VolumeAt(path, method);
  Expect(volume == state_.volume, method, " of ", path, " is ", volume);
}

std::string Attempt::MakeWorkDirectory() {
  const std::string& path = options_.work_dir();
  Expect(!Exists(path), path,
         " exists already. The selftest removes its directory at the end: remove the "
         "directory of an earlier run, or choose another with --work-dir");
  AddUndo(Removal(path));
  Twice("filesystem.Mkdir", {{"path", path}});
  Expect(Exists(path), "the new directory does not exist");
  return path;
}

std::string Attempt::FindVolumeOfPath() {
  const std::string path = Path("mount");
  std::vector<std::string> spellings = {
      path,
      absl::StrCat(path, "\\\\"),
      absl::StrCat(R"(\\?\)", path),
      absl::AsciiStrToUpper(path),
      absl::StrReplaceAll(path, {{"\\", "/"}}),
      absl::StrReplaceAll(path, {{"\\", "\\\\"}}),
  };
  if (absl::StartsWithIgnoreCase(path, "C:")) spellings.push_back(path.substr(2));
  for (const std::string& spelling : spellings) ExpectVolume(spelling);
  ExpectOwn(DiskOf(state_.volume), "the service reports the mounted volume on disk ");
  return absl::StrCat(spellings.size(), " spellings of one path");
}

std::string Attempt::FindClosestVolume() {
  const std::string inside = Path("mount\\inside");
  // This directory stays on the volume, because the content of the disk may be lost.
  Mkdir(inside);
  ExpectVolume(Path("mount"), kClosest);
  ExpectVolume(inside, kClosest);
  const std::string here = VolumeAt(options_.work_dir(), kClosest);
  Expect(here != state_.volume && absl::StartsWith(here, R"(\\?\Volume{)"),
         "the service reports the working directory on volume \"", here, "\"");
  return absl::StrCat("the working directory is on ", here);
}

std::string Attempt::MakeLinks() {
  const std::string mount = Path("mount"), link = Path("link");
  AddUndo(Removal(link));
  Link(mount, link);
  Expect(IsSymlink(link), "IsSymlink returns false for the link");
  ExpectVolume(link);
  Mkdir(absl::StrCat(link, "\\through"));
  Expect(Exists(absl::StrCat(mount, "\\through")),
         "a directory made through the link is not in the link's target");
  ExpectRefused(kAlreadyExists, "filesystem.CreateSymlink",
                {{"source-path", mount}, {"target-path", link}});
  Finish(link);
  Expect(Exists(absl::StrCat(mount, "\\through")), "removing the link removed its target");

  const std::string gone = Path("gone"), dangling = Path("dangling");
  AddUndo(Removal(gone));
  Mkdir(gone);
  Expect(!IsSymlink(gone), "IsSymlink returns true for a plain directory");
  AddUndo(Removal(dangling));
  Link(gone, dangling);
  Finish(gone);
  Expect(!IsSymlink(dangling), "IsSymlink returns true for a link without a target");
  Expect(Exists(dangling), "PathExists returns false for a link without a target");
  Finish(dangling);
  ExpectRefused(kNotFound, "filesystem.IsSymlink", {{"path", gone}});
  return "";
}

std::string Attempt::RemoveDirectories() {
  const std::string tree = Path("tree"), keep = Path("keep");
  const std::string deep = absl::StrCat(tree, "\\a\\b"), kept = absl::StrCat(keep, "\\kept");
  AddUndo(Removal(keep, true));
  AddUndo(Removal(tree, true));
  Mkdir(kept);
  // Removes the tree in both ways: only its contents, and the directory with them.
  for (const std::string method : {"RmdirContents", "Rmdir"}) {
    const bool contents_only = method == "RmdirContents";
    Mkdir(deep);
    Link(keep, absl::StrCat(tree, "\\link"));
    ExpectRefused(kFailedPrecondition, "filesystem.Rmdir", {{"path", tree}});
    Fields fields = {{"path", tree}};
    if (!contents_only) fields.push_back({"force", "true"});
    Call("filesystem." + method, fields);
    Expect(!Exists(deep), method, " left the content");
    Expect(Exists(kept), method, " followed a link");
    Expect(Exists(tree) == contents_only, method, " left the directory itself in the wrong state");
  }
  ExpectRefused(kNotFound, "filesystem.Rmdir", {{"path", tree}});
  Finish(tree);
  Finish(keep);
  return "";
}

std::string Attempt::SendHostilePaths() {
  int malformed = 0;
  for (const HostilePath& hostile : HostilePaths()) {
    if (hostile.code != kInvalidArgument || !hostile.is_utf8) continue;
    ExpectRefused(kInvalidArgument, "filesystem.PathExists", {{"path", hostile.text}},
                  hostile.rule);
    ++malformed;
  }
  const std::string inside = Path("hostile");
  const Fields user = {{"remote-path", R"(\\host.invalid\share)"}, {"username", "u"}};
  const std::pair iqn("iqn", "iqn.2026-01.invalid.host:x");
  struct Sent {
    const char* rpc;
    const char* path;  // The field that names the path.
    Fields fields = {};
  };
  std::vector<Sent> calls = {
      // Calls that only read come first: if one of them is not refused, no change is requested.
      {"filesystem.PathExists", "path"},
      {"filesystem.IsSymlink", "path"},
      {"volume.GetVolumeIDFromTargetPath", "target-path"},
      {"volume.GetClosestVolumeIDFromTargetPath", "target-path"},
      {"storage.GetPathStats", "path"},
      {"storage.ListMounts", "path"},
      {"filesystem.Mkdir", "path"},
      {"filesystem.Rmdir", "path"},
      {"storage.RemoveMount", "path", {{"target", inside}}},
      {"filesystem.RmdirContents", "path"},
      {"filesystem.CreateSymlink", "source-path", {{"target-path", inside}}},
      {"filesystem.CreateSymlink", "target-path", {{"source-path", options_.work_dir()}}},
      {"smb.NewSmbGlobalMapping", "local-path", user},
      {"storage.StageVolume", "target-path", {{"disk.number", disk()}}},
      {"storage.UnstageVolume", "target-path"},
      {"storage.StageShare", "target-path", user},
      {"storage.UnstageShare", "target-path"},
      {"storage.StageTarget", "target-path", {{"portals", "host.invalid"}, iqn, {"lun-id", "0"}}},
      {"storage.UnstageTarget", "target-path", {iqn}},
  };
  // The volume exists unless the disk could not be used.
  for (const char* rpc : {"volume.MountVolume", "volume.UnmountVolume"}) {
    if (!state_.volume.empty()) calls.push_back({rpc, "target-path", OfVolume()});
  }
  for (Sent& call : calls) {
    call.fields.emplace_back(call.path, absl::StrCat(kOutside, "\\x"));
    ExpectRefused(kPermissionDenied, call.rpc, call.fields);
  }
  return absl::StrCat(malformed, " malformed paths, ", calls.size(), " calls outside");
}

std::string Attempt::AskNotMounted() {
  // Drivers match these words.
  constexpr char kWords[] = "because it does not exist";
  for (const std::string& path : {options_.work_dir(), Path("absent")}) {
    ExpectRefused(kNotFound, "volume.GetVolumeIDFromTargetPath", {{"target-path", path}}, kWords);
  }
  return "";
}

}  // namespace csi_proxy::ctl::selftest
