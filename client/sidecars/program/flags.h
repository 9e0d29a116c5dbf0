// The flags of csi-node-sidecars: those of every release of node-driver-registrar and livenessprobe
// in one table, and which of them a command line gives to which of the two.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/sidecars/program/go_flags.h"

namespace csi_proxy::sidecars {

enum class Component { kRegistrar, kLivenessProbe };

// The program that has both.
inline constexpr absl::string_view kBothName = "csi-node-sidecars";

inline constexpr Component kComponents[] = {Component::kRegistrar, Component::kLivenessProbe};

// `node-driver-registrar`, `livenessprobe`
absl::string_view ComponentName(Component component);

// The owner of a flag.
enum class Owner {
  kProcess,  // One value, whoever runs.
  kEach,     // Both components have it with one meaning: one value for both, or one for each.
  // The component's own. A name that both have stands for two different things.
  kRegistrar,
  kLivenessProbe,
  // The sidecars' beside a driver's controller: a program that runs both takes it, without effect.
  kController,
};

struct FlagRow {
  absl::string_view name;
  Owner owner;
  GoFlagKind kind;
  absl::string_view default_value;
  // Empty of a flag that is accepted and ignored.
  absl::string_view meaning;
};

absl::Span<const FlagRow> FlagTable();

// The values of one command line.
class Flags {
 public:
  // Tells by the program's name, --sidecars or --controllers which components run, and with which
  // flags. INVALID_ARGUMENT names the flag and the reason.
  static absl::StatusOr<Flags> Read(int argc, const char* const* argv);

  bool help() const { return help_; }
  // The arguments that nobody reads, as Go's programs do not.
  const std::vector<std::string>& rest() const { return rest_; }
  bool Runs(Component component) const;
  bool RunBoth() const;
  // False if the program's name is one of the two, which then has its flags alone.
  bool AllInOne() const { return !named_.has_value(); }
  // Flags that are of no use on a node, as given.
  const std::vector<std::string>& controllers_flags() const { return controllers_flags_; }

  // The process's flag of the name, or the component's: as given, or its default. The table has
  // such a flag.
  absl::string_view Text(absl::string_view name) const;
  absl::string_view Text(absl::string_view name, Component component) const;
  bool Given(absl::string_view name, Component component) const {
    return FindFor(name, component) != nullptr;
  }
  bool Bool(absl::string_view name) const { return *ParseGoBool(Text(name)); }
  int64_t Int(absl::string_view name) const { return *ParseGoInt(Text(name)); }
  absl::Duration Duration(absl::string_view name, Component component) const {
    return *ParseGoDuration(Text(name, component));
  }

  // The flag as this command line gives it, or would: `--livenessprobe-health-port`.
  std::string Spelling(absl::string_view name, Component component) const;

 private:
  absl::Status Choose(absl::string_view program, const GoCommandLine& line);
  absl::Status Take(const GoFlag& flag);
  const GoFlag* Find(absl::string_view name, std::optional<Component> component) const;
  const GoFlag* FindFor(absl::string_view name, Component component) const;

  bool help_ = false;
  std::vector<std::string> rest_, controllers_flags_;
  // The component that the program's name says.
  std::optional<Component> named_;
  std::array<bool, 2> runs_ = {true, true};
  // As given, by the flag's name in the table, for one component or for whoever has it.
  std::map<std::pair<std::string, std::optional<Component>>, GoFlag> values_;
};

// The text that --help prints.
std::string FlagsHelp();

}  // namespace csi_proxy::sidecars
