// Masks the values that identify a node and its users.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace csi_proxy::ctl::report {

// Replaces each value by one mask wherever it occurs, in either case of ASCII. Not thread-safe.
class Redactor {
 public:
  // Masks the value as `<kind-N>` from now on. A name (`host`, `user`) is masked where it is a
  // whole word. A short name that could be an English word is masked only after `\` or `@`, before
  // `\`, or alone in a field. Ignores values that identify nothing (`None`, zeros, Administrator).
  void AddSecret(absl::string_view kind, absl::string_view value);

  // Masks known values, IQNs, account SIDs, volume ids, and IP and Ethernet addresses but
  // 127.0.0.1.
  std::string Apply(absl::string_view text);

 private:
  struct Known {
    std::string form;
    std::string mask;
    bool is_word;
    bool is_ordinary;
  };

  const std::string& Mask(absl::string_view kind, absl::string_view value);
  // Returns the length of the known value at `start` and sets `mask`, or returns 0.
  size_t FindKnown(absl::string_view text, size_t start, std::string* mask) const;

  // Keyed by the value in lower case.
  std::map<std::string, std::string> masks_;
  std::map<std::string, int> counts_;
  // Sorted by length, the longest first, because one value may be part of another.
  std::vector<Known> known_;
};

// Returns the text without control characters, except line feeds and tabs.
std::string WithoutControls(absl::string_view text);

}  // namespace csi_proxy::ctl::report
