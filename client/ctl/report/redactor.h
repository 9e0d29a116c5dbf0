// Masks what identifies a node and its users.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace csi_proxy::ctl::report {

// Gives the same mask to the same value, whatever its case in ASCII. Not thread-safe.
class Redactor {
 public:
  // Has the value masked as `<kind-N>` wherever it stands. A name (`host`, `user`) is masked where
  // it is a whole word; a short one that could be a word of English, only after `\` or `@`, before
  // `\`, or alone in a field. Values that identify nothing (`None`, zeros, Administrator) are
  // ignored.
  void Know(absl::string_view kind, absl::string_view value);

  // Masks known values, IQNs, SIDs of accounts, ids of volumes, and addresses of IP and Ethernet
  // but this machine's own (127.0.0.1).
  std::string Apply(absl::string_view text);

 private:
  struct Known {
    std::string form;
    std::string mask;
    bool is_word;
    bool is_ordinary;
  };

  const std::string& Mask(absl::string_view kind, absl::string_view value);
  // The length of the known value at `start`, whose mask goes to `mask`; 0 for none.
  size_t FindKnown(absl::string_view text, size_t start, std::string* mask) const;

  // By the value in lower case.
  std::map<std::string, std::string> masks_;
  std::map<std::string, int> counts_;
  // The longest first, because one value may be part of another.
  std::vector<Known> known_;
};

// The text without control characters but line feeds and tabs.
std::string WithoutControls(absl::string_view text);

}  // namespace csi_proxy::ctl::report
