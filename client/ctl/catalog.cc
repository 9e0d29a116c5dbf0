#include "client/ctl/catalog.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "annotations.pb.h"
#include "client/ctl/api_descriptors.h"

namespace csi_proxy::ctl {
namespace {

constexpr char kAdminFile[] = "server/host/simulated/admin.proto";
constexpr char kAdminGroup[] = "sim";

// Smaller is preferred: v1, then v2alpha1, then betas, then alphas, newer first.
std::tuple<int, int, int> Preference(const std::string& version) {
  int major = 0, minor = 0, stage = 0;
  size_t at = 1;
  while (at < version.size() && absl::ascii_isdigit(static_cast<unsigned char>(version[at]))) {
    major = major * 10 + (version[at++] - '0');
  }
  const std::string rest = version.substr(at);
  for (const char* name : {"beta", "alpha"}) {
    if (!absl::StartsWith(rest, name)) continue;
    stage = name[0] == 'b' ? 1 : 2;
    minor = std::atoi(rest.c_str() + strlen(name));
  }
  return {major >= 2 && stage > 0 ? 1 : stage == 0 ? 0 : stage + 1, -major, -minor};
}

// The number of single-character edits between two words.
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

absl::Status NoSuch(absl::string_view what, absl::string_view name,
                    const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no ", what, " \"", name, "\"",
                   nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
                   "\nThere are: ", absl::StrJoin(candidates, ", ")));
}

}  // namespace

std::string Plain(absl::string_view name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"-", ""}, {"_", ""}}));
}

std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(name.size() / 2, 2);
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(Plain(name), Plain(candidate));
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

std::string CommentText(const pb::SourceLocation& location) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(location.leading_comments, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) lines.emplace_back(line);
  }
  return absl::StrJoin(lines, " ");
}

std::string Method::path() const {
  return absl::StrCat("/", descriptor->service()->full_name(), "/", descriptor->name());
}

Catalog::Catalog() {
  pb::FileDescriptorSet files;
  files.ParseFromArray(kApiDescriptors, static_cast<int>(kApiDescriptorsSize));
  for (const pb::FileDescriptorProto& file : files.file()) database_.Add(file);
  pool_ = std::make_unique<pb::DescriptorPool>(&database_);
  factory_ = std::make_unique<pb::DynamicMessageFactory>(pool_.get());
  for (const pb::FileDescriptorProto& proto : files.file()) {
    const pb::FileDescriptor* const file = pool_->FindFileByName(proto.name());
    const std::vector<std::string> path = absl::StrSplit(proto.name(), '/');
    const bool is_hub = path.size() == 2 && path[1] == "hub.proto";
    const bool is_version = path.size() == 3 && path[2] == "api.proto";
    if (is_version || proto.name() == kAdminFile) {
      const pb::ServiceDescriptor& service = *file->service(0);
      for (int i = 0; i < service.method_count(); ++i) {
        methods_.push_back(
            {is_version ? path[0] : kAdminGroup, is_version ? path[1] : "", service.method(i)});
      }
    }
    // The mark is read from the descriptor as this program knows it, so from the serialised option.
    for (const pb::DescriptorProto& message : proto.message_type()) {
      for (const pb::FieldDescriptorProto& field : message.field()) {
        if (is_hub && field.options().GetExtension(api::secret)) {
          secrets_.emplace_back(path[0], Plain(field.name()));
        }
      }
    }
  }
  secrets_.emplace_back(kAdminGroup, "password");
}

std::vector<std::string> Catalog::Groups() const {
  std::set<std::string> groups;
  for (const Method& method : methods_) {
    if (!method.version.empty()) groups.insert(method.group);
  }
  return {groups.begin(), groups.end()};
}

std::vector<std::string> Catalog::Versions(absl::string_view group) const {
  std::set<std::string> names;
  for (const Method& method : methods_) {
    if (method.group == group) names.insert(method.version);
  }
  std::vector<std::string> versions(names.begin(), names.end());
  std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
    return Preference(a) < Preference(b);
  });
  return versions;
}

std::vector<Method> Catalog::Methods(absl::string_view group, absl::string_view version) const {
  std::vector<Method> methods;
  for (const Method& method : methods_) {
    if (method.group == group && method.version == version) methods.push_back(method);
  }
  return methods;
}

absl::StatusOr<Method> Catalog::Find(absl::string_view group, absl::string_view name,
                                     absl::string_view version) const {
  const std::string plain_group = Plain(group);
  std::vector<std::string> versions = Versions(plain_group);
  if (versions.empty()) return NoSuch("group", group, Groups());
  if (!version.empty()) {
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
      return NoSuch(absl::StrCat("version of ", plain_group), version, versions);
    }
    versions = {std::string(version)};
  }
  std::vector<std::string> names;
  for (const std::string& candidate : versions) {
    for (const Method& method : Methods(plain_group, candidate)) {
      if (Plain(method.descriptor->name()) == Plain(name)) return method;
      if (std::find(names.begin(), names.end(), method.descriptor->name()) == names.end()) {
        names.push_back(method.descriptor->name());
      }
    }
  }
  return NoSuch(
      absl::StrCat("method of ", plain_group, version.empty() ? "" : absl::StrCat(" ", version)),
      name, names);
}

std::unique_ptr<pb::Message> Catalog::New(const pb::Descriptor* type) const {
  return std::unique_ptr<pb::Message>(factory_->GetPrototype(type)->New());
}

bool Catalog::IsSecret(absl::string_view group, const pb::FieldDescriptor& field) const {
  return std::find(secrets_.begin(), secrets_.end(),
                   std::pair(std::string(group), Plain(field.name()))) != secrets_.end();
}

}  // namespace csi_proxy::ctl
