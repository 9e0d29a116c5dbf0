// Checks a state by the rules for scenarios, before a node starts and after some changes of its
// administrator (Try() of machine.cc). Reports the first problem.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

// Keeps the first problem and ignores later ones, so that checks may continue after a problem.
class Problems {
 public:
  // Records a problem unless `holds`. Names the field by `at` and `field`, joined by a dot if
  // neither is empty.
  void Require(bool holds, absl::string_view at, absl::string_view field,
               absl::string_view reason) {
    if (holds || !status_.ok()) return;
    const absl::string_view dot = at.empty() || field.empty() ? "" : ".";
    status_ = absl::InvalidArgumentError(absl::StrCat(at, dot, field, ": ", reason));
  }
  void RequireOk(const absl::Status& status, absl::string_view at, absl::string_view field) {
    Require(status.ok(), at, field, status.message());
  }

  bool none() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// Returns `at.field[index]`, or `field[index]` if `at` is empty.
inline std::string Element(absl::string_view at, absl::string_view field, size_t index) {
  return absl::StrCat(at, at.empty() ? "" : ".", field, "[", index, "]");
}

// Returns true if the text has no ASCII control characters and at most 1024 bytes.
inline bool IsPlainText(absl::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return text.size() <= 1024;
}
inline constexpr char kNotPlainText[] = "has control characters or more than 1024 bytes";

// Returns INVALID_ARGUMENT for the first problem: the field, spelt as in a scenario
// (`disk[2].partition[0].size_bytes`), and the reason. Safe for any values.
absl::Status CheckState(NodeState& state);

// Checks one rule of the fault table; errors call the rule `field`.
absl::Status CheckFault(const FaultRule& rule, const std::string& field);

// Checks all disks and their content for CheckState(), including the disks of iSCSI targets.
void CheckDisks(NodeState& state, Problems* problems);

// Checks the entries of a share; `at` is the name of the share in errors.
void CheckShareTree(const Tree& tree, const std::string& at, Problems* problems);

}  // namespace csi_proxy::machine::simulator
