#include "api/lock.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace csi_proxy::api {
namespace {

constexpr absl::string_view kHeader =
    "# What clients see of each released version. Written by `lock_tool --add`, never by hand: a\n"
    "# line that changes here breaks drivers that are running. See README.md.\n";

void AddEnum(const pb::EnumDescriptor& type, Facts* facts) {
  const std::string name = LocalName(type);
  (*facts)[absl::StrCat("enum ", name)] = absl::StrCat(type.value_count(), " values");
  for (int i = 0; i < type.value_count(); ++i) {
    const pb::EnumValueDescriptor& value = *type.value(i);
    (*facts)[absl::StrCat("value ", name, ".", value.name())] = absl::StrCat(value.number());
  }
}

void AddMessage(const pb::Descriptor& type, Facts* facts) {
  if (type.options().map_entry()) return;  // part of the map field's type
  const std::string name = LocalName(type);
  (*facts)[absl::StrCat("message ", name)] = absl::StrCat(type.field_count(), " fields");
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    std::string fact =
        absl::StrCat(TypeName(field), " ", field.name(), ", json ", field.json_name());
    if (field.real_containing_oneof() != nullptr) {
      absl::StrAppend(&fact, ", oneof ", field.real_containing_oneof()->name());
    }
    if (field.is_packable() && !field.is_packed()) absl::StrAppend(&fact, ", not packed");
    (*facts)[absl::StrCat("field ", name, ".", field.number())] = fact;
  }
  for (int i = 0; i < type.nested_type_count(); ++i) AddMessage(*type.nested_type(i), facts);
  for (int i = 0; i < type.enum_type_count(); ++i) AddEnum(*type.enum_type(i), facts);
}

void AddService(const pb::ServiceDescriptor& service, Facts* facts) {
  (*facts)[absl::StrCat("service ", service.full_name())] =
      absl::StrCat(service.method_count(), " methods");
  for (int i = 0; i < service.method_count(); ++i) {
    const pb::MethodDescriptor& method = *service.method(i);
    (*facts)[absl::StrCat("rpc /", service.full_name(), "/", method.name())] = absl::StrCat(
        method.client_streaming() ? "stream " : "", LocalName(*method.input_type()), " -> ",
        method.server_streaming() ? "stream " : "", LocalName(*method.output_type()));
  }
}

// Returns the sections by group, then by age.
std::vector<const Lock::value_type*> InOrder(const Lock& lock) {
  std::vector<const Lock::value_type*> sections;
  for (const Lock::value_type& section : lock) sections.push_back(&section);
  std::sort(sections.begin(), sections.end(), [](const auto* a, const auto* b) {
    const std::pair<std::string, std::string> x = absl::StrSplit(a->first, '/');
    const std::pair<std::string, std::string> y = absl::StrSplit(b->first, '/');
    return x.first != y.first ? x.first < y.first : IsOlder(x.second, y.second);
  });
  return sections;
}

void CompareFacts(const std::string& version, const Facts& locked, const Facts& current,
                  std::vector<std::string>* differences) {
  for (const auto& [key, value] : locked) {
    const auto now = current.find(key);
    if (now == current.end()) {
      differences->push_back(absl::StrCat(version, ": removed: ", key, " (", value, ")"));
    } else if (now->second != value) {
      differences->push_back(
          absl::StrCat(version, ": changed: ", key, " from (", value, ") to (", now->second, ")"));
    }
  }
  for (const auto& [key, value] : current) {
    if (!locked.contains(key)) {
      differences->push_back(absl::StrCat(version, ": added: ", key, " (", value, ")"));
    }
  }
}

std::vector<std::string> ChangesOfLocked(const Lock& locked, const Lock& current) {
  std::vector<std::string> differences;
  for (const auto& [version, facts] : locked) {
    const auto now = current.find(version);
    if (now == current.end()) {
      differences.push_back(absl::StrCat(version, ": removed: the whole version"));
    } else {
      CompareFacts(version, facts, now->second, &differences);
    }
  }
  return differences;
}

}  // namespace

Facts FactsOf(const pb::FileDescriptor& file) {
  Facts facts;
  facts["package"] = file.package();
  facts["syntax"] = pb::FileDescriptor::SyntaxName(file.syntax());
  for (int i = 0; i < file.service_count(); ++i) AddService(*file.service(i), &facts);
  for (int i = 0; i < file.message_type_count(); ++i) AddMessage(*file.message_type(i), &facts);
  for (int i = 0; i < file.enum_type_count(); ++i) AddEnum(*file.enum_type(i), &facts);
  return facts;
}

Lock LockOf(const Files& files) {
  Lock lock;
  for (const Group& group : files.groups()) {
    for (const Version& version : group.versions) {
      lock[absl::StrCat(group.name, "/", version.name)] = FactsOf(*version.file);
    }
  }
  return lock;
}

std::string FormatLock(const Lock& lock) {
  std::string text(kHeader);
  for (const Lock::value_type* section : InOrder(lock)) {
    absl::StrAppend(&text, "\n[", section->first, "]\n");
    for (const auto& [key, value] : section->second) {
      absl::StrAppend(&text, key, " = ", value, "\n");
    }
  }
  return text;
}

absl::StatusOr<Lock> ParseLock(absl::string_view text) {
  Lock lock;
  Facts* section = nullptr;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    absl::ConsumeSuffix(&line, "\r");
    if (line.empty() || line[0] == '#') continue;
    const auto fail = [&](absl::string_view reason) {
      return absl::InvalidArgumentError(
          absl::StrCat("released.lock:", number, ": ", reason, ": ", line));
    };
    if (line.front() == '[' && line.back() == ']') {
      const auto [added, is_new] = lock.try_emplace(std::string(line.substr(1, line.size() - 2)));
      if (!is_new) return fail("a second section of this version");
      section = &added->second;
      continue;
    }
    const std::vector<std::string> fact = absl::StrSplit(line, absl::MaxSplits(" = ", 1));
    if (fact.size() != 2) return fail("neither [group/version] nor key = value");
    if (section == nullptr) return fail("this stands before the first [group/version]");
    if (!section->emplace(fact[0], fact[1]).second) return fail("said twice");
  }
  return lock;
}

std::vector<std::string> Differences(const Lock& locked, const Lock& current) {
  std::vector<std::string> differences = ChangesOfLocked(locked, current);
  for (const auto& [version, facts] : current) {
    if (locked.contains(version)) continue;
    differences.push_back(
        absl::StrCat(version, ": not in the lock; when it is ready for release, lock it with ",
                     "`lock_tool --add api`"));
  }
  return differences;
}

absl::StatusOr<Lock> AddVersions(const Lock& locked, const Lock& current) {
  if (const std::vector<std::string> changes = ChangesOfLocked(locked, current); !changes.empty()) {
    return absl::FailedPreconditionError(absl::StrJoin(changes, "\n"));
  }
  return current;
}

}  // namespace csi_proxy::api
