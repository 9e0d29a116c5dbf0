// Windows paths from untrusted callers: parsed once, compared by component, never by string prefix.
// Rules: learn.microsoft.com/windows/win32/fileio/naming-a-file
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// A drive-absolute path, `C:\a\b`: a drive letter and components that are ordinary names on NTFS.
// Immutable.
class WindowsPath {
 public:
  // Parses the text that a caller sent for `field`. Both separators are taken, repeated and
  // trailing ones dropped, `.` components too. Refused with INVALID_ARGUMENT, naming `field` and
  // the rule: empty, relative or drive-relative, UNC, device and `\\?\` forms, `..` as a component
  // (`a..b` is a name), `:` beyond the drive (alternate streams), `<>"|?*` and control characters,
  // reserved device names with or without extension, a trailing dot or space in a component, text
  // that is not UTF-8, a component over 255 or a path over 32,767 UTF-16 units.
  static absl::StatusOr<WindowsPath> Parse(absl::string_view field, absl::string_view text);

  // As Parse, but lenient where drivers need it: a `\\?\C:\` prefix is dropped and a rooted path
  // without a drive (`\var\lib`, `/var/lib`) is taken to lie on `default_drive`.
  static absl::StatusOr<WindowsPath> ParseLenient(absl::string_view field, absl::string_view text,
                                                  char default_drive = 'C');

  // The drive letter, upper case.
  char drive() const { return drive_; }
  // From below the drive's root; empty for the root itself.
  const std::vector<std::string>& components() const { return components_; }

  // `C:\a\b`, or `C:\` for a root. The case is the caller's.
  std::string ToString() const;

  // Returns this path with one more component, which must be valid (see Parse).
  WindowsPath Child(absl::string_view component) const;
  // The path above, or itself for a root.
  WindowsPath Parent() const;

  // Tells whether `other` is this path or lies below it: component by component, without case.
  bool Contains(const WindowsPath& other) const;

  // Without case, as NTFS compares.
  friend bool operator==(const WindowsPath& a, const WindowsPath& b);

 private:
  WindowsPath(char drive, std::vector<std::string> components)
      : drive_(drive), components_(std::move(components)) {}

  char drive_;
  std::vector<std::string> components_;
};

// Returns true if two names are one to Windows: equal after UpperCase().
bool EqualNames(absl::string_view a, absl::string_view b);

// Returns the key of a name: equal for exactly those names that EqualNames() considers equal. Every
// map, lock and comparison of paths, shares, hosts, users and services goes by one of these three.
std::string FoldName(absl::string_view name);

// Returns the one spelling of a UNC path: FoldName() with ASCII in lower case, which answers show.
std::string CanonicalUnc(absl::string_view path);

// Returns `a, b and 3 more`: a few paths, none of them long, for a line of text.
std::string PathsText(const std::vector<std::string>& paths);

// A directory tree, or several, that calls may touch.
class PathRoots {
 public:
  explicit PathRoots(std::vector<WindowsPath> roots) : roots_(std::move(roots)) {}
  // INVALID_ARGUMENT, naming `field`, when one of the texts is not a path, or there are none.
  static absl::StatusOr<std::shared_ptr<const PathRoots>> Parse(
      absl::string_view field, const std::vector<std::string>& texts);
  const std::vector<WindowsPath>& roots() const { return roots_; }
  // Tells whether `path` is one of the roots or below one.
  bool Contains(const WindowsPath& path) const;
  // PERMISSION_DENIED, naming `field`, the path and the roots, unless Contains(path).
  absl::Status Check(absl::string_view field, const WindowsPath& path) const;

 private:
  std::vector<WindowsPath> roots_;
};

// A path together with the tree it must not leave. Its maker has checked the text of the path; the
// host follows the links on the way and refuses, with PERMISSION_DENIED, one that leads out of
// `roots`. Null roots: anywhere on the node's drives.
struct ConfinedPath {
  WindowsPath path;
  std::shared_ptr<const PathRoots> roots;
};

// A path on a server: `\\host\share` or a directory below.
class UncPath {
 public:
  // Takes both separators. INVALID_ARGUMENT, naming `field` and the rule, for anything that is not
  // a host, a share and well-formed components; device and `\\?\` forms, `..`, and wildcards too.
  static absl::StatusOr<UncPath> Parse(absl::string_view field, absl::string_view text);

  const std::string& host() const { return host_; }
  const std::string& share() const { return share_; }
  const std::vector<std::string>& components() const { return components_; }

  // Returns CanonicalUnc() of `\\host\share`: the identity of the share.
  std::string Share() const;
  // `\\host\share\a\b` in the caller's case.
  std::string ToString() const;

 private:
  UncPath(std::string host, std::string share, std::vector<std::string> components)
      : host_(std::move(host)), share_(std::move(share)), components_(std::move(components)) {}
  std::string host_;
  std::string share_;
  std::vector<std::string> components_;
};

}  // namespace csi_proxy
