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

void Link(Attempt& attempt, const std::string& source, const std::string& target) {
  attempt.Call("filesystem", "CreateSymlink", {{"source-path", source}, {"target-path", target}});
}

Undo Removal(const std::string& path, bool force = false) {
  return {path, "filesystem", "Rmdir", {{"path", path}, {"force", force ? "true" : "false"}}};
}

void ExpectVolume(Attempt& attempt, const char* method, const std::string& path) {
  const std::string volume =
      attempt.Call("volume", method, {{"target-path", path}}).Text("volume_id");
  attempt.Expect(volume == attempt.state().volume, method, " of ", path, " is ", volume);
}

}  // namespace

std::string MakeWorkDirectory(Attempt& attempt) {
  const std::string& path = attempt.options().work_dir();
  attempt.Expect(!attempt.Exists(path), path,
                 " exists already. The selftest removes its directory at the end: remove the "
                 "directory of an earlier run, or choose another with --work-dir");
  attempt.AddUndo(Removal(path));
  attempt.Twice("filesystem", "Mkdir", {{"path", path}});
  attempt.Expect(attempt.Exists(path), "the new directory does not exist");
  return path;
}

std::string FindVolumeOfPath(Attempt& attempt) {
  const std::string path = attempt.Path("mount");
  std::vector<std::string> spellings = {
      path,
      absl::StrCat(path, "\\\\"),
      absl::StrCat(R"(\\?\)", path),
      absl::AsciiStrToUpper(path),
      absl::StrReplaceAll(path, {{"\\", "/"}}),
      absl::StrReplaceAll(path, {{"\\", "\\\\"}}),
  };
  if (absl::StartsWithIgnoreCase(path, "C:")) spellings.push_back(path.substr(2));
  for (const std::string& spelling : spellings) {
    ExpectVolume(attempt, "GetVolumeIDFromTargetPath", spelling);
  }
  const uint64_t number = attempt.DiskOf(attempt.state().volume);
  attempt.Expect(number == attempt.options().disk(),
                 "the service reports the mounted volume on disk ", number);
  return absl::StrCat(spellings.size(), " spellings of one path");
}

std::string FindClosestVolume(Attempt& attempt) {
  const std::string inside = attempt.Path("mount\\inside");
  // No step removes this directory, because no later step uses the volume.
  attempt.Mkdir(inside);
  ExpectVolume(attempt, "GetClosestVolumeIDFromTargetPath", attempt.Path("mount"));
  ExpectVolume(attempt, "GetClosestVolumeIDFromTargetPath", inside);
  const std::string here = attempt.ClosestVolume(attempt.options().work_dir());
  attempt.Expect(here != attempt.state().volume && absl::StartsWith(here, R"(\\?\Volume{)"),
                 "the service reports the working directory on volume \"", here, "\"");
  return absl::StrCat("the working directory is on ", here);
}

std::string MakeLinks(Attempt& attempt) {
  const std::string mount = attempt.Path("mount"), link = attempt.Path("link");
  attempt.AddUndo(Removal(link));
  Link(attempt, mount, link);
  attempt.Expect(attempt.IsSymlink(link), "IsSymlink returns false for the link");
  ExpectVolume(attempt, "GetVolumeIDFromTargetPath", link);
  attempt.Mkdir(absl::StrCat(link, "\\through"));
  attempt.Expect(attempt.Exists(absl::StrCat(mount, "\\through")),
                 "a directory made through the link is not in the link's target");
  attempt.ExpectRefused(absl::StatusCode::kAlreadyExists, "filesystem", "CreateSymlink",
                        {{"source-path", mount}, {"target-path", link}});
  attempt.Finish(link);
  attempt.Expect(attempt.Exists(absl::StrCat(mount, "\\through")),
                 "removing the link removed its target");

  const std::string gone = attempt.Path("gone"), dangling = attempt.Path("dangling");
  attempt.AddUndo(Removal(gone));
  attempt.Mkdir(gone);
  attempt.Expect(!attempt.IsSymlink(gone), "IsSymlink returns true for a plain directory");
  attempt.AddUndo(Removal(dangling));
  Link(attempt, gone, dangling);
  attempt.Finish(gone);
  attempt.Expect(!attempt.IsSymlink(dangling),
                 "IsSymlink returns true for a link without a target");
  attempt.Expect(attempt.Exists(dangling), "PathExists returns false for a link without a target");
  attempt.Finish(dangling);
  attempt.ExpectRefused(absl::StatusCode::kNotFound, "filesystem", "IsSymlink", {{"path", gone}});
  return "";
}

