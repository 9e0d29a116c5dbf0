// Running the scripts of cases.h at a version.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "integration/service/cases.h"
#include "integration/support/bindings.h"

namespace csi_proxy::integration {

// The scripts for a version.
std::vector<const Script*> ScriptsOf(const Binding& binding);

// The first volume id in a response; empty when there is none.
std::string FirstVolumeId(const pb::Message& response);

// The messages of one script at one version. A text that is not a message of its type fails the
// test.
class ScriptRun {
 public:
  explicit ScriptRun(const Binding& binding) : binding_(binding) {}

  // `disk v1 Rescan()`
  std::string Describe(const Case& c) const;
  const pb::MethodDescriptor* Method(const Case& c) const;
  std::unique_ptr<pb::Message> Request(const Case& c) const;
  // The answer that a case must give when it succeeds.
  std::unique_ptr<pb::Message> Expected(const Case& c) const;

  // Remembers the volume a response tells of, unless there has been one before.
  void Learn(const pb::Message& response);

 private:
  std::unique_ptr<pb::Message> Parse(const pb::Descriptor* type, const char* text) const;

  const Binding& binding_;
  std::string volume_;
};

}  // namespace csi_proxy::integration
