// Checks what a request for environment variables may ask for, and what the answer may hold. Here
// is everything that needs no file and no node.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "integration/drivers/sample/env.pb.h"
#include "server/base/secret.h"

namespace csi_proxy::sample_driver {

namespace env = csi_proxy::experimental::env::v1alpha1;

inline constexpr size_t kMaxVariables = 64;
inline constexpr size_t kMaxVariableNameBytes = 256;
inline constexpr size_t kMaxKeyBytes = 253;
// The next two are what the draft's kubelet takes from a driver that does not say otherwise. They
// fit Windows: one variable may have 32,767 characters
// (https://learn.microsoft.com/windows/win32/procthread/environment-variables), and some programs
// refuse to start another with more than 65,535 bytes in all
// (https://devblogs.microsoft.com/oldnewthing/20230404-00/?p=108009).
inline constexpr size_t kMaxValueBytes = 16 * 1024;
inline constexpr size_t kMaxTotalBytes = 64 * 1024;

// The keys with which volume_context speaks of the provider begin so.
inline constexpr absl::string_view kEnvPrefix = "env.csi-proxy.example/";

inline constexpr std::array<absl::string_view, 3> kProviders = {"file", "imds", "vault"};

struct EnvQuery {
  std::string name, key;
};

// A request that was checked.
struct EnvRequest {
  std::string pod_namespace, service_account;
  std::string provider;  // one of kProviders
  std::string file;      // the plain name of a file; for the provider `file`
  std::string path;      // plain names between slashes; for the provider `vault`
  std::vector<EnvQuery> queries;
};

// INVALID_ARGUMENT for a part that is missing, malformed, too large or unknown; PERMISSION_DENIED
// for a part that contradicts the volume's context or is not among its keys. Begins with the field.
absl::StatusOr<EnvRequest> CheckEnvRequest(const env::NodeGetEnvVarsRequest& request);

// INVALID_ARGUMENT unless a variable may be called so: a C identifier, which every version of
// Kubernetes accepts (since 1.34 any printable ASCII but `=` is,
// https://www.kubernetes.dev/resources/keps/4369/), that does not decide what programs are run or
// loaded, in any case of its letters, as Windows does not tell them apart.
absl::Status CheckVariableName(absl::string_view name);

// INVALID_ARGUMENT unless `path` is plain names (CheckPlainFileName()) between single slashes,
// which lead nowhere but further in.
absl::Status CheckSecretPath(absl::string_view path);

// OK if `values`, one for each query, may be set: UTF-8 without NUL, within the limits.
absl::Status CheckValues(const std::vector<EnvQuery>& queries, const std::vector<Secret>& values);

// The provider that the request names, or `none` if it names none of kProviders: so a caller cannot
// choose the text.
absl::string_view ProviderOf(const env::NodeGetEnvVarsRequest& request);

// `pod="ns/name" ... names="A,B" keys="a,b"` for an audit line: what was asked, escaped and
// shortened, whether it can be granted or not. No values, nor the rest of volume_context.
std::string AuditSubject(const env::NodeGetEnvVarsRequest& request);

}  // namespace csi_proxy::sample_driver
