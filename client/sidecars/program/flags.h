// The flags of csi-node-sidecars: the flags of every release of node-driver-registrar and
// livenessprobe in one table, and the assignment of a command line's flags to the two components.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/base/go_flags.h"

namespace csi_proxy::sidecars {

enum class Component { kRegistrar, kLivenessProbe };

// The name of the program that contains both components.
inline constexpr absl::string_view kBothName = "csi-node-sidecars";

inline constexpr Component kComponents[] = {Component::kRegistrar, Component::kLivenessProbe};

// Returns `node-driver-registrar` or `livenessprobe`.
absl::string_view ComponentName(Component component);

// The process or the component that a flag configures.
enum class Owner {
  kProcess,  // One value for the process.
  kEach,     // Both components, with one meaning: one value for both, or one for each.
  // A flag of only this component. The other component may use the same name with another meaning.
  kRegistrarOnly,
  kProbeOnly,
  // A sidecar beside a driver's controller. Accepted without effect, unless the program's name
  // selects a component.
  kController,
};

struct FlagRow {
  absl::string_view name;
  Owner owner;
  GoFlagKind kind;
  absl::string_view default_value;
  // Empty if the flag is accepted and ignored.
  absl::string_view meaning;
};

absl::Span<const FlagRow> FlagTable();

// The flags of one command line.
class Flags {
 public:
  // Reads a command line. The program's name, --sidecars or --controllers select the components.
  // INVALID_ARGUMENT, or FAILED_PRECONDITION for a controller, naming the flag and the reason.
  static absl::StatusOr<Flags> Read(int argc, const char* const* argv);

  bool help() const { return line_.help; }
  // The arguments after the flags. Ignored, as in upstream's programs.
  const std::vector<std::string>& rest() const { return line_.rest; }
  bool Runs(Component component) const { return runs_[static_cast<size_t>(component)]; }
  bool RunBoth() const { return runs_[0] && runs_[1]; }
  // Returns false if the program's name selects one component. Then only its flags are accepted.
  bool AllInOne() const { return !named_.has_value(); }
  // The given flags of controllers. They have no effect on a node.
  const std::vector<std::string>& controllers_flags() const { return controllers_flags_; }

  // Return the value of a flag of the process or of the component: the given one, or the default.
  // REQUIRES: the table contains the flag, and the flag is of the function's kind.
  std::string Text(absl::string_view name, std::optional<Component> component = {}) const;
  bool IsGiven(absl::string_view name, Component component) const {
    return Find(name, component) != nullptr;
  }
  bool Bool(absl::string_view name, std::optional<Component> component = {}) const {
    return *ParseGoBool(Text(name, component));
  }
  absl::Duration Duration(absl::string_view name, Component component) const {
    return *ParseGoDuration(Text(name, component));
  }

  // Returns the flag in the spelling of this command line: `--livenessprobe-health-port`. For a
  // flag that was not given, returns the shortest unambiguous spelling.
  std::string Spelling(absl::string_view name, Component component) const;

 private:
  absl::Status Choose(absl::string_view program);
  absl::Status Take(const GoFlag& flag);
  const GoFlag* Find(absl::string_view name, std::optional<Component> component) const;

  GoCommandLine line_;
  std::vector<std::string> controllers_flags_;
  // The component that the program's name selects, if any.
  std::optional<Component> named_;
  std::array<bool, 2> runs_ = {};
  // The given values, by the flag's name in the table and the component. Without a component, the
  // value is for the process or for both.
  std::map<std::pair<std::string, std::optional<Component>>, GoFlag> values_;
};

// Returns the text that --help prints.
std::string FlagsHelp();

}  // namespace csi_proxy::sidecars
