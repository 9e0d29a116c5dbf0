#include "client/ctl/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <functional>
#include <iterator>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace csi_proxy::ctl {
namespace {

namespace po = boost::program_options;

constexpr char kHelp[] = R"(Calls the CSI Proxy service of this node.

  csi-proxyctl GROUP METHOD [--FIELD=VALUE ...]   call an rpc, e.g. volume list-volumes-on-disk --disk-number=1
  csi-proxyctl list                               every group, version and method
  csi-proxyctl help GROUP [METHOD]                list a group's methods, or explain one: fields, example, errors
  csi-proxyctl describe [GROUP [METHOD]]          explain methods and their fields
  csi-proxyctl doctor                             ask every pipe, and each group one question of the node
  csi-proxyctl diagnose [--metrics=HOST:PORT]     find faults of the node: stale mounts, disks, mappings
  csi-proxyctl repair --what=KIND[,KIND] [--yes]  repair faults that diagnose found; shows the plan and asks first
  csi-proxyctl top --metrics=HOST:PORT            show the service's load, continuously
  csi-proxyctl selftest --disk=N [--FLAG=VALUE ...]   try every group on a real node, using that disk
  csi-proxyctl report --from=FOLDER --to=FOLDER   write node-check.ps1's report: masks names, judges doubts
  csi-proxyctl sim METHOD [--FIELD=VALUE ...]     change a simulated node from outside, e.g. sim dump-state
  csi-proxyctl completion bash|zsh|powershell     a completion script for the shell

Names may be written in any case, with or without dashes. A nested field follows a dot
(--target-portal.target-address=10.0.0.5). A flag without a value means true; repeat a flag to give
a list. A field with the same name as a flag below goes after a lone -- (sim dump-state -- --json).
Passwords and other secrets need not be on the command line: --password-file=PATH reads a file,
--password=- reads standard input.

Flags of diagnose, repair and top:
  --metrics=HOST:PORT      diagnose and top: the service's --metrics-bind-address; top needs it, and
                           diagnose for long calls, clients at a limit and of old API versions
  --what=KIND[,KIND]       repair: read-only-disks, dangling-links, and, if nothing uses them,
                           dangling-mounts, disconnected-mappings, leaked-mappings, disconnected-links;
                           of other kinds, repair only prints what to do
  --yes                    repair: do not ask; without it and without a terminal, repair only shows
  --interval=TIME          top: the time over which calls are counted, such as 5s; default 2s
  --once                   top: show once: the counts of the interval, or without --interval those
                           since the service began; JSON is always shown once
repair brings no disk online, changes neither the disk that Windows runs on nor any volume's content,
and checks each fault again just before it acts. It removes a leaked mapping if two checks, at least
5 s apart, found no link to it. A link made between the second check and the removal has no mapping
afterwards; diagnose then shows it in disconnected-links. The times that top shows are estimates from
a histogram of 1 ms to 120 s, without refused calls. The service counts calls by rpc and by client,
but not by both.

Flags of selftest:
  --disk=N                 the disk to work on, which must be raw; it is partitioned and formatted
  --disk-is-mine           use the disk even if it holds a volume, whose data is lost
  --work-dir=PATH          a directory to create, and to remove at the end; default
                           C:\var\lib\kubelet\csi-proxy-selftest
  --service=NAME           a service to query; default EventLog
  --restart-service=NAME   also stop this service and start it again
  --smb-share=PATH         also map and unmap this share (\\host\share), which the node must
  --smb-username=USER      not use; with --smb-password-file=PATH, --smb-password=-, or the
  --smb-password=...       password in $CSI_PROXY_SMB_PASSWORD
  --iscsi-portal=ADDRESS   also register this portal (address or address:port), and
  --iscsi-iqn=IQN          connect its target IQN without CHAP; both stay if they existed before
  --note=TEXT              a remark for the report, such as the node's Windows build

Flags of report, which node-check.ps1 calls:
  --from=FOLDER            read parts.json, doubts.md and, if they exist, selftest.json,
                           diagnosis.json and logs from here
  --to=FOLDER              write REPORT.md, report.json and the logs here, with names, addresses,
                           serial numbers and ids masked
  --no-redact              do not mask them

Exit codes: 0 done; 1 the call failed, doctor found no pipe that answers, a step of selftest did not
pass, a repair failed, or a check was not possible; 2 wrong usage; 3 the service cannot be reached;
4 the time ran out; 5 diagnose found a fault, or repair left one as it was.
)";

using Convert = std::function<void(const std::string& text)>;

// Returns a function that sets `*value`, and throws unless the text of the flag `name` is a
// positive duration.
Convert ToDuration(const char* name, absl::Duration* value) {
  return [name, value](const std::string& text) {
    if (absl::ParseDuration(text, value) && *value > absl::ZeroDuration()) return;
    throw po::error(
        absl::StrCat("--", name, ": \"", text, "\" is not a duration such as 500ms or 30s"));
  };
}

// Returns a function that sets `*watch`, and throws unless the text of --watch is a number of
// seconds, or a duration with a unit, from 100 ms to 24 h.
Convert ToWatch(absl::Duration* watch) {
  return [watch](const std::string& text) {
    double seconds;
    if (absl::SimpleAtod(text, &seconds)) {
      *watch = absl::Seconds(seconds);
    } else if (!absl::ParseDuration(text, watch)) {
      *watch = absl::ZeroDuration();
    }
    if (*watch >= absl::Milliseconds(100) && *watch <= absl::Hours(24)) return;
    throw po::error(absl::StrCat("--watch: \"", text,
                                 "\" is not a number of seconds, or a time, from 100ms to 24h"));
  };
}

