// csi-proxyctl: calls any rpc of any released version from a command line.
#include <unistd.h>

#include <boost/program_options.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/commands.h"
#include "server/version.h"

namespace csi_proxy::ctl {
namespace {

namespace po = boost::program_options;

constexpr char kUsageText[] =
    R"(csi-proxyctl GROUP METHOD [--FIELD=VALUE ...]   call an rpc, as: volume list-volumes-on-disk --disk-number=1
csi-proxyctl list                               every group, version and method
csi-proxyctl describe [GROUP [METHOD]]          what they do and take
csi-proxyctl doctor                             which pipes answer, and how fast
csi-proxyctl sim METHOD [--FIELD=VALUE ...]     act on a simulated node from outside, as: sim dump-state
csi-proxyctl completion bash|zsh                completion script for a shell

Names are written in any case, with dashes or without. Nested fields follow a dot
(--target-portal.target-address=10.0.0.5). A password is read from a file with --password-file=PATH
and from standard input with --password=-.

Exit codes: 0 done, 1 the call failed, 2 wrong usage, 3 the service cannot be reached, 4 out of time.
)";

int Run(int argc, char** argv) {
  CommonOptions options;
  std::string timeout, connect_timeout;
  bool help = false, version = false;
  po::options_description flags("Flags", 100);
  flags.add_options()("api", po::value(&options.api)->value_name("VERSION"),
                      "API version, as v1; default the newest stable one that has the method")(
      "json", po::value(&options.json)->value_name("JSON|-"),
      "the request as JSON; - reads standard input")(
      "output", po::value(&options.output)->value_name("json|table"),
      "default table on a terminal, else json")(
      "timeout", po::value(&timeout)->value_name("TIME")->default_value("1m"),
      "how long a call may take")(
      "connect-timeout", po::value(&connect_timeout)->value_name("TIME")->default_value("5s"),
      "how long to wait for a service that does not answer")(
      "socket-dir", po::value(&options.client.socket_dir)->value_name("DIR"),
      "where the sockets stand; default $CSI_PROXY_SOCKET_DIR, else /run/csi-proxy")(
      "verbose", po::bool_switch(&options.verbose), "say what is called")(
      "help", po::bool_switch(&help), "print this")("version", po::bool_switch(&version),
                                                    "print the version");

  // Go's single dash is a double one; whatever is no flag of ours is a field of the request.
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool one_dash = argument.size() > 1 && argument[0] == '-' &&
                          absl::ascii_isalpha(static_cast<unsigned char>(argument[1]));
    arguments.push_back(one_dash ? "-" + argument : argument);
  }
  std::vector<std::string> own, words;
  std::vector<FieldArgument> fields;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!absl::StartsWith(argument, "--")) {
      words.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const po::option_description* const flag = flags.find_nothrow(name, false);
    if (flag == nullptr) {
      fields.push_back({name, equals == std::string::npos ? "" : argument.substr(equals + 1),
                        equals != std::string::npos});
      continue;
    }
    own.push_back(argument);
    const bool takes_next = equals == std::string::npos && flag->semantic()->max_tokens() > 0;
    if (takes_next && i + 1 < arguments.size()) own.push_back(arguments[++i]);
  }
  try {
    po::variables_map values;
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(own)
                  .options(flags)
                  .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    std::cerr << error.what() << "\n";
    return kUsage;
  }
  if (help) {
    std::cout << kUsageText << "\n" << flags;
    return kOk;
  }
  if (version) {
    std::cout << "csi-proxyctl " << kVersion << "\n";
    return kOk;
  }
  for (const auto& [flag, text, out] :
       {std::tuple{"timeout", &timeout, &options.client.call.timeout},
        std::tuple{"connect-timeout", &connect_timeout, &options.client.connect_timeout}}) {
    if (!absl::ParseDuration(*text, out) || *out <= absl::ZeroDuration()) {
      std::cerr << "--" << flag << ": \"" << *text << "\" is not a duration such as 500ms or 30s\n";
      return kUsage;
    }
  }
  if (options.output.empty()) options.output = isatty(STDOUT_FILENO) ? "table" : "json";
  if (options.output != "json" && options.output != "table") {
    std::cerr << "--output: \"" << options.output << "\" is neither json nor table\n";
    return kUsage;
  }
  if (words.empty()) {
    std::cerr << kUsageText << "\n" << flags;
    return kUsage;
  }
  const Catalog catalog;
  const std::string command = words[0];
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (command == "list") return List(catalog, std::cout);
  if (command == "describe") return Describe(catalog, options, rest, std::cout, std::cerr);
  if (command == "doctor") return Doctor(catalog, options, std::cout);
  if (command == "completion") return Complete(catalog, rest, std::cout, std::cerr);
  if (rest.size() != 1) {
    std::cerr << (rest.empty() ? "name a method: " : "too many words: ")
              << "csi-proxyctl GROUP METHOD [--FIELD=VALUE ...]; `csi-proxyctl describe " << command
              << "` lists the methods\n";
    return kUsage;
  }
  return Call(catalog, options, command, rest[0], fields, std::cout, std::cerr);
}

}  // namespace
}  // namespace csi_proxy::ctl

int main(int argc, char** argv) { return csi_proxy::ctl::Run(argc, argv); }
