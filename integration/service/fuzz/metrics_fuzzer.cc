// Fuzzes the text that csi-proxyctl reads from a service's metrics address, where any process may
// answer.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/top/numbers.h"

using csi_proxy::ctl::top::Numbers;
using csi_proxy::ctl::top::Sample;

// Aborts unless the samples survive being written and parsed again.
static void CheckRoundTrip(const std::vector<Sample>& samples) {
  std::string text;
  for (const Sample& sample : samples) {
    absl::StrAppend(&text, sample.name, "{");
    for (const auto& [name, value] : sample.labels) {
      absl::StrAppend(&text, name, "=\"",
                      absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
                      "\",");
    }
    absl::StrAppendFormat(&text, "} %.17g\n", sample.value);
  }
  size_t at = 0;
  const absl::Status status = csi_proxy::ctl::top::ReadExposition(text, [&](const Sample& sample) {
    const Sample& before = samples[at++];
    const bool same_value =
        sample.value == before.value || (std::isnan(sample.value) && std::isnan(before.value));
    if (sample.name != before.name || sample.labels != before.labels || !same_value) {
      __builtin_trap();
    }
  });
  if (!status.ok() || at != samples.size()) __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<Sample> samples;
  const absl::Status status = csi_proxy::ctl::top::ReadExposition(
      text, [&](const Sample& sample) { samples.push_back(sample); });
  CheckRoundTrip(samples);
  const auto numbers = csi_proxy::ctl::top::ReadNumbers(text);
  if (numbers.ok() && !status.ok()) __builtin_trap();
  if (!numbers.ok()) return 0;
  const Numbers grown = csi_proxy::ctl::top::Since(Numbers(*numbers), *numbers);
  for (const auto& [name, rpc] : numbers->rpcs) {
    for (const double part : {0.5, 0.99}) {
      const double seconds = csi_proxy::ctl::top::Quantile(rpc.within, part);
      if (!(seconds >= 0 && seconds <= std::numeric_limits<double>::max())) __builtin_trap();
    }
    if (grown.rpcs.at(name).finished != 0) __builtin_trap();
  }
  return 0;
}
