#include "client/ctl/catalog.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "annotations.pb.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {

// The descriptors of the API files, with their comments. Defined in a generated file.
extern const unsigned char kApiDescriptors[];
extern const size_t kApiDescriptorsSize;

namespace {

constexpr char kAdminFile[] = "server/simulator/admin.proto";

// Returns a key that sorts v1 first, then v2alpha1, betas, alphas; newer before older.
std::tuple<int, int, int> Preference(const std::string& version) {
  enum Stage { kStable, kNext, kBeta, kAlpha };
  int major = 0, minor = 0, stage = kStable;
  absl::string_view rest = absl::StripPrefix(version, "v");
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (!absl::SimpleAtoi(rest.substr(0, digits), &major)) major = 0;
  rest.remove_prefix(digits);
  if (absl::ConsumePrefix(&rest, "beta")) stage = kBeta;
  if (absl::ConsumePrefix(&rest, "alpha")) stage = kAlpha;
  if (!absl::SimpleAtoi(rest, &minor)) minor = 0;
  // v2alpha1 precedes v1beta1, because generation 2 has the successors of generation 1's betas.
  if (major >= 2 && stage != kStable) stage = kNext;
  return {stage, -major, -minor};
}

// Returns the number of single-character edits between two words (the Levenshtein distance).
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Returns INVALID_ARGUMENT. The error lists `candidates` and suggests the nearest of `suggested`.
absl::Status NoSuch(absl::string_view what, absl::string_view name,
                    const std::vector<std::string>& candidates,
                    const std::vector<std::string>& suggested) {
  return Invalid("there is no ", what, " \"", name, "\"", DidYouMean(name, suggested),
                 "\nThere are: ", absl::StrJoin(candidates, ", "));
}

// Returns true for the name of a call that a person expects to change nothing.
bool SoundsLikeReading(absl::string_view name) {
  const std::string plain = Plain(name);
  const auto begins = [&](const char* verb) { return absl::StartsWith(plain, verb); };
  return begins("list") || begins("get") || begins("is") || begins("show");
}

}  // namespace

std::string Plain(absl::string_view name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"-", ""}, {"_", ""}}));
}

std::string KebabCase(absl::string_view name) {
  const auto upper = [&](size_t i) { return i < name.size() && absl::ascii_isupper(name[i]); };
  const auto lower = [&](size_t i) { return i < name.size() && absl::ascii_islower(name[i]); };
  std::string kebab;
  for (size_t i = 0; i < name.size(); ++i) {
    // A capital begins a word after a lower-case letter, and between a capital and a lower-case
    // letter (the `P` of `IDPath`). The plural of an abbreviation is one word: `IDs`.
    const bool plural = i + 1 < name.size() && name[i + 1] == 's' && !lower(i + 2);
    const bool begins =
        upper(i) && i > 0 && (lower(i - 1) || (upper(i - 1) && lower(i + 1) && !plural));
    if (begins) kebab.push_back('-');
    kebab.push_back(name[i] == '_' ? '-' : absl::ascii_tolower(name[i]));
  }
  return kebab;
}

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(name.size() / 2, 2);
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(Plain(name), Plain(candidate));
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best.empty() ? "" : absl::StrCat("; did you mean ", best, "?");
}

std::vector<const pb::FieldDescriptor*> FieldsOf(const pb::Descriptor& type) {
  std::vector<const pb::FieldDescriptor*> fields;
  for (int i = 0; i < type.field_count(); ++i) fields.push_back(type.field(i));
  return fields;
}

int CountValues(const pb::Message& message, const pb::FieldDescriptor* field) {
  return field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
}

std::string ScalarText(const pb::Message& message, const pb::FieldDescriptor* field, int index) {
  const pb::Reflection& r = *message.GetReflection();
  std::string text;
  if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
    return field->is_repeated() ? r.GetRepeatedString(message, field, index)
                                : r.GetString(message, field);
  }
  pb::TextFormat::PrintFieldValueToString(message, field, field->is_repeated() ? index : -1, &text);
  return text;
}

const pb::Message& InnerMessage(const pb::Message& message, const pb::FieldDescriptor* field,
                                int index) {
  const pb::Reflection& r = *message.GetReflection();
  return field->is_repeated() ? r.GetRepeatedMessage(message, field, index)
                              : r.GetMessage(message, field);
}

std::vector<std::string> ValueNames(const pb::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return names;
}

