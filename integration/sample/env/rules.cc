#include "integration/sample/env/rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "integration/sample/env/protected_file.h"
#include "server/base/status_macros.h"
#include "server/names/unicode.h"

namespace csi_proxy::sample {
namespace {

using Context = google::protobuf::Map<std::string, std::string>;

// Variables that decide which programs and libraries the system, shells and common languages'
// runtimes run. Upper case.
constexpr absl::string_view kRefusedNames =
    " BASHOPTS BASH_ENV CLASSPATH COMSPEC DOTNET_ADDITIONAL_DEPS DOTNET_ROOT "
    "DOTNET_SHARED_STORE DOTNET_STARTUP_HOOKS ENV GCONV_PATH GLIBC_TUNABLES IFS "
    "JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS NODE_OPTIONS NODE_PATH OPENSSL_CONF OPENSSL_MODULES "
    "PATH PATHEXT PERL5LIB PERL5OPT PROGRAMDATA PROGRAMFILES PROMPT_COMMAND PSMODULEPATH "
    "PYTHONHOME PYTHONINSPECT PYTHONPATH PYTHONSTARTUP RUBYLIB RUBYOPT SHELLOPTS SYSTEMDRIVE "
    "SYSTEMROOT WINDIR _JAVA_OPTIONS __COMPAT_LAYER ";
// Prefixes of dynamic linkers' and .NET profilers' variables, and of those that the kubelet sets
// itself.
constexpr std::array<absl::string_view, 5> kRefusedPrefixes = {"LD_", "DYLD_", "COR_", "CORECLR_",
                                                               "KUBERNETES_"};

absl::Status Invalid(absl::string_view field, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", reason));
}

std::string Find(const Context& context, absl::string_view key) {
  const auto found = context.find(std::string(key));
  return found == context.end() ? std::string() : found->second;
}

bool OfLettersDigitsAnd(absl::string_view others, absl::string_view text) {
  return absl::c_all_of(
      text, [&](char c) { return absl::ascii_isalnum(c) || absl::StrContains(others, c); });
}

// Checks one of the four names of a pod, which the kubelet also puts into the volume's context.
absl::Status CheckPodField(const env::NodeGetEnvVarsRequest& request, absl::string_view name,
                           absl::string_view name_in_volume_context) {
  constexpr size_t kMaxObjectName = 253;
  const std::string field = absl::StrCat("pod_context[", name, "]");
  const std::string value = Find(request.pod_context(), name);
  if (value.empty()) return Invalid(field, "is missing");
  // Letters or digits at both ends exclude `.` and `..`, which would change the path of a secret.
  if (value.size() > kMaxObjectName || !OfLettersDigitsAnd(".-", value) ||
      !absl::ascii_isalnum(value.front()) || !absl::ascii_isalnum(value.back())) {
    return Invalid(field, "is not a name of Kubernetes");
  }
  const std::string key = absl::StrCat("csi.storage.k8s.io/", name_in_volume_context);
  const std::string context_field = absl::StrCat("volume_context[", key, "]");
  const std::string in_context = Find(request.volume_context(), key);
  if (in_context.empty()) {
    return Invalid(context_field,
                   "is missing; kubelet adds it if the CSIDriver has podInfoOnMount");
  }
  if (in_context != value) {
    return absl::PermissionDeniedError(absl::StrCat(context_field, ": is not ", field));
  }
  return absl::OkStatus();
}

absl::Status CheckPod(const env::NodeGetEnvVarsRequest& request) {
  constexpr std::array<std::pair<absl::string_view, absl::string_view>, 4> kFields = {
      {{"namespace", "pod.namespace"},
       {"serviceAccount", "serviceAccount.name"},
       {"podName", "pod.name"},
       {"podUID", "pod.uid"}}};
  for (const auto& [name, name_in_volume_context] : kFields) {
    ABSL_RETURN_IF_ERROR(CheckPodField(request, name, name_in_volume_context));
  }
  return absl::OkStatus();
}

// Checks the volume's id. CSI's limit for strings is 128 bytes.
absl::Status CheckVolume(const std::string& volume_id) {
  constexpr size_t kMaxId = 128;
  if (volume_id.empty()) return Invalid("volume_id", "is missing");
  if (volume_id.size() > kMaxId) return Invalid("volume_id", "has more than 128 bytes");
  return absl::OkStatus();
}

absl::Status CheckKey(const std::string& field, absl::string_view key) {
  if (key.empty()) return Invalid(field, "is missing");
  if (key.size() > kMaxKeyBytes || !OfLettersDigitsAnd("._-/", key)) {
    return Invalid(field, "may have 253 letters, digits, `.`, `_`, `-` and `/`");
  }
  return absl::OkStatus();
}

// Returns the keys that the volume's context lists.
absl::StatusOr<std::vector<std::string>> ReadKeys(const Context& context) {
  const std::string field = absl::StrCat("volume_context[", kEnvPrefix, "keys]");
  const std::string text = Find(context, absl::StrCat(kEnvPrefix, "keys"));
  if (text.empty()) return Invalid(field, "is missing");
  // Checks the length before the split, so that a long text does not make the split costly.
  if (text.size() > kMaxVariables * (kMaxKeyBytes + 1)) return Invalid(field, "is too long");
  std::vector<std::string> keys = absl::StrSplit(text, ',');
  if (keys.size() > kMaxVariables) return Invalid(field, "lists more than 64 keys");
  for (const std::string& key : keys) {
    ABSL_RETURN_IF_ERROR(CheckKey(field, key));
  }
  return keys;
}

absl::Status ReadProvider(const Context& context, EnvRequest* checked) {
  const auto field = [](absl::string_view name) {
    return absl::StrCat("volume_context[", kEnvPrefix, name, "]");
  };
  checked->provider = Find(context, absl::StrCat(kEnvPrefix, "provider"));
  if (checked->provider.empty()) return Invalid(field("provider"), "is missing");
  if (!absl::c_linear_search(kProviders, checked->provider)) {
    return Invalid(field("provider"), "must be `file`, `imds` or `vault`");
  }
  const absl::string_view place = checked->provider == "file"    ? "file"
                                  : checked->provider == "vault" ? "path"
                                                                 : "";
  for (const auto& [key, value] : context) {
    absl::string_view name = key;
    if (!absl::ConsumePrefix(&name, kEnvPrefix) || name == "provider" || name == "keys") continue;
    if (name != "file" && name != "path") {
      return Invalid("volume_context",
                     absl::StrCat("knows no other ", kEnvPrefix,
                                  " attributes than provider, keys, file and path"));
    }
    if (name != place) {
      return Invalid(field(name),
                     absl::StrCat("is for the provider `", name == "file" ? "file" : "vault", "`"));
    }
  }
  if (place.empty()) return absl::OkStatus();
  const std::string value = Find(context, absl::StrCat(kEnvPrefix, place));
  if (value.empty()) return Invalid(field(place), "is missing");
  const absl::Status fits = place == "file" ? CheckPlainFileName(value) : CheckSecretPath(value);
  if (!fits.ok()) return Invalid(field(place), fits.message());
  (place == "file" ? checked->file : checked->path) = value;
  return absl::OkStatus();
}

absl::Status CheckQuery(const std::string& field, const env::EnvVarQuery& query) {
  if (absl::Status s = CheckVariableName(query.name()); !s.ok()) {
    return Invalid(absl::StrCat(field, ".name"), s.message());
  }
  ABSL_RETURN_IF_ERROR(CheckKey(absl::StrCat(field, ".key"), query.key()));
  if (query.optional()) {
    return Invalid(absl::StrCat(field, ".optional"), "is not supported: all values or none");
  }
  if (!query.query_parameters().empty()) {
    return Invalid(absl::StrCat(field, ".query_parameters"), "the provider takes none");
  }
  return absl::OkStatus();
}

absl::Status ReadQueries(const env::NodeGetEnvVarsRequest& request, EnvRequest* checked) {
  if (request.queries().empty()) return Invalid("queries", "is missing");
  if (static_cast<size_t>(request.queries_size()) > kMaxVariables) {
    return Invalid("queries", "has more than 64 variables");
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> keys, ReadKeys(request.volume_context()));
  std::set<std::string> names;
  for (int i = 0; i < request.queries_size(); ++i) {
    const env::EnvVarQuery& query = request.queries(i);
    const std::string field = absl::StrCat("queries[", i, "]");
    ABSL_RETURN_IF_ERROR(CheckQuery(field, query));
    if (!names.insert(absl::AsciiStrToUpper(query.name())).second) {
      return Invalid(absl::StrCat(field, ".name"),
                     absl::StrCat(query.name(), " is asked for twice, or differs in case alone"));
    }
    if (!absl::c_linear_search(keys, query.key())) {
      return absl::PermissionDeniedError(absl::StrCat(
          field, ".key: ", query.key(), " is not in volume_context[", kEnvPrefix, "keys]"));
    }
    checked->queries.push_back({.name = query.name(), .key = query.key()});
  }
  return absl::OkStatus();
}

// Quotes a caller's text, shortened for a line of a log.
std::string Shown(absl::string_view text) {
  constexpr size_t kLongest = 128;
  const bool fits = text.size() <= kLongest;
  return absl::StrCat("\"", absl::CEscape(text.substr(0, kLongest)), fits ? "\"" : "...\"");
}

}  // namespace

absl::Status CheckVariableName(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("is missing");
  if (name.size() > kMaxVariableNameBytes) {
    return absl::InvalidArgumentError("has more than 256 bytes");
  }
  if (!OfLettersDigitsAnd("_", name) || absl::ascii_isdigit(name.front())) {
    return absl::InvalidArgumentError(
        "must be a C identifier (letters, digits and `_`, no digit in front)");
  }
  const std::string upper = absl::AsciiStrToUpper(name);
  if (absl::StrContains(kRefusedNames, absl::StrCat(" ", upper, " ")) ||
      absl::c_any_of(kRefusedPrefixes,
                     [&](absl::string_view prefix) { return absl::StartsWith(upper, prefix); })) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is refused: it decides what is run or loaded, or is kubelet's"));
  }
  return absl::OkStatus();
}

