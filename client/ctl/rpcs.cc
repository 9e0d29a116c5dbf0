#include "client/ctl/rpcs.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
    const bool fits = absl::c_linear_search(kinds, f->cpp_type()) && f->is_repeated() == repeated;
    if (fits && Plain(f->name()) == Plain(field)) return f;
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
  uint64_t number = 0;
  return f == nullptr || absl::SimpleAtoi(ScalarText(*message_, f), &number) ? number : UINT64_MAX;
}

std::string Answer::Text(absl::string_view field) const {
  const Field* const f =
      Find(field, {Field::CPPTYPE_STRING, Field::CPPTYPE_ENUM, Field::CPPTYPE_UINT32}, false);
  return f == nullptr ? "" : ScalarText(*message_, f);
}

std::vector<std::string> Answer::Texts(absl::string_view field) const {
  std::vector<std::string> texts;
  const Field* const f = Find(field, {Field::CPPTYPE_STRING, Field::CPPTYPE_ENUM}, true);
  for (int i = 0; f != nullptr && i < CountValues(*message_, f); ++i) {
    texts.push_back(ScalarText(*message_, f, i));
  }
  return texts;
}

int Answer::Size(absl::string_view field) const {
  const Field* const f = Find(field, {Field::CPPTYPE_STRING, Field::CPPTYPE_MESSAGE}, true);
  return f == nullptr ? 0 : CountValues(*message_, f);
}

std::vector<Answer> Answer::Each(absl::string_view field) const {
  std::vector<Answer> answers;
  const Field* const f = Find(field, {Field::CPPTYPE_MESSAGE}, true);
  for (int i = 0; f != nullptr && i < CountValues(*message_, f); ++i) {
    answers.push_back(Within(InnerMessage(*message_, f, i)));
  }
  return answers;
}

std::optional<Answer> Answer::Entry(absl::string_view field, uint64_t key) const {
  for (const Answer& entry : Each(field)) {
    const pb::Message& pair = *entry.message_;
    if (entry.Number("key") != key) continue;
    return Within(InnerMessage(pair, pair.GetDescriptor()->map_value()));
  }
  return std::nullopt;
}

absl::StatusOr<Answer> Rpcs::Call(absl::string_view rpc, const Fields& fields) {
  const std::pair<std::string, std::string> name = absl::StrSplit(rpc, absl::MaxSplits('.', 1));
  const auto& [group, method] = name;
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
    ABSL_RETURN_IF_ERROR(catalog_.Find(group, method, "").status());
    return client::NotReached(absl::StrCat("there is no pipe that has ", rpc));
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
  ABSL_RETURN_IF_ERROR(status);
  return Answer(std::move(response), &missing_field_);
}

}  // namespace csi_proxy::ctl
