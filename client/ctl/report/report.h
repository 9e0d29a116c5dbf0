// Makes the report of a node from what node-check.ps1 and csi-proxyctl have found there.
#pragma once

#include <cstdint>
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
  // Names of parts, and `selftest/STEP`.
  std::vector<std::string> shown_by;
};

std::vector<Doubt> ReadDoubts(absl::string_view markdown);

// Adds the doubts with what the parts, the selftest and the fallbacks of the diagnosis say of each,
// and the summary. Only a part that FAILED, or a fallback that the service took, settles a doubt as
// "otherwise than expected"; a part with an ERROR leaves it open.
void Judge(const std::vector<Doubt>& doubts, NodeReport* report);

// Removes the secrets, and masks them in all texts unless `redact` is false.
void Protect(bool redact, NodeReport* report);
// The same of a log, by the same secrets.
std::string ProtectText(bool redact, const NodeReport& report, absl::string_view text);

// The text of an issue: the tables of doubts and parts, in at most 60,000 bytes.
std::string ToMarkdown(const NodeReport& report);

}  // namespace csi_proxy::ctl::report

namespace csi_proxy::ctl {

// `report`: reads, writes, and prints where the report is.
int Report(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// The flags of `report`, as FieldFlags() has those of methods.
std::vector<std::string> ReportFlags();

}  // namespace csi_proxy::ctl
