// Makes the report of a node from the findings of node-check.ps1 and csi-proxyctl.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/ctl/commands.h"
#include "client/ctl/report/report.pb.h"

namespace csi_proxy::ctl::report {

// A claim about Windows that no node has shown yet: a row of server/host/doubts.md.
struct Doubt {
  uint32_t number = 0;
  std::string claim;
  // The parts that can show it, and steps of the selftest as `selftest/STEP`.
  std::vector<std::string> shown_by;
};

std::vector<Doubt> ReadDoubts(absl::string_view markdown);

// Adds the summary, and for each doubt the results of the parts, the selftest and the fallbacks.
// Only a part or step that FAILED, or a fallback that was taken, settles a doubt as "otherwise than
// expected"; a part with an ERROR leaves it open.
void Judge(const std::vector<Doubt>& doubts, NodeReport* report);

// Removes the list of secrets from the report and control characters from its texts. If `redact` is
// true, also masks the secrets, and whatever Redactor::Apply() masks by its form.
void Protect(bool redact, NodeReport* report);
// Returns a log, protected in the same way. REQUIRES: Protect() has not yet changed `report`.
std::string ProtectText(bool redact, const NodeReport& report, absl::string_view text);

// Returns the text for an issue: tables of doubts, parts and WMI classes, at most 60,000 bytes.
std::string ToMarkdown(const NodeReport& report);

// Replaces each value by one mask wherever it occurs, ignoring the case of ASCII letters. Not
// thread-safe.
class Redactor {
 public:
  // Masks the value as `<kind-N>` from now on. A name (`host`, `user`) or a short value is masked
  // where it is a whole word; a name of up to 8 letters only after `\` or `@`, before `\`, or alone
  // in a field. Ignores 1 or 2 bytes and what identifies nothing (`None`, zeros, Administrator).
  void AddSecret(absl::string_view kind, absl::string_view value);

  // Masks known values, iSCSI names, account SIDs, volume ids, Ethernet addresses with dashes, and
  // IP addresses except loopback and unspecified ones.
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

}  // namespace csi_proxy::ctl::report
