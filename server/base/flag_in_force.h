// A limit or switch of the command line, as the log, the metrics and csi-proxyctl show it.
#pragma once

#include <string>
#include <vector>

namespace csi_proxy {

struct FlagInForce {
  std::string name;
  // A number, a duration in seconds, or 0 or 1 for a switch.
  double value = 0;
  // The default as text: a number, a duration in seconds, or `false` or `true` for a switch.
  std::string by_default;

  // Returns true for a limit of at most a quarter of its default.
  bool IsFarBelowDefault() const;
};

// Returns one line that lists the flags whose value is not the default, or says that all have their
// defaults. Returns "" if `flags` is empty.
std::string ChangedFlagsText(const std::vector<FlagInForce>& flags);

}  // namespace csi_proxy
