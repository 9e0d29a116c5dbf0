// Makes a few calls through the C interface on a fresh node, with fuzzed methods and requests.
// Every answer must be as csi_proxy.h promises.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/c/method_paths.h"
#include "csi_proxy/csi_proxy.h"
#include "integration/service/fuzz/c_abi_node.h"
#include "server/names/unicode.h"

namespace {

using csi_proxy::c::kMethodPaths;

constexpr int kMaxCalls = 64;
constexpr int64_t kTimeoutNs = 20'000'000;

void Require(bool holds) {
  if (!holds) std::abort();
}

bool IsUtf8(absl::string_view text) { return csi_proxy::Utf16Length(text) >= 0; }

absl::string_view ToText(const csi_proxy_bytes& bytes) {
  Require((bytes.data == nullptr) == (bytes.size == 0));
  return absl::string_view(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

void CheckLine(void*, int32_t severity, const char* line, size_t size) {
  const absl::string_view text(line, size);
  Require(severity >= 0 && severity <= 2);
  Require(IsUtf8(text) && text.find('\n') == absl::string_view::npos);
}

csi_proxy_node OpenNode() {
  google::protobuf::SetLogHandler(nullptr);
  const std::string options = absl::StrCat(R"({"node": "SIMULATED", "scenario": ")",
                                           absl::CEscape(csi_proxy::fuzz::kScenario), "\"}");
  csi_proxy_node node = 0;
  Require(csi_proxy_open(CSI_PROXY_ABI_VERSION, options.data(), options.size(), &CheckLine, nullptr,
                         &node, nullptr) == 0);
  return node;
}

void Call(csi_proxy_node node, const std::string& method, absl::string_view request) {
  // A copy of exact size, so that a sanitizer notices reads behind the request.
  const std::string copy(request);
  csi_proxy_bytes response = {}, message = {};
  const int32_t code =
      csi_proxy_invoke(node, 0, method.c_str(), reinterpret_cast<const uint8_t*>(copy.data()),
                       copy.size(), kTimeoutNs, &response, &message);
  Require(code >= 0 && code <= 16);
  Require((code == 0) == ToText(message).empty());
  Require(IsUtf8(ToText(message)));
  Require(code == 0 || ToText(response).empty());
  for (csi_proxy_bytes* const bytes : {&response, &message}) {
    csi_proxy_free(bytes);
    Require(bytes->data == nullptr && bytes->size == 0);
  }
}

// Takes a length and that many bytes from the front of `data`, or all that remain.
absl::string_view TakeBytes(absl::string_view* data) {
  if (data->empty()) return {};
  const size_t size = static_cast<uint8_t>(data->front());
  data->remove_prefix(1);
  const absl::string_view taken = data->substr(0, size);
  data->remove_prefix(taken.size());
  return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const csi_proxy_node node = OpenNode();
  Require(csi_proxy_invoke(node, 0, "/csi_proxy.simulated.Admin/Reset", nullptr, 0, -1, nullptr,
                           nullptr) == 0);
  absl::string_view input(reinterpret_cast<const char*>(data), size);
  for (int i = 0; i < kMaxCalls && !input.empty(); ++i) {
    // The first byte selects a method; a byte beyond the last method is followed by any name.
    const size_t place = static_cast<uint8_t>(input.front());
    input.remove_prefix(1);
    const std::string method = place < std::size(kMethodPaths) ? std::string(kMethodPaths[place])
                                                               : std::string(TakeBytes(&input));
    Call(node, method, TakeBytes(&input));
  }
  return 0;
}
