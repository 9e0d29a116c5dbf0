// The regular expression with which GCE's nodes read the log.
#pragma once

#include <regex>
#include <string>

namespace csi_proxy::observability {

// The parser `glog` in the configuration of Fluent Bit on GCE's nodes, which is `Parser_Firstline`
// for csi-proxy.log (cluster/gce/windows/k8s-node-setup.psm1 of Kubernetes).
// integration/support/check_log.py reads it from here.
inline constexpr char kGlogParser[] =
    R"(^(?<severity>\w)(?<time>\d{4} [^\s]*)\s+(?<pid>\d+)\s+(?<source_file>[^ \]]+)\:(?<source_line>\d+)\]\s(?<message>.*)$)";

// Returns true if the parser matches the whole of `line`.
inline bool GlogReads(const std::string& line) {
  // std::regex does not support named groups.
  static const std::regex parser(std::regex_replace(kGlogParser, std::regex(R"(\?<\w+>)"), ""));
  return std::regex_match(line, parser);
}

}  // namespace csi_proxy::observability
