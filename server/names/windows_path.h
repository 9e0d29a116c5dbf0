// Windows paths from untrusted callers: parsed once, then compared by component, never by string
// prefix. The rules come from learn.microsoft.com/windows/win32/fileio/naming-a-file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// A drive-absolute path, `C:\a\b`, of ordinary names on NTFS.
class WindowsPath {
 public:
  // Parses the text that a caller sent for `field`. Accepts both separators; drops repeated and
  // trailing ones and `.` components. Returns INVALID_ARGUMENT, naming `field` and the rule, for:
  // an empty, relative or drive-relative path; UNC, device and `\\?\` forms; `..` as a component
  // (`a..b` is a name); `:` beyond the drive (alternate streams); `<>"|?*` and control characters;
  // reserved device names, with or without extension; a trailing dot or space in a component; text
  // that is not UTF-8; a component over 255 or a path over 32,767 UTF-16 units.
  static absl::StatusOr<WindowsPath> Parse(absl::string_view field, absl::string_view text);

  // Returns true if `text` is a component that Parse() would accept.
  static bool IsName(absl::string_view text);

  // Returns the drive letter in upper case.
  char drive() const { return drive_; }
  // Returns the components below the drive's root. The root itself has no components.
  const std::vector<std::string>& components() const { return components_; }

  // Returns `C:\a\b`, or `C:\` for a root, in the caller's case.
  std::string ToString() const;

  // Returns this path with one more component. REQUIRES: IsName(component).
  WindowsPath Child(absl::string_view component) const;
  // Adds one component. REQUIRES: IsName(component).
  void Append(absl::string_view component) { components_.emplace_back(component); }
  // Returns the path `relative` below this one. Returns INVALID_ARGUMENT, naming `field` and the
  // rule, if `relative` is empty, or Parse() would not accept a component or the whole.
  absl::StatusOr<WindowsPath> Join(absl::string_view field, absl::string_view relative) const;
  // Returns the root of the path's drive.
  WindowsPath Root() const;
  // Returns the parent directory; a root is its own parent.
  WindowsPath Parent() const;

  // Returns true if `other` is this path or lies below it. Compares components by EqualNames().
  bool Contains(const WindowsPath& other) const;

  // Compares by EqualNames(), so ignoring case.
  friend bool operator==(const WindowsPath& a, const WindowsPath& b);

 private:
  friend struct ConfinedPath;
  WindowsPath(char drive, std::vector<std::string> components)
      : drive_(drive), components_(std::move(components)) {}

  char drive_;
  std::vector<std::string> components_;
};

// Returns true if Windows takes two names for one: if they are equal after UpperCase().
bool EqualNames(absl::string_view a, absl::string_view b);

// Returns true for `plugins` and `pods`, where a kubelet keeps all volumes.
bool IsKubeletsFolder(absl::string_view name);

// Returns true if a pod may write to the directory whose path has the components `names`, relative
// to the kubelet's directory. A pod may write only below `pods`, and not in a `pods` below
// `plugins`. Only the kubelet and drivers may write in `pods\UID`, in `volumes` there, in
// `volumes\PLUGIN`, and in a volume's directory if PLUGIN is `kubernetes.io~csi`
// (github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/kubelet_getters.go).
bool IsPodsDirectory(const std::vector<std::string>& names);

// Returns a key for a name. Two keys are equal if and only if EqualNames() is true of the names.
// Paths, shares, hosts, users and services must be compared by EqualNames(), FoldName() or
// CanonicalUnc().
std::string FoldName(absl::string_view name);

// Returns a UNC path's canonical spelling, as answers show it: FoldName() with ASCII lower-cased.
std::string CanonicalUnc(absl::string_view path);

// Returns `a, b and 3 more` for a line of text: at most 4 paths, of at most 260 bytes each.
std::string PathsText(const std::vector<std::string>& paths);

// The directory trees that calls may touch.
class PathRoots {
 public:
  explicit PathRoots(std::vector<WindowsPath> roots) : roots_(std::move(roots)) {}
  // Returns INVALID_ARGUMENT, naming `field`, if a text is not a path or `texts` is empty.
  static absl::StatusOr<std::shared_ptr<const PathRoots>> Parse(
      absl::string_view field, const std::vector<std::string>& texts);
  const std::vector<WindowsPath>& roots() const { return roots_; }
  // Returns true if `path` is one of the roots or below one.
  bool Contains(const WindowsPath& path) const;
  // Returns PERMISSION_DENIED, naming `field`, the path and the roots, unless Contains(path).
  absl::Status Check(absl::string_view field, const WindowsPath& path) const;
  // Returns the part of an error's text that says that a path is outside the roots, and names them.
  std::string OutsideRule() const;

 private:
  std::vector<WindowsPath> roots_;
};

// Where a path must be: at or below a root, or only below one. Calls must not remove, replace or
// mount over a root.
enum class Place { kWithinRoots, kBelowRoots };

// The spellings of paths. kStrict accepts what WindowsPath::Parse() accepts. kLenient also accepts
// `\\?\C:\a`, and `\a` or `/a`. `\a` names no drive: it gets the drive of the root that contains
// it, or of the first root if no root contains it.
enum class Spelling { kStrict, kLenient };

// A checked path and the trees that it must not leave. The host follows the path's links. It
// returns PERMISSION_DENIED for a link below a root that leads out of `roots`, unless the last
// component leads to a server. If `roots` is null, a link may lead to any drive or server.
struct ConfinedPath {
  // Parses the text that a caller sent for `field`. Fails like WindowsPath::Parse(). Also returns
  // PERMISSION_DENIED, naming `field`, the path and the rule, for a path that is not at `place`.
  static absl::StatusOr<ConfinedPath> Parse(const std::shared_ptr<const PathRoots>& roots,
                                            absl::string_view field, absl::string_view text,
                                            Place place, Spelling spelling = Spelling::kStrict);

  WindowsPath path;
  std::shared_ptr<const PathRoots> roots;
};

// A share, `\\host\share`, or a directory in it.
class UncPath {
 public:
  // Accepts either separator. Returns INVALID_ARGUMENT, naming `field` and the rule, for device
  // forms, `..`, wildcards, and text that is not a host, a share and well-formed components.
  static absl::StatusOr<UncPath> Parse(absl::string_view field, absl::string_view text);

  const std::string& host() const { return host_; }
  const std::string& share() const { return share_; }
  const std::vector<std::string>& components() const { return components_; }

  // Adds one component. REQUIRES: WindowsPath::IsName(component).
  void Append(absl::string_view component) { components_.emplace_back(component); }

  // Returns CanonicalUnc() of `\\host\share`, which identifies the share.
  std::string Share() const;
  // Returns `\\host\share\a\b` in the caller's case.
  std::string ToString() const;

 private:
  UncPath() = default;
  std::string host_;
  std::string share_;
  std::vector<std::string> components_;
};

}  // namespace csi_proxy
