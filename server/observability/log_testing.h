// The expression with which others read the log.
#pragma once

#include <regex>
#include <string>

namespace csi_proxy::service {

// The parser `glog` of the Fluent Bit that GCE's nodes run, `Parser_Firstline` of csi-proxy.log
// (cluster/gce/windows/k8s-node-setup.psm1 of Kubernetes). integration/support/check_log.py reads
// it from here.
inline constexpr char kGlogParser[] =
    R"(^(?<severity>\w)(?<time>\d{4} [^\s]*)\s+(?<pid>\d+)\s+(?<source_file>[^ \]]+)\:(?<source_line>\d+)\]\s(?<message>.*)$)";

// Returns true if the parser takes the whole of `line`.
inline bool GlogReads(const std::string& line) {
  // std::regex does not know names.
  static const std::regex parser(std::regex_replace(kGlogParser, std::regex(R"(\?<\w+>)"), ""));
  return std::regex_match(line, parser);
}

}  // namespace csi_proxy::service
