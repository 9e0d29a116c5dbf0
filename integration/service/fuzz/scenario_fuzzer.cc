// Loads fuzzed scenario files. A node that loads must have a dump that loads and dumps identically.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <cstdint>
#include <cstdlib>

#include "server/simulator/scenario.h"

namespace simulator = csi_proxy::machine::simulator;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = simulator::LoadScenario(text, "fuzz");
  if (!node.ok()) return 0;
  std::string dump;
  google::protobuf::TextFormat::PrintToString(simulator::StateToProto((*node)->Snapshot()), &dump);
  const auto again = simulator::LoadScenario(dump, "dump");
  if (!again.ok()) std::abort();
  std::string second;
  google::protobuf::TextFormat::PrintToString(simulator::StateToProto((*again)->Snapshot()),
                                              &second);
  if (dump != second) std::abort();
  return 0;
}
