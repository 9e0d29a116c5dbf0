#include "codegen/lock.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace csi_proxy::api {
namespace {

constexpr absl::string_view kHeader =
    "# A fingerprint of what clients see of each released version. Written by `lock_tool --add`,\n"
    "# never by hand: a line that changes here breaks drivers that are running. See README.md.\n";

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

// Returns the facts' FNV-1a hash of 64 bits
// (https://datatracker.ietf.org/doc/html/draft-eastlake-fnv). It must only detect accidental edits,
// not deliberate collisions.
std::string FingerprintOf(const Facts& facts) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const auto& [key, value] : facts) {
    for (const char c : absl::StrCat(key, " = ", value, "\n")) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

std::vector<std::string> ChangesOfLocked(const Lock& locked, const Lock& current) {
  std::vector<std::string> differences;
  for (const auto& [version, fingerprint] : locked) {
    const auto now = current.find(version);
    if (now == current.end()) {
      differences.push_back(absl::StrCat(version, ": removed"));
    } else if (now->second != fingerprint) {
      differences.push_back(absl::StrCat(version, ": changed, and released versions stay: see ",
                                         "`git diff` of ", version, "/api.proto"));
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
      lock[absl::StrCat(group.name, "/", version.name)] = FingerprintOf(FactsOf(*version.file));
    }
  }
  return lock;
}

std::string FormatLock(const Lock& lock) {
  return absl::StrCat(kHeader, "\n", absl::StrJoin(lock, "\n", absl::PairFormatter(" ")), "\n");
}

absl::StatusOr<Lock> ParseLock(absl::string_view text) {
  Lock lock;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    absl::ConsumeSuffix(&line, "\r");
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    if (parts.size() != 2 || !lock.emplace(parts[0], parts[1]).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "released.lock:", number, ": is not one group/version with a fingerprint: ", line));
    }
  }
  return lock;
}

std::vector<std::string> Differences(const Lock& locked, const Lock& current) {
  std::vector<std::string> differences = ChangesOfLocked(locked, current);
  for (const auto& [version, fingerprint] : current) {
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
