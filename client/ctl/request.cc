#include "client/ctl/request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/names/unicode.h"

namespace csi_proxy::ctl {
namespace {

using Field = pb::FieldDescriptor;

absl::Status Bad(absl::string_view name, absl::string_view value, absl::string_view wanted) {
  return Invalid("--", name, ": \"", absl::CEscape(value.substr(0, 64)), "\" is not ", wanted);
}

absl::Status SetValue(const FieldArgument& argument, const Field* field, pb::Message* message) {
  const std::string& text = argument.value;
  const bool alone = !argument.has_value;
  if (alone && field->type() != Field::TYPE_BOOL) {
    return Invalid("--", argument.name, ": needs a value: --", argument.name, "=...");
  }
  // The value in protobuf's text format.
  std::string value;
  std::string wanted;
  const auto parse = [&](auto number, const char* range) {
    if (!absl::SimpleAtoi(text, &number)) wanted = range;
    value = absl::StrCat(number);
  };
  switch (field->cpp_type()) {
    case Field::CPPTYPE_BOOL: {
      bool flag = alone;
      if (!alone && !absl::SimpleAtob(text, &flag)) wanted = "true or false";
      value = flag ? "true" : "false";
      break;
    }
    case Field::CPPTYPE_UINT32:
      parse(uint32_t{0}, "a number from 0 to 4294967295");
      break;
    case Field::CPPTYPE_UINT64:
      parse(uint64_t{0}, "a number of 0 or more");
      break;
    case Field::CPPTYPE_INT64:
      parse(int64_t{0}, "a whole number");
      break;
    case Field::CPPTYPE_STRING:
      if (Utf16Length(text) < 0) {
        return Invalid("--", argument.name, ": is not UTF-8");
      }
      value = absl::StrCat("\"", absl::CEscape(text), "\"");
      break;
    case Field::CPPTYPE_ENUM: {
      const std::vector<std::string> names = ValueNames(*field->enum_type());
      for (const std::string& name : names) {
        const int number = field->enum_type()->FindValueByName(name)->number();
        if (Plain(name) == Plain(text) || absl::StrCat(number) == text) value = name;
      }
      if (value.empty()) wanted = absl::StrCat("one of ", absl::StrJoin(names, ", "));
      break;
    }
    default:
      return Invalid("--", argument.name, ": cannot be given as a flag; use --json");
  }
  if (!wanted.empty()) return Bad(argument.name, text, wanted);
  pb::TextFormat::Parser().ParseFieldValueFromString(value, field, message);
  return absl::OkStatus();
}

absl::Status NoSuchField(const pb::Descriptor& type, const std::string& name) {
  std::vector<std::string> known;
  for (const Field* const field : FieldsOf(type)) known.push_back("--" + KebabCase(field->name()));
  return Invalid("there is no field \"", name, "\" in ", type.name(), DidYouMean(name, known),
                 known.empty()
                     ? "\nIt has no fields."
                     : absl::StrCat("\nIts fields: ", absl::StrJoin(FieldFlags(type), " ")));
}

// The field that a flag refers to.
struct Target {
  pb::Message* message = nullptr;
  const Field* field = nullptr;
  bool is_secret = false;
  bool from_file = false;  // The value is the path of a file that contains the secret.
};

absl::StatusOr<Target> Resolve(const Catalog& catalog, absl::string_view group,
                               const std::string& name, pb::Message* request) {
  Target target = {.message = request};
  const std::vector<std::string> path = absl::StrSplit(name, '.');
  for (size_t i = 0; i < path.size(); ++i) {
    const pb::Descriptor& type = *target.message->GetDescriptor();
    target.field = FindField(type, path[i]);
    if (i + 1 == path.size()) break;
    if (target.field == nullptr) return NoSuchField(type, path[i]);
    if (target.field->message_type() == nullptr || target.field->is_repeated()) {
      return Invalid("--", name, ": ", path[i], " has no fields that can be given as flags");
    }
    target.message = target.message->GetReflection()->MutableMessage(target.message, target.field);
  }
  const pb::Descriptor& type = *target.message->GetDescriptor();
  const std::string plain = Plain(path.back());
  absl::string_view secret_name = plain;
  if (target.field == nullptr && absl::ConsumeSuffix(&secret_name, "file")) {
    target.field = FindField(type, secret_name);
    target.from_file = true;
  }
  target.is_secret = target.field != nullptr && catalog.IsSecret(group, *target.field);
  if (target.field == nullptr || (target.from_file && !target.is_secret)) {
    return NoSuchField(type, path.back());
  }
  return target;
}

}  // namespace

const Field* FindField(const pb::Descriptor& type, absl::string_view name) {
  for (const Field* const field : FieldsOf(type)) {
    if (Plain(field->name()) == Plain(name)) return field;
  }
  return nullptr;
}

std::vector<FieldFlag> FieldsAsFlags(const pb::Descriptor& type) {
  std::vector<FieldFlag> flags;
  for (const Field* const field : FieldsOf(type)) {
    const std::string flag = absl::StrCat("--", KebabCase(field->name()));
    const pb::EnumDescriptor* const values = field->enum_type();
    if (field->message_type() == nullptr) {
      flags.push_back({absl::StrCat(flag, "=",
                                    values != nullptr ? absl::StrJoin(ValueNames(*values), "|")
                                                      : absl::AsciiStrToUpper(field->type_name())),
                       field});
    } else if (!field->is_repeated()) {
      for (const FieldFlag& inner : FieldsAsFlags(*field->message_type())) {
        flags.push_back({absl::StrCat(flag, ".", inner.flag.substr(2)), inner.field});
      }
    }
  }
  return flags;
}

std::vector<std::string> FieldFlags(const pb::Descriptor& type) {
  std::vector<std::string> flags;
  for (FieldFlag& flag : FieldsAsFlags(type)) flags.push_back(std::move(flag.flag));
  return flags;
}

absl::Status SetFields(const Catalog& catalog, absl::string_view group,
                       const std::vector<FieldArgument>& arguments, const ReadSecret& read_secret,
                       pb::Message* request) {
  std::set<std::pair<const pb::Message*, const Field*>> given;
  for (FieldArgument argument : arguments) {
    ABSL_ASSIGN_OR_RETURN(const Target target, Resolve(catalog, group, argument.name, request));
    const bool first = given.emplace(target.message, target.field).second;
    if (!first && !target.field->is_repeated()) {
      return Invalid("--", argument.name, ": given twice");
    }
    const bool elsewhere =
        target.is_secret && argument.has_value && (target.from_file || argument.value == "-");
    if (elsewhere) {
      absl::StatusOr<std::string> secret = read_secret(argument.value);
      if (!secret.ok()) {
        return Invalid("--", argument.name, ": ", secret.status().message());
      }
      argument.value = *std::move(secret);
    }
    ABSL_RETURN_IF_ERROR(SetValue(argument, target.field, target.message));
  }
  return absl::OkStatus();
}

absl::Status SetFromJson(const Catalog& catalog, absl::string_view group, const std::string& json,
                         pb::Message* request) {
  const auto status = pb::util::JsonStringToMessage(json, request);
  if (status.ok()) return absl::OkStatus();
  // Withholds the parser's message if the request has a secret, because it quotes the input.
  const bool withhold = catalog.HoldsSecret(group, *request->GetDescriptor());
  return Invalid("--json: not a valid ", request->GetDescriptor()->name(),
                 withhold ? "; the error is not shown because it may contain a secret"
                          : absl::StrCat(": ", std::string(status.message())));
}

}  // namespace csi_proxy::ctl
