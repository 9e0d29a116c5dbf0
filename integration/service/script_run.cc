#include "integration/service/script_run.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace csi_proxy::integration {

std::vector<const Script*> ScriptsOf(const Binding& binding) {
  std::vector<const Script*> scripts;
  for (const Script& script : AllScripts()) {
    if (script.group == binding.group && std::find(script.versions.begin(), script.versions.end(),
                                                   binding.version) != script.versions.end()) {
      scripts.push_back(&script);
    }
  }
  return scripts;
}

std::string FirstVolumeId(const pb::Message& response) {
  const pb::Descriptor& type = *response.GetDescriptor();
  const pb::Reflection& reflection = *response.GetReflection();
  if (const auto* const one = type.FindFieldByName("volume_id"); one != nullptr) {
    return reflection.GetString(response, one);
  }
  const pb::FieldDescriptor* const field = type.FindFieldByName("volume_ids");
  if (field == nullptr || reflection.FieldSize(response, field) == 0) return "";
  return reflection.GetRepeatedString(response, field, 0);
}

void RemoveTimes(pb::Message* response) {
  const pb::Descriptor& type = *response->GetDescriptor();
  const pb::Reflection& reflection = *response->GetReflection();
  const pb::FieldDescriptor* const failures = type.FindFieldByName("failures");
  if (failures != nullptr) reflection.ClearField(response, failures);
  const pb::FieldDescriptor* const steps = type.FindFieldByName("steps");
  if (steps == nullptr) return;
  const pb::FieldDescriptor* const times = type.FindFieldByName("step_milliseconds");
  EXPECT_EQ(reflection.FieldSize(*response, times), reflection.FieldSize(*response, steps));
  reflection.ClearField(response, times);
}

std::string ScriptRun::Describe(const Case& c) const {
  return absl::StrCat(binding_.name(), " ", c.method, "(", c.request, ")");
}

const pb::MethodDescriptor* ScriptRun::Method(const Case& c) const {
  const pb::MethodDescriptor* const method = binding_.service->FindMethodByName(c.method);
  EXPECT_NE(method, nullptr);
  return method;
}

std::unique_ptr<pb::Message> ScriptRun::Request(const Case& c) const {
  return Parse(Method(c)->input_type(), c.request);
}

std::unique_ptr<pb::Message> ScriptRun::Expected(const Case& c) const {
  return Parse(Method(c)->output_type(), c.expected);
}

void ScriptRun::Learn(const pb::Message& response) {
  if (volume_.empty()) volume_ = FirstVolumeId(response);
}

std::unique_ptr<pb::Message> ScriptRun::Parse(const pb::Descriptor* type, const char* text) const {
  const absl::string_view bare = absl::StripSuffix(volume_, "\\");
  const std::string full = absl::StrReplaceAll(
      text, {{"$V", absl::CHexEscape(volume_)}, {"$W", absl::CHexEscape(bare)}});
  std::unique_ptr<pb::Message> message = NewMessage(type);
  EXPECT_TRUE(pb::TextFormat::ParseFromString(full, message.get()))
      << type->full_name() << ": " << full;
  return message;
}

}  // namespace csi_proxy::integration
