#include "client/ctl/request.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace csi_proxy::ctl {
namespace {

using Field = pb::FieldDescriptor;

std::string FlagName(absl::string_view name) {
  std::string flag;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    // `diskID` is --disk-id, `LUNID` --lunid.
    const bool new_word = absl::ascii_isupper(c) && i > 0 &&
                          absl::ascii_islower(static_cast<unsigned char>(name[i - 1]));
    if (new_word) flag.push_back('-');
    flag.push_back(c == '_' ? '-' : absl::ascii_tolower(c));
  }
  return flag;
}

const Field* FindField(const pb::Descriptor& type, absl::string_view name) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (Plain(type.field(i)->name()) == Plain(name)) return type.field(i);
  }
  return nullptr;
}

absl::Status Bad(absl::string_view name, absl::string_view value, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, ": \"", absl::CEscape(value.substr(0, 64)), "\" is not ", wanted));
}

// Sets or adds one value.
template <typename T>
void Put(pb::Message* message, const Field* field, T value,
         void (pb::Reflection::*set)(pb::Message*, const Field*, T) const,
         void (pb::Reflection::*add)(pb::Message*, const Field*, T) const) {
  const pb::Reflection* const r = message->GetReflection();
  (r->*(field->is_repeated() ? add : set))(message, field, value);
}

absl::Status SetValue(const FieldArgument& argument, const Field* field, pb::Message* message) {
  using R = pb::Reflection;
  const std::string& text = argument.value;
  const bool alone = !argument.has_value;
  if (alone && field->type() != Field::TYPE_BOOL) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", argument.name, ": needs a value, as --", argument.name, "=..."));
  }
  switch (field->cpp_type()) {
    case Field::CPPTYPE_BOOL: {
      bool value = alone;
      if (!alone && !absl::SimpleAtob(text, &value)) {
        return Bad(argument.name, text, "true or false");
      }
      Put<bool>(message, field, value, &R::SetBool, &R::AddBool);
      return absl::OkStatus();
    }
    case Field::CPPTYPE_UINT32: {
      uint32_t value;
      if (!absl::SimpleAtoi(text, &value)) {
        return Bad(argument.name, text, "a number from 0 to 4294967295");
      }
      Put<uint32_t>(message, field, value, &R::SetUInt32, &R::AddUInt32);
      return absl::OkStatus();
    }
    case Field::CPPTYPE_UINT64: {
      uint64_t value;
      if (!absl::SimpleAtoi(text, &value)) return Bad(argument.name, text, "a number from 0");
      Put<uint64_t>(message, field, value, &R::SetUInt64, &R::AddUInt64);
      return absl::OkStatus();
    }
    case Field::CPPTYPE_INT64: {
      int64_t value;
      if (!absl::SimpleAtoi(text, &value)) return Bad(argument.name, text, "a whole number");
      Put<int64_t>(message, field, value, &R::SetInt64, &R::AddInt64);
      return absl::OkStatus();
    }
    case Field::CPPTYPE_STRING:
      if (field->is_repeated()) {
        message->GetReflection()->AddString(message, field, text);
      } else {
        message->GetReflection()->SetString(message, field, text);
      }
      return absl::OkStatus();
    case Field::CPPTYPE_ENUM: {
      const pb::EnumDescriptor& type = *field->enum_type();
      const pb::EnumValueDescriptor* value = nullptr;
      std::vector<std::string> names;
      for (int i = 0; i < type.value_count(); ++i) {
        names.push_back(type.value(i)->name());
        const bool same = Plain(type.value(i)->name()) == Plain(text) ||
                          absl::StrCat(type.value(i)->number()) == text;
        if (same) value = type.value(i);
      }
      if (value == nullptr) {
        return Bad(argument.name, text, absl::StrCat("one of ", absl::StrJoin(names, ", ")));
      }
      Put<const pb::EnumValueDescriptor*>(message, field, value, &R::SetEnum, &R::AddEnum);
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("--", argument.name, ": cannot be given as a flag; use --json"));
  }
}

}  // namespace

std::vector<std::string> FieldFlags(const pb::Descriptor& type) {
  std::vector<std::string> flags;
  for (int i = 0; i < type.field_count(); ++i) {
    const Field& field = *type.field(i);
    const std::string name = FlagName(field.name());
    if (field.is_map() || (field.is_repeated() && field.message_type() != nullptr)) continue;
    if (field.message_type() != nullptr) {
      for (const std::string& inner : FieldFlags(*field.message_type())) {
        flags.push_back(absl::StrCat("--", name, ".", inner.substr(2)));
      }
    } else if (field.enum_type() != nullptr) {
      std::vector<std::string> values;
      for (int j = 0; j < field.enum_type()->value_count(); ++j) {
        values.push_back(field.enum_type()->value(j)->name());
      }
      flags.push_back(absl::StrCat("--", name, "=", absl::StrJoin(values, "|")));
    } else {
      flags.push_back(absl::StrCat("--", name, "=", absl::AsciiStrToUpper(field.type_name())));
    }
  }
  return flags;
}

absl::Status SetFields(const Catalog& catalog, absl::string_view group,
                       const std::vector<FieldArgument>& arguments, const ReadFunction& read,
                       pb::Message* request) {
  for (FieldArgument argument : arguments) {
    pb::Message* message = request;
    std::vector<std::string> path = absl::StrSplit(argument.name, '.');
    const Field* field = nullptr;
    for (size_t i = 0; i < path.size(); ++i) {
      const pb::Descriptor& type = *message->GetDescriptor();
      field = FindField(type, path[i]);
      absl::string_view secret_name = path[i];
      const bool from_file = field == nullptr && absl::ConsumeSuffix(&secret_name, "-file");
      if (from_file) {
        field = FindField(type, secret_name);
        if (field != nullptr && !catalog.IsSecret(group, *field)) field = nullptr;
      }
      if (field == nullptr) {
        std::vector<std::string> known;
        for (int j = 0; j < type.field_count(); ++j) known.push_back(type.field(j)->name());
        const std::string nearest = Nearest(path[i], known);
        return absl::InvalidArgumentError(absl::StrCat(
            "there is no field \"", path[i], "\" in ", type.name(),
            nearest.empty() ? "" : absl::StrCat("; did you mean --", FlagName(nearest), "?"),
            known.empty() ? "\nIt has no fields."
                          : absl::StrCat("\nIts fields: ", absl::StrJoin(FieldFlags(type), " "))));
      }
      const bool last = i + 1 == path.size();
      if (last && catalog.IsSecret(group, *field) && (from_file || argument.value == "-")) {
        absl::StatusOr<std::string> secret = read(from_file ? argument.value : "-");
        if (!secret.ok()) return secret.status();
        absl::string_view line = *secret;
        absl::ConsumeSuffix(&line, "\n");
        absl::ConsumeSuffix(&line, "\r");
        argument.value = std::string(line);
        argument.has_value = true;
      }
      if (!last) {
        if (field->message_type() == nullptr || field->is_repeated()) {
          return absl::InvalidArgumentError(
              absl::StrCat("--", argument.name, ": ", path[i], " has no fields"));
        }
        message = message->GetReflection()->MutableMessage(message, field);
      }
    }
    if (absl::Status status = SetValue(argument, field, message); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::ctl