std::string RemoveDirectories(Attempt& attempt) {
  constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
  const std::string tree = attempt.Path("tree"), keep = attempt.Path("keep");
  const std::string deep = absl::StrCat(tree, "\\a\\b"), kept = absl::StrCat(keep, "\\kept");
  attempt.AddUndo(Removal(keep, true));
  attempt.AddUndo(Removal(tree, true));
  attempt.Mkdir(kept);
  // Removes the tree in both ways: only its contents, and the directory with them.
  for (const char* method : {"RmdirContents", "Rmdir"}) {
    attempt.Mkdir(deep);
    Link(attempt, keep, absl::StrCat(tree, "\\link"));
    attempt.ExpectRefused(kFailedPrecondition, "filesystem", "Rmdir", {{"path", tree}});
    Fields fields = {{"path", tree}};
    if (absl::string_view(method) == "Rmdir") fields.push_back({"force", "true"});
    attempt.Call("filesystem", method, fields);
    attempt.Expect(!attempt.Exists(deep), method, " left the content");
    attempt.Expect(attempt.Exists(kept), method, " followed a link");
    attempt.Expect(attempt.Exists(tree) == (absl::string_view(method) == "RmdirContents"), method,
                   " left the directory itself in the wrong state");
  }
  attempt.ExpectRefused(absl::StatusCode::kNotFound, "filesystem", "Rmdir", {{"path", tree}});
  attempt.Finish(tree);
  attempt.Finish(keep);
  return "";
}

std::string SendHostilePaths(Attempt& attempt) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
  int malformed = 0;
  for (const HostilePath& hostile : HostilePaths()) {
    if (hostile.code != kInvalid || !hostile.is_utf8) continue;
    attempt.ExpectRefused(kInvalid, "filesystem", "PathExists", {{"path", hostile.text}},
                          hostile.rule);
    ++malformed;
  }
  const std::string inside = attempt.Path("hostile"), volume = attempt.state().volume;
  const std::string outside = absl::StrCat(kOutside, "\\x");
  const Fields user = {{"remote-path", R"(\\host.invalid\share)"}, {"username", "u"}};
  const std::pair iqn("iqn", "iqn.2026-01.invalid.host:x");
  struct Call {
    const char* group;
    const char* method;
    const char* path;  // The field that names the path.
    Fields fields = {};
  };
  std::vector<Call> calls = {
      // Calls that only read come first: if one of them is not refused, no change is requested.
      {"filesystem", "PathExists", "path"},
      {"filesystem", "IsSymlink", "path"},
      {"volume", "GetVolumeIDFromTargetPath", "target-path"},
      {"volume", "GetClosestVolumeIDFromTargetPath", "target-path"},
      {"storage", "GetPathStats", "path"},
      {"storage", "ListMounts", "path"},
      {"filesystem", "Mkdir", "path"},
      {"filesystem", "Rmdir", "path"},
      {"storage", "RemoveMount", "path", {{"target", inside}}},
      {"filesystem", "RmdirContents", "path"},
      {"filesystem", "CreateSymlink", "source-path", {{"target-path", inside}}},
      {"filesystem",
       "CreateSymlink",
       "target-path",
       {{"source-path", attempt.options().work_dir()}}},
      {"smb", "NewSmbGlobalMapping", "local-path", user},
      {"storage", "StageVolume", "target-path", {{"disk.number", attempt.disk()}}},
      {"storage", "UnstageVolume", "target-path"},
      {"storage", "StageShare", "target-path", user},
      {"storage", "UnstageShare", "target-path"},
      {"storage",
       "StageTarget",
       "target-path",
       {{"portals", "host.invalid"}, iqn, {"lun-id", "0"}}},
      {"storage", "UnstageTarget", "target-path", {iqn}},
  };
  // The volume exists unless the disk could not be used.
  for (const char* method : {"MountVolume", "UnmountVolume"}) {
    if (!volume.empty()) calls.push_back({"volume", method, "target-path", attempt.OfVolume()});
  }
  for (Call& call : calls) {
    call.fields.emplace_back(call.path, outside);
    attempt.ExpectRefused(kDenied, call.group, call.method, call.fields);
  }
  return absl::StrCat(malformed, " malformed paths, ", calls.size(), " calls outside");
}

std::string AskNotMounted(Attempt& attempt) {
  // Drivers match these words.
  constexpr char kWords[] = "because it does not exist";
  for (const std::string& path : {attempt.options().work_dir(), attempt.Path("absent")}) {
    attempt.ExpectRefused(absl::StatusCode::kNotFound, "volume", "GetVolumeIDFromTargetPath",
                          {{"target-path", path}}, kWords);
  }
  return "";
}

}  // namespace csi_proxy::ctl::selftest
