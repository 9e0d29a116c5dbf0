#include "codegen/model.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/table.h"

namespace csi_proxy::codegen {
namespace {

using Field = pb::FieldDescriptor;

// Returns true for an integer field, key or value.
bool IsInteger(const Field& field) {
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
    case Field::CPPTYPE_INT64:
    case Field::CPPTYPE_UINT32:
    case Field::CPPTYPE_UINT64:
      return true;
    default:
      return false;
  }
}

class Builder {
 public:
  Builder(const std::string& name, const Conversions& conversions) : table_(conversions, &errors_) {
    group_.name = name;
  }

  absl::StatusOr<Group> Build(const std::vector<const pb::FileDescriptor*>& files) {
    Sort(files);
    if (errors_.empty()) {
      CheckSupported(*group_.hub);
      const bool hub_is_sound = errors_.empty();
      bool all_paired = true;
      for (Version& version : group_.versions) {
        const size_t before = errors_.size();
        CheckSupported(*version.file);
        const bool paired = hub_is_sound && errors_.size() == before;
        if (paired) PairVersion(&version);
        all_paired = all_paired && paired;
      }
      // Rows of an unpaired version were never looked up, so all of them would seem unused.
      if (all_paired) {
        for (std::string& line : table_.Unused()) errors_.push_back(std::move(line));
      }
    }
    if (!errors_.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
    return std::move(group_);
  }

 private:
  template <typename... Parts>
  void Error(const Parts&... parts) {
    errors_.push_back(absl::StrCat(parts...));
  }

  // Sorts the files into the hub and the versions, by path.
  void Sort(const std::vector<const pb::FileDescriptor*>& files) {
    for (const pb::FileDescriptor* file : files) {
      const std::vector<std::string> path = absl::StrSplit(file->name(), '/');
      if (path.size() == 2 && path[0] == group_.name && path[1] == "hub.proto") {
        group_.hub = file;
      } else if (path.size() == 3 && path[0] == group_.name && path[2] == "api.proto") {
        Version version;
        version.name = path[1];
        version.file = file;
        group_.versions.push_back(std::move(version));
        if (file->package() != path[1]) {
          Error(file->name(), ": package ", file->package(), " is not its directory's name ",
                path[1]);
        }
      } else {
        Error(file->name(), ": is neither ", group_.name, "/hub.proto nor ", group_.name,
              "/<version>/api.proto");
      }
    }
    if (group_.hub == nullptr) {
      Error(group_.name, "/hub.proto is not among the files to generate");
      return;
    }
    if (group_.hub->package() != absl::StrCat("csi_proxy.", group_.name)) {
      Error(group_.hub->name(), ": package ", group_.hub->package(), " is not csi_proxy.",
            group_.name);
    }
    group_.service = OnlyService(*group_.hub);
    for (Version& version : group_.versions) version.service = OnlyService(*version.file);
  }

  const pb::ServiceDescriptor* OnlyService(const pb::FileDescriptor& file) {
    if (file.service_count() == 1) return file.service(0);
    Error(file.name(), ": has ", file.service_count(), " services instead of one");
    return nullptr;
  }

  // Refuses declarations that the generated structs cannot represent, so that no data is lost.
  void CheckSupported(const pb::FileDescriptor& file) {
    if (file.syntax() != pb::FileDescriptor::SYNTAX_PROTO3) {
      Error(file.name(), ": only proto3 is supported");
    }
    const pb::ServiceDescriptor& service = *file.service(0);
    for (int i = 0; i < service.method_count(); ++i) {
      const pb::MethodDescriptor& method = *service.method(i);
      if (method.client_streaming() || method.server_streaming()) {
        Error(file.name(), ": ", method.name(), ": streaming is not supported");
      }
      CheckOwn(file, method.name(), *method.input_type()->file());
      CheckOwn(file, method.name(), *method.output_type()->file());
    }
    for (int i = 0; i < file.message_type_count(); ++i) CheckMessage(*file.message_type(i));
  }

  void CheckOwn(const pb::FileDescriptor& file, absl::string_view what,
                const pb::FileDescriptor& home) {
    if (&home != &file) {
      Error(file.name(), ": ", what, ": uses a type of ", home.name(),
            "; types of other files are not supported");
    }
  }

  void CheckMessage(const pb::Descriptor& message) {
    const std::string& file = message.file()->name();
    for (int i = 0; i < message.nested_type_count(); ++i) {
      if (message.nested_type(i)->options().map_entry()) continue;
      Error(file, ": ", message.name(), ".", message.nested_type(i)->name(),
            ": nested declarations are not supported; declare it beside ", message.name());
    }
    if (message.enum_type_count() > 0) {
      Error(file, ": ", message.name(), ".", message.enum_type(0)->name(),
            ": nested declarations are not supported; declare it beside ", message.name());
    }
    for (int i = 0; i < message.field_count(); ++i) {
      const Field& field = *message.field(i);
      const std::string where = absl::StrCat(file, ": ", message.name(), ".", field.name());
      if (field.containing_oneof() != nullptr) {
        Error(where, ": oneof and optional fields are not supported");
      }
      if (IsCppKeyword(field.lowercase_name())) Error(where, ": is a keyword of C++");
      if (field.is_map()) continue;
      if (field.message_type() != nullptr) {
        CheckOwn(*message.file(), absl::StrCat(message.name(), ".", field.name()),
                 *field.message_type()->file());
      }
      if (field.enum_type() != nullptr) {
        CheckOwn(*message.file(), absl::StrCat(message.name(), ".", field.name()),
                 *field.enum_type()->file());
      }
    }
  }

  void PairVersion(Version* version) {
    version_ = version;
    for (int i = 0; i < version->service->method_count(); ++i) {
      const pb::MethodDescriptor& method = *version->service->method(i);
      const std::string renamed = table_.HubMethod(version->name, method.name());
      const std::string& hub_name = renamed.empty() ? method.name() : renamed;
      const pb::MethodDescriptor* hub = group_.service->FindMethodByName(hub_name);
      if (hub == nullptr) {
        Error(version->file->name(), ": rpc ", method.name(), ": the hub has no ", hub_name,
              "; add it to ", group_.hub->name(), " or a rename_method row");
        continue;
      }
      if (!renamed.empty() && renamed == method.name()) {
        Error("conversions: rename_method ", method.name(), ": renames it to itself");
      }
      version->methods.push_back({&method, hub});
      Want(method.input_type(), hub->input_type());
      Want(method.output_type(), hub->output_type());
    }
    while (!wanted_.empty()) {
      const auto [message, hub] = wanted_.front();
      wanted_.pop_front();
      PairMessage(*message, *hub);
    }
    for (int i = 0; i < version->file->message_type_count(); ++i) {
      const pb::Descriptor* message = version->file->message_type(i);
      if (!reached_.contains(message)) {
        Error(version->file->name(), ": message ", message->name(),
              ": no rpc uses it, so nothing converts it");
      }
    }
    reached_.clear();
    seen_.clear();
    seen_enums_.clear();
  }

  // Queues the pair, once, for PairMessage().
  void Want(const pb::Descriptor* message, const pb::Descriptor* hub) {
    reached_.insert(message);
    if (seen_.emplace(message, hub).second) wanted_.emplace_back(message, hub);
  }

  void PairMessage(const pb::Descriptor& message, const pb::Descriptor& hub) {
    MessagePair pair{&message, &hub, false, {}};
    const std::string override_hub = table_.HubMessageOfOverride(version_->name, message.name());
    if (!override_hub.empty()) {
      if (override_hub != hub.name()) {
        Error("conversions: override_message ", message.name(), ": its hub message is ", hub.name(),
              ", not ", override_hub);
      }
      pair.is_overridden = true;
      version_->messages.push_back(std::move(pair));
      return;
    }
    std::map<std::string, const Field*> hub_fields;
    for (int i = 0; i < hub.field_count(); ++i) {
      hub_fields.emplace(NormalisedName(hub.field(i)->name()), hub.field(i));
    }
    std::set<const Field*> taken;
    for (int i = 0; i < message.field_count(); ++i) {
      const Field& field = *message.field(i);
      if (table_.IsDropped(version_->name, message.name(), field.name())) continue;
      const std::string renamed = table_.HubField(version_->name, message.name(), field.name());
      const auto found = hub_fields.find(NormalisedName(renamed.empty() ? field.name() : renamed));
      if (found == hub_fields.end()) {
        Error(version_->file->name(), ": ", message.name(), ".", field.name(), ": ", hub.name(),
              " of the hub has no field ", renamed.empty() ? field.name() : renamed,
              "; add a rename_field or drop_field row");
        continue;
      }
      if (!renamed.empty() && NormalisedName(renamed) == NormalisedName(field.name())) {
        Error("conversions: rename_field ", message.name(), ".", field.name(), ": not needed for ",
              version_->name, "; the names agree without it");
      }
      if (!taken.insert(found->second).second) {
        Error(version_->file->name(), ": ", message.name(), ".", field.name(),
              ": another field maps to ", found->second->name(), " of the hub already");
        continue;
      }
      PairField(field, *found->second, &pair);
    }
    for (int i = 0; i < hub.field_count(); ++i) {
      const Field& field = *hub.field(i);
      if (taken.contains(&field)) continue;
      if (!table_.IsAbsent(version_->name, message.name(), field.name())) {
        Error(version_->file->name(), ": ", message.name(), ": nothing maps to ", hub.name(), ".",
              field.name(), " of the hub; add a rename_field or absent_field row");
      }
    }
    version_->messages.push_back(std::move(pair));
  }

  void PairField(const Field& field, const Field& hub, MessagePair* pair) {
    FieldPair result{&field, &hub};
    const std::string where =
        absl::StrCat(version_->file->name(), ": ", pair->version->name(), ".", field.name());
    if (field.is_map() != hub.is_map() || field.is_repeated() != hub.is_repeated()) {
      Error(where, ": singular, repeated and map fields do not mix, and ", hub.name(),
            " of the hub is another kind");
      return;
    }
    const bool decimal = table_.IsDecimal(version_->name, pair->version->name(), field.name());
    const bool widen = table_.IsWidened(version_->name, pair->version->name(), field.name());
    bool decimal_used = false, widen_used = false;
    const auto pair_value = [&](const Field& value, const Field& hub_value, Conversion* out) {
      if (value.type() == Field::TYPE_MESSAGE && hub_value.type() == Field::TYPE_MESSAGE) {
        *out = Conversion::kMessage;
        Want(value.message_type(), hub_value.message_type());
      } else if (value.type() == Field::TYPE_ENUM && hub_value.type() == Field::TYPE_ENUM) {
        *out = Conversion::kEnum;
        PairEnum(*value.enum_type(), *hub_value.enum_type());
      } else if (value.cpp_type() == hub_value.cpp_type() && value.type() == hub_value.type()) {
        *out = Conversion::kCopy;
      } else if (decimal && value.type() == Field::TYPE_STRING && IsInteger(hub_value)) {
        *out = Conversion::kDecimal;
        decimal_used = true;
      } else if (widen && IsInteger(value) && IsInteger(hub_value)) {
        *out = Conversion::kWiden;
        widen_used = true;
      } else {
        const bool text = value.type() == Field::TYPE_STRING && IsInteger(hub_value);
        const bool range = IsInteger(value) && IsInteger(hub_value);
        Error(where, ": is ", value.type_name(), " where ", hub.name(), " of the hub is ",
              hub_value.type_name(),
              text    ? "; add a decimal_field row"
              : range ? "; add a widen_field row"
                      : "; only override_message converts that");
      }
    };
    if (field.is_map()) {
      pair_value(*field.message_type()->map_key(), *hub.message_type()->map_key(), &result.key);
      pair_value(*field.message_type()->map_value(), *hub.message_type()->map_value(),
                 &result.value);
    } else {
      pair_value(field, hub, &result.value);
    }
    if (decimal && !decimal_used) Error(where, ": its decimal_field row is not needed");
    if (widen && !widen_used) Error(where, ": its widen_field row is not needed");
    pair->fields.push_back(result);
  }

  void PairEnum(const pb::EnumDescriptor& version, const pb::EnumDescriptor& hub) {
    if (!seen_enums_.emplace(&version, &hub).second) return;
    EnumPair pair{&version, &hub, {}, {}};
    std::map<std::string, const pb::EnumValueDescriptor*> hub_values, version_values;
    for (int i = 0; i < hub.value_count(); ++i) {
      hub_values.emplace(NormalisedName(hub.value(i)->name()), hub.value(i));
    }
    for (int i = 0; i < version.value_count(); ++i) {
      const pb::EnumValueDescriptor* value = version.value(i);
      version_values.emplace(NormalisedName(value->name()), value);
      const auto found = hub_values.find(NormalisedName(value->name()));
      if (found == hub_values.end()) {
        Error(version_->file->name(), ": ", version.name(), ".", value->name(), ": ", hub.name(),
              " of the hub has no such value; add it to ", group_.hub->name());
        continue;
      }
      pair.to_hub.emplace_back(value, found->second);
    }
    for (int i = 0; i < hub.value_count(); ++i) {
      const pb::EnumValueDescriptor* value = hub.value(i);
      auto found = version_values.find(NormalisedName(value->name()));
      if (found == version_values.end()) {
        const std::string send_as = table_.SendAs(version_->name, version.name(), value->name());
        found = version_values.find(NormalisedName(send_as));
        if (send_as.empty() || found == version_values.end()) {
          Error(version_->file->name(), ": ", version.name(), ": lacks ", value->name(), " of ",
                hub.name(), " of the hub; add an absent_enum_value row that sends one it has");
          continue;
        }
      }
      pair.from_hub.emplace_back(value, found->second);
    }
    version_->enums.push_back(std::move(pair));
  }

  Group group_;
  std::vector<std::string> errors_;
  Table table_;
  Version* version_ = nullptr;
  std::deque<std::pair<const pb::Descriptor*, const pb::Descriptor*>> wanted_;
  std::set<std::pair<const pb::Descriptor*, const pb::Descriptor*>> seen_;
  std::set<std::pair<const pb::EnumDescriptor*, const pb::EnumDescriptor*>> seen_enums_;
  std::set<const pb::Descriptor*> reached_;
};

}  // namespace

absl::StatusOr<Group> BuildGroup(const std::string& group_name,
                                 const std::vector<const pb::FileDescriptor*>& files,
                                 const Conversions& table) {
  return Builder(group_name, table).Build(files);
}

std::string NormalisedName(absl::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c != '_') result.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

std::string EnumeratorName(absl::string_view name) {
  std::string result = "k";
  for (absl::string_view word : absl::StrSplit(name, '_', absl::SkipEmpty())) {
    result.push_back(absl::ascii_toupper(static_cast<unsigned char>(word[0])));
    result += absl::AsciiStrToLower(word.substr(1));
  }
  return result;
}

bool IsCppKeyword(absl::string_view name) {
  static constexpr absl::string_view kKeywords[] = {
      "alignas",   "alignof",  "and",      "asm",      "auto",     "bool",     "break",
      "case",      "catch",    "char",     "class",    "concept",  "const",    "continue",
      "decltype",  "default",  "delete",   "do",       "double",   "else",     "enum",
      "explicit",  "export",   "extern",   "false",    "float",    "for",      "friend",
      "goto",      "if",       "inline",   "int",      "long",     "mutable",  "namespace",
      "new",       "noexcept", "not",      "nullptr",  "operator", "or",       "private",
      "protected", "public",   "register", "requires", "return",   "short",    "signed",
      "sizeof",    "static",   "struct",   "switch",   "template", "this",     "throw",
      "true",      "try",      "typedef",  "typename", "union",    "unsigned", "using",
      "virtual",   "void",     "volatile", "while",    "xor"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords);
}

}  // namespace csi_proxy::codegen
