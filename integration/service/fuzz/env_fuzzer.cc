// Requests for environment variables from foreign bytes, through the sample driver's rpc: each
// leaves one line in the audit log, what is granted keeps the rules, and what is said is printable
// and has a limit.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "integration/drivers/sample/env_provider.h"
#include "integration/drivers/sample/env_rules.h"
#include "integration/drivers/sample/env_service.h"
#include "server/base/unicode.h"

namespace csi_proxy::sample_driver {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequirePrintable(absl::string_view text) {
  // 64 variables, a name and a key each, of 128 bytes that take four letters each when escaped.
  Require(text.size() < 72 * 1024);
  Require(absl::c_all_of(text, absl::ascii_isprint));
}

// Values of many lengths, so that some go beyond the limits: the key as often as it has bytes.
class KeysProvider final : public EnvProvider {
 public:
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request, const CallOptions&) override {
    std::vector<Secret> values;
    for (const EnvQuery& query : request.queries) {
      std::string value;
      for (size_t i = 0; i < query.key.size(); ++i) value += query.key;
      values.emplace_back(std::move(value));
    }
    return values;
  }
};

class CountedAudit final : public AuditLog {
 public:
  explicit CountedAudit(int* records) : records_(*records) {}
  void Record(const AuditRecord& record) override {
    ++records_;
    RequirePrintable(record.subject);
  }

 private:
  int& records_;
};

void CheckAnswer(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  Require(bytes.DumpToSingleSlice(&slice).ok());
  env::NodeGetEnvVarsResponse response;
  Require(response.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
  Require(response.results_size() > 0);
  std::set<std::string> names;
  size_t total = 0;
  for (const env::EnvVarResult& result : response.results()) {
    Require(CheckVariableName(result.name()).ok());
    Require(names.insert(absl::AsciiStrToLower(result.name())).second);
    Require(result.value().size() <= kMaxValueBytes);
    total += result.name().size() + result.value().size() + 2;
  }
  Require(names.size() <= kMaxVariables && total <= kMaxTotalBytes);
}

}  // namespace
}  // namespace csi_proxy::sample_driver

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace sample_driver = csi_proxy::sample_driver;
  // Protobuf writes a line for each string that is not UTF-8.
  static const auto* const quiet = new google::protobuf::LogSilencer;
  (void)quiet;
  static int records = 0;
  static auto* const service =
      new sample_driver::EnvService({.file = std::make_unique<sample_driver::KeysProvider>(),
                                     .node = std::make_unique<sample_driver::KeysProvider>(),
                                     .vault = std::make_unique<sample_driver::KeysProvider>()},
                                    std::make_unique<sample_driver::CountedAudit>(&records));
  const int before = records;
  const grpc::Slice slice(data, size);
  const auto answer = service->GetEnvVars(grpc::ByteBuffer(&slice, 1), {});
  sample_driver::Require(records == before + 1);
  if (answer.ok()) {
    sample_driver::CheckAnswer(*answer);
  } else {
    sample_driver::RequirePrintable(answer.status().message());
  }
  return 0;
}
