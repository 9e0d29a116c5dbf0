#include "client/ctl/commands.h"

#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/ctl/output.h"
#include "client/remote_call.h"
#include "client/remote_channel.h"

namespace csi_proxy::ctl {
namespace {

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::shared_ptr<client::RemoteChannel>> OpenFor(const Method& method,
                                                               const ClientOptions& options) {
  if (!method.version.empty()) {
    return client::RemoteChannel::Open(options, method.group, method.version);
  }
  return client::RemoteChannel::OpenPath(
      options, absl::StrCat(client::SocketDirectory(options), "/admin.sock"));
}

// What a person may try next; empty when the text says it all.
std::string Hint(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return "`csi-proxyctl doctor` tells which pipes answer.";
    case absl::StatusCode::kPermissionDenied:
      return "Calls may touch the service's working directories alone (its --working-dir).";
    case absl::StatusCode::kDeadlineExceeded:
      return "A longer --timeout may help.";
    case absl::StatusCode::kResourceExhausted:
      return "The service is busy; try again.";
    default:
      return "";
  }
}

}  // namespace

int Complain(const absl::Status& status, std::ostream& err) {
  err << "error: " << absl::StatusCodeToString(status.code()) << ": " << status.message() << "\n";
  if (const std::string hint = Hint(status); !hint.empty()) err << "hint: " << hint << "\n";
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return kUnreachable;
    case absl::StatusCode::kDeadlineExceeded:
      return kDeadline;
    default:
      return kCallFailed;
  }
}

int List(const Catalog& catalog, std::ostream& out) {
  for (const std::string& group : catalog.Groups()) {
    for (const std::string& version : catalog.Versions(group)) {
      std::vector<std::string> names;
      for (const Method& method : catalog.Methods(group, version)) {
        names.push_back(method.descriptor->name());
      }
      out << group << " " << version << ": " << absl::StrJoin(names, " ") << "\n";
    }
  }
  return kOk;
}

int Describe(const Catalog& catalog, const CommonOptions& options,
             const std::vector<std::string>& names, std::ostream& out, std::ostream& err) {
  if (names.empty()) return List(catalog, out);
  std::vector<Method> methods;
  if (names.size() >= 2) {
    const absl::StatusOr<Method> method = catalog.Find(names[0], names[1], options.api);
    if (!method.ok()) {
      err << method.status().message() << "\n";
      return kUsage;
    }
    methods.push_back(*method);
  } else {
    const std::vector<std::string> versions = catalog.Versions(Plain(names[0]));
    if (!versions.empty()) {
      methods = catalog.Methods(Plain(names[0]), options.api.empty() ? versions[0] : options.api);
    }
  }
  if (methods.empty()) {
    err << "there is no group \"" << names[0]
        << "\" of that version; there are: " << absl::StrJoin(catalog.Groups(), ", ") << "\n";
    return kUsage;
  }
  for (const Method& method : methods) {
    out << method.group << " " << method.version << " " << method.descriptor->name() << "\n";
    if (const std::string text = Comment(*method.descriptor); !text.empty()) {
      out << "  " << text << "\n";
    }
    for (const auto& [title, type] : {std::pair{"request", method.descriptor->input_type()},
                                      std::pair{"response", method.descriptor->output_type()}}) {
      out << "  " << title << " " << type->name()
          << (type->field_count() == 0 ? ": empty\n" : "\n");
      for (int i = 0; i < type->field_count(); ++i) {
        const pb::FieldDescriptor& field = *type->field(i);
        out << "    " << field.name() << " (" << field.type_name() << ") " << Comment(field)
            << "\n";
      }
    }
    const std::vector<std::string> flags = FieldFlags(*method.descriptor->input_type());
    out << "  csi-proxyctl " << method.group << " " << method.descriptor->name()
        << (method.version.empty() ? "" : " --api " + method.version) << (flags.empty() ? "" : " ")
        << absl::StrJoin(flags, " ") << "\n\n";
  }
  return kOk;
}