absl::Status CheckSecretPath(absl::string_view path) {
  constexpr size_t kMaxPath = 512;
  const bool fits = path.size() <= kMaxPath &&
                    absl::c_all_of(absl::StrSplit(path, '/'), [](absl::string_view name) {
                      return CheckPlainFileName(name).ok();
                    });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "is not plain names (letters, digits, `-`, `_`, `.`) between slashes");
}

absl::Status CheckValues(const std::vector<EnvQuery>& queries, const std::vector<Secret>& values) {
  if (values.size() != queries.size()) return absl::InternalError("a value is missing");
  size_t total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto invalid = [&](absl::string_view reason) {
      return Invalid(absl::StrCat("queries[", i, "].key"),
                     absl::StrCat("the value of ", queries[i].key, " ", reason));
    };
    const std::string& value = values[i].Reveal();
    if (value.size() > kMaxValueBytes) return invalid("has more than 16384 bytes");
    if (absl::StrContains(value, '\0')) return invalid("has a NUL in it");
    if (Utf16Length(value) < 0) return invalid("is not UTF-8");
    // Counts `name=value` and a NUL.
    total += queries[i].name.size() + value.size() + 2;
  }
  if (total > kMaxTotalBytes) return Invalid("queries", "all variables have more than 65536 bytes");
  return absl::OkStatus();
}

