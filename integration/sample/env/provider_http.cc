#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "integration/sample/env/protected_file.h"
#include "integration/sample/env/provider.h"
#include "server/base/status_macros.h"
#include "server/http/http_client.h"

namespace csi_proxy::sample {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// The driver's flags, with which error texts begin.
constexpr char kAddress[] = "--vault-address";
constexpr char kTokenFile[] = "--vault-token-file";
constexpr char kPath[] = "--vault-path";
constexpr char kImdsAddress[] = "--imds-address";

constexpr size_t kMaxAnswerBytes = 256 * 1024;
constexpr size_t kMaxTokenBytes = 8 * 1024;

// The keys of the provider `imds`, with their paths below /latest/meta-data
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-metadata.html).
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 6> kMetadata = {
    {{"availabilityZone", "placement/availability-zone"},
     {"instanceId", "instance-id"},
     {"instanceType", "instance-type"},
     {"localHostname", "local-hostname"},
     {"localIPv4", "local-ipv4"},
     {"region", "placement/region"}}};

absl::Status Invalid(absl::string_view flag, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", reason));
}

// Returns true if `text` can be a token in a header. A line end would begin another header.
bool IsHeaderValue(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenBytes &&
         absl::c_all_of(text, absl::ascii_isgraph);
}

// Parses an address such as `http://127.0.0.1:8200`. Refuses addresses outside the loopback,
// because the secrets are not encrypted on their way.
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
  if (!IsHeaderValue(token)) {
    return absl::FailedPreconditionError(
        absl::StrCat(kTokenFile, ": does not hold a token of up to 8192 bytes and nothing else"));
  }
  return Secret(std::string_view(token.data(), token.size()));
}

// Sends the request, with the shorter of `limit` and the call's timeout. Errors begin with `flag`.
absl::StatusOr<HttpReply> Ask(absl::string_view flag, const CallOptions& call, absl::Duration limit,
                              HttpQuestion question) {
  question.timeout = call.timeout > absl::ZeroDuration() ? std::min(call.timeout, limit) : limit;
  question.max_bytes = kMaxAnswerBytes;
  absl::StatusOr<HttpReply> reply = AskHttp(question);
  if (reply.ok()) return reply;
  const bool large = absl::IsResourceExhausted(reply.status());
  return absl::Status(large ? absl::StatusCode::kFailedPrecondition : reply.status().code(),
                      absl::StrCat(flag, ": ", reply.status().message()));
}

// Returns the error for any other code. 429 means a quota or a standby; 5xx a sealed Vault, or one
// that its agent cannot reach (https://developer.hashicorp.com/vault/api-docs#http-status-codes).
absl::Status OtherCode(absl::string_view flag, int code) {
  const std::string text = absl::StrCat(flag, ": answers with the HTTP status ", code);
  if (code == 429 || code >= 500) return absl::UnavailableError(text);
  return absl::FailedPreconditionError(
      absl::StrCat(text, code / 100 == 3 ? "; redirects are not followed" : ""));
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
  return OtherCode(kAddress, code);
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
  ABSL_ASSIGN_OR_RETURN(
      const HttpReply reply,
      Ask(kAddress, call, options_.timeout,
          {.address = address_,
           .target = absl::StrCat("/v1/", options_.path, "/", place),
           // X-Vault-Request shows the agent that the request does not come from a browser.
           .headers = {{"X-Vault-Token", token}, {"X-Vault-Request", Secret("true")}},
           .subject = "Vault"}));
  ABSL_RETURN_IF_ERROR(CheckCode(reply.code, place));
  Struct answer;
  const absl::Cleanup wipe = [&answer] {
    for (auto& field : *answer.mutable_fields()) WipeStrings(field.second);
  };
  // Drops protobuf's error text, which quotes the input and thereby secrets.
  const bool json = google::protobuf::util::JsonStringToMessage(reply.body.Reveal(), &answer).ok();
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

absl::StatusOr<std::unique_ptr<ImdsEnvProvider>> ImdsEnvProvider::Create(
    const std::string& address) {
  ABSL_ASSIGN_OR_RETURN(HostPort parsed, HostPort::Parse(kImdsAddress, address));
  if (!IsLoopback(parsed) && parsed.host != "169.254.169.254" && parsed.host != "fd00:ec2::254") {
    return Invalid(kImdsAddress, "must be 169.254.169.254, [fd00:ec2::254] or a loopback address");
  }
  return std::unique_ptr<ImdsEnvProvider>(new ImdsEnvProvider(std::move(parsed)));
}

absl::StatusOr<std::vector<Secret>> ImdsEnvProvider::Get(const EnvRequest& request,
                                                         const CallOptions& call) {
  constexpr absl::Duration kTimeout = absl::Seconds(1);
  const auto ask = [&](HttpQuestion question) -> absl::StatusOr<HttpReply> {
    question.address = address_;
    question.subject = "instance metadata";
    return Ask(kImdsAddress, call, kTimeout, std::move(question));
  };
  std::vector<absl::string_view> paths;
  for (size_t i = 0; i < request.queries.size(); ++i) {
    const auto* const found = absl::c_find_if(
        kMetadata, [&](const auto& row) { return row.first == request.queries[i].key; });
    if (found == kMetadata.end()) {
      return absl::NotFoundError(absl::StrCat("queries[", i, "].key: ", request.queries[i].key,
                                              " is not a fact that the provider `imds` gives"));
    }
    paths.push_back(found->second);
  }
  ABSL_ASSIGN_OR_RETURN(const HttpReply token,
                        ask({.target = "/latest/api/token",
                             .put = true,
                             .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", Secret("60")}}}));
  if (token.code != 200) return OtherCode(kImdsAddress, token.code);
  if (!IsHeaderValue(token.body.Reveal())) {
    return absl::FailedPreconditionError(absl::StrCat(kImdsAddress, ": answers without a token"));
  }
  std::vector<Secret> values;
  for (size_t i = 0; i < paths.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(HttpReply value,
                          ask({.target = absl::StrCat("/latest/meta-data/", paths[i]),
                               .headers = {{"X-aws-ec2-metadata-token", token.body}}}));
    if (value.code == 404) {
      return absl::NotFoundError(
          absl::StrCat("queries[", i, "].key: this instance has no ", request.queries[i].key));
    }
    if (value.code != 200) return OtherCode(kImdsAddress, value.code);
    values.push_back(std::move(value.body));
  }
  return values;
}

}  // namespace csi_proxy::sample