// Throws unless the text is a value of --output.
void CheckOutput(const std::string& text) {
  if (std::find(std::begin(kOutputs), std::end(kOutputs), text) != std::end(kOutputs)) return;
  throw po::error(
      absl::StrCat("--output: \"", text, "\" is none of ", absl::StrJoin(kOutputs, ", ")));
}

// The flags, which parsing stores in `line`.
struct Flags {
  explicit Flags(CommandLine* line) : description("Flags", 100) {
    const auto text = [] { return po::value<std::string>(); };
    description.add_options()  //
        ("api", po::value(&line->api)->value_name("VERSION"),
         "API version, such as v1; default: the newest stable one that has the method")  //
        ("json", po::value(&line->json)->value_name("JSON|-"),
         "the request as JSON; - reads standard input; fields given as flags take precedence")  //
        ("output",
         po::value(&line->output)->value_name("json|yaml|table|wide|name")->notifier(&CheckOutput),
         "or -o; default: table on a terminal, json elsewhere; sim always prints json. On a "
         "terminal a table of a list has the main columns, wide has all; name prints only the "
         "names in a list")  //
        ("watch",
         text()->value_name("SECONDS")->implicit_value("2")->notifier(ToWatch(&line->watch)),
         "or -w; repeat the call at this interval until Ctrl-C, and print each answer that differs "
         "from the last; JSON as one line")  //
        ("timeout",
         text()->value_name("TIME")->default_value("1m")->notifier(
             ToDuration("timeout", &line->call.timeout)),
         "longest time of a call, such as 500ms or 30s")  //
        ("connect-timeout",
         text()->value_name("TIME")->default_value("5s")->notifier(
             ToDuration("connect-timeout", &line->client.connect_timeout)),
         "part of --timeout to wait for a service that does not answer")  //
        ("socket-dir", po::value(&line->client.socket_dir)->value_name("DIR"),
         "directory of the sockets; default: $CSI_PROXY_SOCKET_DIR, else /run/csi-proxy")  //
        ("verbose", po::bool_switch(&line->verbose),
         "or -v; print the API version that is called, and where")(
            "help", po::bool_switch(&line->help),
            "or -h; print this help, or after GROUP [METHOD] the help of these")(
            "version", po::bool_switch(&line->version), "print the version");
  }

  po::options_description description;
};

// Returns a flag in its long form: `-api=v1` as `--api=v1`, and `-v`, `-h`, `-o` and `-w` as the
// flags that they abbreviate.
std::string WithTwoDashes(const std::string& argument) {
  if (argument == "-v") return "--verbose";
  if (argument == "-h") return "--help";
  if (argument == "-o") return "--output";
  if (argument == "-w") return "--watch";
  if (absl::StartsWith(argument, "-o=")) return absl::StrCat("--output", argument.substr(2));
  if (absl::StartsWith(argument, "-w=")) return absl::StrCat("--watch", argument.substr(2));
  const bool one_dash =
      argument.size() > 1 && argument[0] == '-' && absl::ascii_isalpha(argument[1]);
  return one_dash ? "-" + argument : argument;
}

FieldArgument AsField(const std::string& flag) {
  const size_t equals = flag.find('=');
  if (equals == std::string::npos) return {flag.substr(2), "", false};
  return {flag.substr(2, equals - 2), flag.substr(equals + 1), true};
}

// Puts the program's own flags and their values into `own`, words and fields into `line`.
void Sort(const std::vector<std::string>& arguments, const po::options_description& flags,
          std::vector<std::string>* own, CommandLine* line) {
  bool only_fields = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = WithTwoDashes(arguments[i]);
    if (argument == "--") {
      only_fields = true;
      continue;
    }
    if (!absl::StartsWith(argument, "--")) {
      line->words.push_back(argument);
      continue;
    }
    FieldArgument field = AsField(argument);
    const po::option_description* const flag = flags.find_nothrow(field.name, false);
    if (only_fields || flag == nullptr) {
      line->fields.push_back(std::move(field));
      continue;
    }
    own->push_back(argument);
    const bool takes_next = !field.has_value && flag->semantic()->min_tokens() > 0;
    // Joins flag and value with `=`, because a value may begin with a dash.
    if (takes_next && i + 1 < arguments.size()) absl::StrAppend(&own->back(), "=", arguments[++i]);
  }
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  line.client.mode = Mode::kRemote;
  Flags flags(&line);
  std::vector<std::string> own;
  Sort(arguments, flags.description, &own, &line);
  try {
    po::variables_map values;
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(own)
                  .options(flags.description)
                  .style(style::allow_long | style::long_allow_adjacent)
                  .run(),
              values);
    po::notify(values);
    line.has_timeout = !values["timeout"].defaulted();
  } catch (const po::error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return line;
}

std::vector<std::string> OwnFlags() {
  CommandLine unused;
  const Flags flags(&unused);
  std::vector<std::string> names;
  for (const auto& flag : flags.description.options()) names.push_back("--" + flag->long_name());
  return names;
}

std::string HelpText() {
  CommandLine unused;
  const Flags flags(&unused);
  std::ostringstream text;
  text << kHelp << "\n" << flags.description;
  return text.str();
}

}  // namespace csi_proxy::ctl
