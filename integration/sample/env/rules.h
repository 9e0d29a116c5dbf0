// Checks requests for environment variables and their answers, as far as this needs no file and no
// node.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "integration/sample/env/env.pb.h"
#include "server/base/secret.h"

namespace csi_proxy::sample {

namespace env = csi_proxy::experimental::env::v1alpha1;

inline constexpr size_t kMaxVariables = 64;
inline constexpr size_t kMaxVariableNameBytes = 256;
inline constexpr size_t kMaxKeyBytes = 253;
// The limits of the draft's kubelet for drivers that set none. Both fit Windows: a variable may
// have 32,767 characters
// (https://learn.microsoft.com/windows/win32/procthread/environment-variables), and some programs
// refuse to start another with more than 65,535 bytes in all
// (https://devblogs.microsoft.com/oldnewthing/20230404-00/?p=108009).
inline constexpr size_t kMaxValueBytes = 16 * 1024;
inline constexpr size_t kMaxTotalBytes = 64 * 1024;

// The prefix of the keys in volume_context that describe the provider.
inline constexpr absl::string_view kEnvPrefix = "env.csi-proxy.example/";

inline constexpr std::array<absl::string_view, 3> kProviders = {"file", "imds", "vault"};

struct EnvQuery {
  std::string name, key;
};

struct EnvRequest {
  std::string pod_namespace, service_account;
  std::string provider;  // one of kProviders
  std::string file;      // the plain name of a file; for the provider `file`
  std::string path;      // plain names between slashes; for the provider `vault`
  std::vector<EnvQuery> queries;
};

// Returns INVALID_ARGUMENT for a part that is missing, malformed, too large or unknown,
// PERMISSION_DENIED for a part that contradicts the volume's context or is not among its keys.
// Errors begin with the field.
absl::StatusOr<EnvRequest> CheckEnvRequest(const env::NodeGetEnvVarsRequest& request);

// Returns INVALID_ARGUMENT for a variable that decides which programs are run or loaded, ignoring
// case as Windows does, and for a name that is not a C identifier. Every version of Kubernetes
// accepts C identifiers; 1.34 and later accept any printable ASCII but `=`
// (https://www.kubernetes.dev/resources/keps/4369/).
absl::Status CheckVariableName(absl::string_view name);

// Returns INVALID_ARGUMENT unless `path` consists of plain names (CheckPlainFileName()) between
// single slashes, so that it cannot lead outside.
absl::Status CheckSecretPath(absl::string_view path);

// Returns OK if `values`, one for each query, are UTF-8 without NUL and within the limits.
absl::Status CheckValues(const std::vector<EnvQuery>& queries, const std::vector<Secret>& values);

// Returns the provider that the request names, or `none` if it is not in kProviders: a caller
// cannot choose the text.
absl::string_view ProviderOf(const env::NodeGetEnvVarsRequest& request);

// Returns `pod="ns/name" ... names="A,B" keys="a,b"` for an audit line: the request's names,
// escaped and shortened, even if they are invalid. Contains no values and nothing else of
// volume_context.
std::string AuditSubject(const env::NodeGetEnvVarsRequest& request);

}  // namespace csi_proxy::sample
