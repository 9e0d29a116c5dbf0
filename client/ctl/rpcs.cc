#include "client/ctl/rpcs.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/remote_channel.h"
#include "client/ctl/request.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {

using Field = pb::FieldDescriptor;

const Field* Answer::Find(absl::string_view field, Kinds kinds, bool repeated) const {
  if (message_ == nullptr) return nullptr;
  const pb::Descriptor& type = *message_->GetDescriptor();
  for (const Field* const f : FieldsOf(type)) {
    const bool fits = std::find(kinds.begin(), kinds.end(), f->cpp_type()) != kinds.end();
    if (fits && f->is_repeated() == repeated && Plain(f->name()) == Plain(field)) return f;
  }
  if (missing_->empty()) *missing_ = absl::StrCat(type.name(), ".", field);
  return nullptr;
}

bool Answer::Flag(absl::string_view field) const {
  const Field* const f = Find(field, {Field::CPPTYPE_BOOL}, false);
  return f != nullptr && message_->GetReflection()->GetBool(*message_, f);
}

uint64_t Answer::Number(absl::string_view field) const {
  const Field* const f =
      Find(field, {Field::CPPTYPE_UINT32, Field::CPPTYPE_INT64, Field::CPPTYPE_STRING}, false);
  if (f == nullptr) return 0;
  const pb::Reflection& r = *message_->GetReflection();
  if (f->cpp_type() == Field::CPPTYPE_UINT32) return r.GetUInt32(*message_, f);
  if (f->cpp_type() == Field::CPPTYPE_INT64) return static_cast<uint64_t>(r.GetInt64(*message_, f));
  uint64_t number;
  if (!absl::SimpleAtoi(r.GetString(*message_, f), &number)) return UINT64_MAX;
  return number;
}

std::string Answer::Text(absl::string_view field) const {
  const Field* const f = Find(field, {Field::CPPTYPE_STRING, Field::CPPTYPE_ENUM}, false);
  if (f == nullptr) return "";
  const pb::Reflection& r = *message_->GetReflection();
  return f->enum_type() != nullptr ? r.GetEnum(*message_, f)->name() : r.GetString(*message_, f);
}

std::vector<std::string> Answer::Texts(absl::string_view field) const {
  std::vector<std::string> texts;
  const Field* const f = Find(field, {Field::CPPTYPE_STRING, Field::CPPTYPE_ENUM}, true);
  if (f == nullptr) return texts;
  const pb::Reflection& r = *message_->GetReflection();
  for (int i = 0; i < r.FieldSize(*message_, f); ++i) {
    texts.push_back(f->enum_type() != nullptr ? r.GetRepeatedEnum(*message_, f, i)->name()
                                              : r.GetRepeatedString(*message_, f, i));
  }
  return texts;
}

int Answer::Size(absl::string_view field) const {
  const Field* const f = Find(field, {Field::CPPTYPE_STRING, Field::CPPTYPE_MESSAGE}, true);
  return f == nullptr ? 0 : message_->GetReflection()->FieldSize(*message_, f);
}

std::vector<Answer> Answer::Each(absl::string_view field) const {
  std::vector<Answer> answers;
  const Field* const f = Find(field, {Field::CPPTYPE_MESSAGE}, true);
  if (f == nullptr) return answers;
  for (int i = 0; i < Size(field); ++i) {
    answers.push_back(Within(message_->GetReflection()->GetRepeatedMessage(*message_, f, i)));
  }
  return answers;
}

std::optional<Answer> Answer::Entry(absl::string_view field, uint64_t key) const {
  for (const Answer& entry : Each(field)) {
    if (entry.Number("key") != key) continue;
    const pb::Message& pair = *entry.message_;
    return Within(
        pair.GetReflection()->GetMessage(pair, pair.GetDescriptor()->FindFieldByName("value")));
  }
  return std::nullopt;
}

absl::StatusOr<Answer> Rpcs::Call(const std::string& group, const std::string& method,
                                  const Fields& fields) {
  std::optional<Method> found;
  ABSL_ASSIGN_OR_RETURN(const auto versions, catalog_.VersionsFor(group, ""));
  for (const std::string& version : versions) {
    const absl::StatusOr<Method> candidate = catalog_.Find(group, method, version);
    if (!candidate.ok() || !pipes_.Exists(group, version)) continue;
    found = *candidate;
    break;
  }
  if (!found.has_value()) {
    // If no version has the method, the error names the nearest one.
    if (const auto any = catalog_.Find(group, method, ""); !any.ok()) return any.status();
    return client::NotReached(absl::StrCat("there is no pipe that has ", group, ".", method));
  }
  std::vector<FieldArgument> arguments;
  for (const auto& [name, value] : fields) arguments.push_back({name, value, true});
  const std::unique_ptr<pb::Message> request = catalog_.New(found->descriptor->input_type());
  // A secret of `-` is sent as it is, not read from standard input.
  const auto itself = [](const std::string& secret) { return secret; };
  ABSL_RETURN_IF_ERROR(SetFields(catalog_, group, arguments, itself, request.get()));
  std::shared_ptr<pb::Message> response = catalog_.New(found->descriptor->output_type());
  const SteadyTime start = SteadyTime::Now();
  const absl::Status status = pipes_.Send(*found, *request, response.get());
  times_[{absl::StrCat(group, ".", found->descriptor->name()), found->version}].push_back(
      SteadyTime::Now() - start);
  if (!status.ok()) return status;
  return Answer(std::move(response), &missing_field_);
}

}  // namespace csi_proxy::ctl
