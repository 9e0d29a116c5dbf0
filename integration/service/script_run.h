#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "integration/service/cases.h"
#include "integration/support/bindings.h"

namespace csi_proxy::integration {

// Returns the scripts for a version.
std::vector<const Script*> ScriptsOf(const Binding& binding);

// Returns the first volume id in a response, or an empty string.
std::string FirstVolumeId(const pb::Message& response);

// Removes the times of the steps from a response, and the failures that the service remembers from
// earlier scripts. Fails the test unless each step has a time.
void RemoveTimes(pb::Message* response);

// Builds the messages of one script for one version. Invalid textproto fails the test.
class ScriptRun {
 public:
  explicit ScriptRun(const Binding& binding) : binding_(binding) {}

  // Returns the case's name, e.g. `disk v1 Rescan()`.
  std::string Describe(const Case& c) const;
  const pb::MethodDescriptor* Method(const Case& c) const;
  std::unique_ptr<pb::Message> Request(const Case& c) const;
  // Returns the response of a successful case.
  std::unique_ptr<pb::Message> Expected(const Case& c) const;

  // Remembers the first volume id that any response contains.
  void Learn(const pb::Message& response);

 private:
  std::unique_ptr<pb::Message> Parse(const pb::Descriptor* type, const char* text) const;

  const Binding& binding_;
  std::string volume_;
};

}  // namespace csi_proxy::integration