int Doctor(const Catalog& catalog, const CommonOptions& options, std::ostream& out) {
  int answering = 0;
  ClientOptions client = options.client;
  client.connect_timeout = std::min(client.connect_timeout, absl::Seconds(2));
  const std::string directory = client::SocketDirectory(client);
  out << "pipes in " << directory << "\n";
  for (const std::string& group : catalog.Groups()) {
    for (const std::string& version : catalog.Versions(group)) {
      out << "  " << group << " " << version << ": ";
      const absl::Time start = absl::Now();
      const auto channel = client::RemoteChannel::Open(client, group, version);
      absl::Status status = channel.status();
      absl::Duration connected, answered;
      if (status.ok()) {
        const CallContext context =
            client::MakeCallContext(client.call, {.timeout = absl::Seconds(5)});
        status = (*channel)->Connected(context).status();
        connected = absl::Now() - start;
        if (status.ok()) {
          // Health has one field, the service's name; an empty message asks for the whole server.
          const auto empty =
              catalog.New(catalog.Methods(group, version)[0].descriptor->input_type());
          const auto reply = catalog.New(catalog.Methods("sim", "")[0].descriptor->output_type());
          const absl::Time asked = absl::Now();
          status = client::CallUnary(**channel, "/grpc.health.v1.Health/Check", context, *empty,
                                     reply.get());
          answered = absl::Now() - asked;
        }
      }
      if (status.ok()) {
        ++answering;
        out << "answers (connected in "
            << absl::FormatDuration(absl::Trunc(connected, absl::Microseconds(1)))
            << ", answered in "
            << absl::FormatDuration(absl::Trunc(answered, absl::Microseconds(1))) << ")\n";
      } else {
        out << "no answer: " << status.message() << "\n";
      }
    }
  }
  out << answering << " pipes answer\n";
  return answering > 0 ? kOk : kUnreachable;
}

int Call(const Catalog& catalog, const CommonOptions& options, const std::string& group,
         const std::string& name, const std::vector<FieldArgument>& fields, std::ostream& out,
         std::ostream& err) {
  const absl::StatusOr<Method> method = catalog.Find(group, name, options.api);
  if (!method.ok()) {
    err << method.status().message() << "\n";
    return kUsage;
  }
  const std::unique_ptr<pb::Message> request = catalog.New(method->descriptor->input_type());
  if (!options.json.empty()) {
    absl::StatusOr<std::string> json = options.json == "-" ? ReadAll("-") : options.json;
    if (!json.ok()) return Complain(json.status(), err);
    const auto parsed = pb::util::JsonStringToMessage(*json, request.get());
    if (!parsed.ok()) {
      err << "--json: " << std::string(parsed.message()) << "\n";
      return kUsage;
    }
  }
  if (absl::Status s = SetFields(catalog, method->group, fields, ReadAll, request.get()); !s.ok()) {
    err << s.message() << "\n";
    return kUsage;
  }
  const auto channel = OpenFor(*method, options.client);
  if (!channel.ok()) return Complain(channel.status(), err);
  if (options.verbose) err << "calling " << method->path() << " on " << (*channel)->path() << "\n";
  const std::unique_ptr<pb::Message> response = catalog.New(method->descriptor->output_type());
  const absl::Status status =
      client::CallUnary(**channel, method->path().c_str(),
                        client::MakeCallContext(options.client.call, {}), *request, response.get());
  if (!status.ok()) return Complain(status, err);
  if (options.output == "table") {
    out << ToTable(*response);
    return kOk;
  }
  const absl::StatusOr<std::string> json = ToJson(*response);
  if (!json.ok()) return Complain(json.status(), err);
  out << *json;
  return kOk;
}

int Complete(const Catalog& catalog, const std::vector<std::string>& names, std::ostream& out,
             std::ostream& err) {
  if (names.size() != 1 || (names[0] != "bash" && names[0] != "zsh")) {
    err << "completion: name the shell, bash or zsh\n";
    return kUsage;
  }
  if (names[0] == "zsh") out << "autoload -U +X bashcompinit && bashcompinit\n";
  out << "_csi_proxyctl() {\n  local cur=${COMP_WORDS[COMP_CWORD]} words\n"
         "  case \"${COMP_WORDS[1]}:$COMP_CWORD\" in\n    *:1) words=\""
      << absl::StrJoin(catalog.Groups(), " ") << " sim list describe doctor completion\" ;;\n";
  std::vector<std::string> groups = catalog.Groups();
  groups.push_back("sim");
  for (const std::string& group : groups) {
    std::vector<std::string> methods;
    std::string cases;
    for (const std::string& version : catalog.Versions(group)) {
      for (const Method& method : catalog.Methods(group, version)) {
        const std::string& method_name = method.descriptor->name();
        if (std::find(methods.begin(), methods.end(), method_name) != methods.end()) continue;
        methods.push_back(method_name);
        std::vector<std::string> flags;
        for (const std::string& flag : FieldFlags(*method.descriptor->input_type())) {
          flags.push_back(flag.substr(0, flag.find('=') + 1));
        }
        absl::StrAppend(&cases, "        ", method_name, ") words=\"", absl::StrJoin(flags, " "),
                        " --api --json --output --socket-dir --timeout\" ;;\n");
      }
    }
    out << "    " << group << ":2) words=\"" << absl::StrJoin(methods, " ") << "\" ;;\n    "
        << group << ":*) case \"${COMP_WORDS[2]}\" in\n"
        << cases << "      esac ;;\n";
  }
  out << "    describe:2) words=\"" << absl::StrJoin(groups, " ")
      << "\" ;;\n    completion:2) words=\"bash zsh\" ;;\n  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n}\n"
         "complete -F _csi_proxyctl csi-proxyctl\n";
  return kOk;
}

}  // namespace csi_proxy::ctl