std::string CommentText(const pb::SourceLocation& location) {
  std::string text = location.leading_comments;
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

std::string FileComment(const pb::FileDescriptor& file) {
  pb::SourceLocation location;
  const std::vector<int> syntax = {pb::FileDescriptorProto::kSyntaxFieldNumber};
  return file.GetSourceLocation(syntax, &location) ? CommentText(location) : "";
}

std::string Method::path() const {
  return absl::StrCat("/", descriptor->service()->full_name(), "/", descriptor->name());
}

Catalog::Catalog() {
  pb::FileDescriptorSet files;
  files.ParseFromArray(kApiDescriptors, static_cast<int>(kApiDescriptorsSize));
  for (const pb::FileDescriptorProto& proto : files.file()) {
    const pb::FileDescriptor* const file = pool_.BuildFile(proto);
    const std::vector<std::string> path = absl::StrSplit(proto.name(), '/');
    const bool is_hub = path.size() == 2 && path[1] == "hub.proto";
    const bool is_version = path.size() == 3 && path[2] == "api.proto";
    if (is_version || proto.name() == kAdminFile) {
      const pb::ServiceDescriptor& service = *file->service(0);
      for (int i = 0; i < service.method_count(); ++i) {
        methods_.push_back(
            {is_version ? path[0] : kSimulatedGroup, is_version ? path[1] : "", service.method(i)});
      }
    }
    // Reads `proto`, because `pool_` does not know the extension that marks secrets.
    for (const pb::DescriptorProto& message : proto.message_type()) {
      for (const pb::FieldDescriptorProto& field : message.field()) {
        if (is_hub && field.options().GetExtension(api::secret)) {
          secrets_.emplace_back(path[0], Plain(field.name()));
        }
      }
    }
  }
  const auto rank = [](const Method& m) { return std::pair(m.group, Preference(m.version)); };
  std::ranges::stable_sort(methods_, {}, rank);
  secrets_.emplace_back(kSimulatedGroup, "password");
  secrets_.emplace_back("selftest", "smbpassword");
}

std::vector<std::pair<std::string, std::string>> Catalog::Pipes() const {
  std::vector<std::pair<std::string, std::string>> pipes;
  for (const Method& method : methods_) {
    const std::pair pipe(method.group, method.version);
    if (!method.version.empty() && (pipes.empty() || pipes.back() != pipe)) pipes.push_back(pipe);
  }
  return pipes;
}

std::vector<std::string> Catalog::Groups() const {
  std::vector<std::string> groups;
  for (const auto& [group, version] : Pipes()) {
    if (groups.empty() || groups.back() != group) groups.push_back(group);
  }
  return groups;
}

std::vector<std::string> Catalog::Versions(absl::string_view group) const {
  std::vector<std::string> versions;
  for (const auto& [of, version] : Pipes()) {
    if (of == group) versions.push_back(version);
  }
  if (group == kSimulatedGroup) versions.push_back("");
  return versions;
}

std::vector<Method> Catalog::Methods(absl::string_view group, absl::string_view version) const {
  std::vector<Method> methods;
  for (const Method& method : methods_) {
    if (method.group == group && method.version == version) methods.push_back(method);
  }
  return methods;
}

std::string Catalog::Successor(absl::string_view group, absl::string_view version) const {
  const std::vector<std::string> versions = Versions(group);
  if (!absl::c_linear_search(versions, version)) return "";
  // The second part of a preference is the negated generation.
  const bool is_later =
      std::get<1>(Preference(std::string(version))) < std::get<1>(Preference(versions.front()));
  return is_later || version == versions.front() ? "" : versions.front();
}

absl::StatusOr<std::vector<std::string>> Catalog::VersionsFor(absl::string_view group,
                                                              absl::string_view version) const {
  std::vector<std::string> versions = Versions(Plain(group));
  if (versions.empty()) {
    std::vector<std::string> groups = Groups();
    groups.push_back(kSimulatedGroup);
    return NoSuch("group", group, groups, groups);
  }
  if (version.empty()) return versions;
  if (!absl::c_linear_search(versions, version)) {
    if (Plain(group) == kSimulatedGroup) return Invalid("sim has no versions; leave --api out");
    return NoSuch(absl::StrCat("version of ", Plain(group)), version, versions, versions);
  }
  return std::vector<std::string>{std::string(version)};
}

absl::StatusOr<Method> Catalog::Find(absl::string_view group, absl::string_view name,
                                     absl::string_view version) const {
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> versions, VersionsFor(group, version));
  std::vector<std::string> names, suggested;
  const bool reads = SoundsLikeReading(name);
  for (const std::string& candidate : versions) {
    for (const Method& method : Methods(Plain(group), candidate)) {
      if (Plain(method.descriptor->name()) == Plain(name)) return method;
      if (!absl::c_linear_search(names, method.descriptor->name())) {
        names.push_back(method.descriptor->name());
        if (!reads || ChangesNothing(method)) suggested.push_back(names.back());
      }
    }
  }
  return NoSuch(
      absl::StrCat("method of ", Plain(group), version.empty() ? "" : absl::StrCat(" ", version)),
      name, names, suggested);
}

const pb::MethodDescriptor* Catalog::Hub(const Method& method) const {
  const pb::FileDescriptor* const file = pool_.FindFileByName(method.group + "/hub.proto");
  if (file == nullptr) return nullptr;
  return file->service(0)->FindMethodByName(method.descriptor->name());
}

bool Catalog::ChangesNothing(const Method& method) const {
  const pb::MethodDescriptor* const hub = Hub(method);
  const pb::MethodDescriptor& told = hub != nullptr ? *hub : *method.descriptor;
  return told.options().idempotency_level() == pb::MethodOptions::NO_SIDE_EFFECTS;
}

std::unique_ptr<pb::Message> Catalog::New(const pb::Descriptor* type) const {
  return std::unique_ptr<pb::Message>(factory_.GetPrototype(type)->New());
}

bool Catalog::IsSecret(absl::string_view group, const pb::FieldDescriptor& field) const {
  return absl::c_linear_search(secrets_, std::pair(std::string(group), Plain(field.name())));
}

bool Catalog::HoldsSecret(absl::string_view group, const pb::Descriptor& type) const {
  return absl::c_any_of(FieldsOf(type), [&](const pb::FieldDescriptor* field) {
    const pb::Descriptor* const inside = field->message_type();
    return IsSecret(group, *field) || (inside != nullptr && HoldsSecret(group, *inside));
  });
}

}  // namespace csi_proxy::ctl
