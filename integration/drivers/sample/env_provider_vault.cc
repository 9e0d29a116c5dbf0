#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "integration/drivers/sample/env_provider.h"
#include "integration/drivers/sample/protected_file.h"
#include "server/base/status_macros.h"
#include "server/http/http_client.h"

namespace csi_proxy::sample_driver {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// The driver's flags, with which error texts begin.
constexpr char kAddress[] = "--vault-address";
constexpr char kTokenFile[] = "--vault-token-file";
constexpr char kPath[] = "--vault-path";

constexpr size_t kMaxAnswerBytes = 256 * 1024;
constexpr size_t kMaxTokenBytes = 8 * 1024;

absl::Status Invalid(absl::string_view flag, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", reason));
}

// Parses an address such as `http://127.0.0.1:8200`. Refuses others than the loopback, because
// others could read the unencrypted secrets on their way.
absl::StatusOr<HostPort> ParseAddress(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "http://")) {
    return Invalid(kAddress, "must begin with http://; there is no TLS, so ask a Vault Agent here");
  }
  ABSL_ASSIGN_OR_RETURN(HostPort address, HostPort::Parse(kAddress, absl::StripSuffix(text, "/")));
  // Other names are refused, because a lookup may return any address.
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (!IsLoopback(address) || address.port == 0) {
    return Invalid(kAddress,
                   "must be a port of the loopback, as http://127.0.0.1:8200; there is no TLS");
  }
  return address;
}

absl::Status CheckTokenFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (!absl::StartsWith(path, "/")) return Invalid(kTokenFile, "must be an absolute path");
  const absl::Status name = CheckPlainFileName(path.substr(slash + 1));
  return name.ok() ? name : Invalid(kTokenFile, name.message());
}

absl::Status CheckPath(const std::string& path) {
  if (absl::Status s = CheckSecretPath(path); !s.ok()) return Invalid(kPath, s.message());
  if (absl::StrContains(path, "/data/") || absl::EndsWith(path, "/data")) return absl::OkStatus();
  return Invalid(kPath, "must be MOUNT/data or MOUNT/data/PATH, as in the API of KV version 2");
}

absl::StatusOr<Secret> ReadToken(const std::string& path) {
  const size_t slash = path.rfind('/');
  const absl::StatusOr<Secret> file = ReadProtectedFile(
      "its directory", path.substr(0, std::max<size_t>(slash, 1)), path.substr(slash + 1));
  if (!file.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(kTokenFile, ": ", file.status().message()));
  }
  const absl::string_view token = absl::StripAsciiWhitespace(file->Reveal());
  // A line end would begin another header.
  if (token.empty() || token.size() > kMaxTokenBytes ||
      !absl::c_all_of(token, absl::ascii_isgraph)) {
    return absl::FailedPreconditionError(
        absl::StrCat(kTokenFile, ": does not hold a token of up to 8192 bytes and nothing else"));
  }
  return Secret(std::string_view(token.data(), token.size()));
}

// Returns OK if `code` means that the answer holds a secret. `place` is the secret's path below
// --vault-path.
absl::Status CheckCode(int code, absl::string_view place) {
  const std::string field = absl::StrCat("volume_context[", kEnvPrefix, "path]: ");
  if (code == 200) return absl::OkStatus();
  if (code == 403) {
    return absl::PermissionDeniedError(
        absl::StrCat(field, "Vault does not let the driver's token read ", place));
  }
  // Vault returns 404 for a deleted version, too.
  if (code == 404) return absl::NotFoundError(absl::StrCat(field, "Vault has no secret ", place));
  const std::string text = absl::StrCat(kAddress, ": answers with the HTTP status ", code);
  // 429 means a quota or a standby; 5xx a sealed Vault, or one that its agent cannot reach
  // (https://developer.hashicorp.com/vault/api-docs#http-status-codes).
  if (code == 429 || code >= 500) return absl::UnavailableError(text);
  return absl::FailedPreconditionError(
      absl::StrCat(text, code / 100 == 3 ? "; redirects are not followed" : ""));
}