absl::StatusOr<EnvRequest> CheckEnvRequest(const env::NodeGetEnvVarsRequest& request) {
  ABSL_RETURN_IF_ERROR(CheckPod(request));
  ABSL_RETURN_IF_ERROR(CheckVolume(request.volume_id()));
  EnvRequest checked;
  checked.pod_namespace = Find(request.pod_context(), "namespace");
  checked.service_account = Find(request.pod_context(), "serviceAccount");
  ABSL_RETURN_IF_ERROR(ReadProvider(request.volume_context(), &checked));
  ABSL_RETURN_IF_ERROR(ReadQueries(request, &checked));
  return checked;
}

absl::string_view ProviderOf(const env::NodeGetEnvVarsRequest& request) {
  const std::string named = Find(request.volume_context(), absl::StrCat(kEnvPrefix, "provider"));
  const auto found = absl::c_find(kProviders, named);
  return found == kProviders.end() ? "none" : *found;
}

std::string AuditSubject(const env::NodeGetEnvVarsRequest& request) {
  const auto pod = [&request](absl::string_view name) {
    return Shown(Find(request.pod_context(), name));
  };
  const auto attribute = [&request](absl::string_view name) {
    return Shown(Find(request.volume_context(), absl::StrCat(kEnvPrefix, name)));
  };
  std::string text = absl::StrCat(
      "namespace=", pod("namespace"), " pod=", pod("podName"), " pod_uid=", pod("podUID"),
      " service_account=", pod("serviceAccount"), " volume_id=", Shown(request.volume_id()),
      " provider=", attribute("provider"), " file=", attribute("file"));
  if (request.volume_context().contains(absl::StrCat(kEnvPrefix, "path"))) {
    absl::StrAppend(&text, " path=", attribute("path"));
  }
  absl::StrAppend(&text, " variables=[");
  const int shown = std::min<int>(request.queries_size(), kMaxVariables);
  for (int i = 0; i < shown; ++i) {
    const env::EnvVarQuery& query = request.queries(i);
    absl::StrAppend(&text, i == 0 ? "" : " ", Shown(query.name()), ":", Shown(query.key()));
  }
  absl::StrAppend(&text, shown < request.queries_size() ? " ...]" : "]");
  return text;
}

}  // namespace csi_proxy::sample