const Struct* Member(const Struct* object, const std::string& name) {
  if (object == nullptr) return nullptr;
  const auto found = object->fields().find(name);
  if (found == object->fields().end() || !found->second.has_struct_value()) return nullptr;
  return &found->second.struct_value();
}

void WipeStrings(Value& value) {
  if (value.has_string_value()) Wipe(*value.mutable_string_value());
  if (value.has_struct_value()) {
    for (auto& field : *value.mutable_struct_value()->mutable_fields()) WipeStrings(field.second);
  }
  if (value.has_list_value()) {
    for (Value& element : *value.mutable_list_value()->mutable_values()) WipeStrings(element);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<VaultEnvProvider>> VaultEnvProvider::Create(
    const VaultOptions& options) {
  const bool none = options.address.empty() && options.token_file.empty() && options.path.empty();
  HostPort address;
  if (!none) {
    ABSL_ASSIGN_OR_RETURN(address, ParseAddress(options.address));
    ABSL_RETURN_IF_ERROR(CheckTokenFile(options.token_file));
    ABSL_RETURN_IF_ERROR(CheckPath(options.path));
    if (!options.allow_loopback) {
      return Invalid(
          kAddress,
          "any process of the node may listen on that port while Vault's agent does not, "
          "and get the token; --vault-allow-loopback accepts that");
    }
  }
  return std::unique_ptr<VaultEnvProvider>(new VaultEnvProvider(options, std::move(address)));
}

absl::StatusOr<std::vector<Secret>> VaultEnvProvider::Get(const EnvRequest& request,
                                                          const CallOptions& call) {
  if (options_.address.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the provider `vault` needs the driver's flag ", kAddress));
  }
  ABSL_ASSIGN_OR_RETURN(const Secret token, ReadToken(options_.token_file));
  const std::string place =
      absl::StrCat(request.pod_namespace, "/", request.service_account, "/", request.path);
  const bool limited = call.timeout > absl::ZeroDuration();
  const absl::StatusOr<HttpReply> reply =
      HttpGet({.address = address_,
               .target = absl::StrCat("/v1/", options_.path, "/", place),
               // X-Vault-Request shows the agent that the request does not come from a browser.
               .headers = {{"X-Vault-Token", token}, {"X-Vault-Request", Secret("true")}},
               .subject = "Vault",
               .timeout = limited ? std::min(call.timeout, options_.timeout) : options_.timeout,
               .max_bytes = kMaxAnswerBytes});
  if (!reply.ok()) {
    const bool large = absl::IsResourceExhausted(reply.status());
    return absl::Status(large ? absl::StatusCode::kFailedPrecondition : reply.status().code(),
                        absl::StrCat(kAddress, ": ", reply.status().message()));
  }
  ABSL_RETURN_IF_ERROR(CheckCode(reply->code, place));
  Struct answer;
  const absl::Cleanup wipe = [&answer] {
    for (auto& field : *answer.mutable_fields()) WipeStrings(field.second);
  };
  // Drops protobuf's error text, which quotes the input and thereby secrets.
  const bool json = google::protobuf::util::JsonStringToMessage(reply->body.Reveal(), &answer).ok();
  const Struct* const secret = json ? Member(Member(&answer, "data"), "data") : nullptr;
  if (secret == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(kAddress, ": the answer is not a secret of KV version 2"));
  }
  std::vector<Secret> values;
  for (size_t i = 0; i < request.queries.size(); ++i) {
    const std::string& key = request.queries[i].key;
    const std::string field = absl::StrCat("queries[", i, "].key: ", key);
    const auto found = secret->fields().find(key);
    if (found == secret->fields().end()) {
      return absl::NotFoundError(absl::StrCat(field, " is not in ", place));
    }
    if (!found->second.has_string_value()) {
      return absl::FailedPreconditionError(absl::StrCat(field, " is not a string in ", place));
    }
    values.emplace_back(found->second.string_value());
  }
  return values;
}

}  // namespace csi_proxy::sample_driver
