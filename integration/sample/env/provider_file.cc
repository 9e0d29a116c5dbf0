#include <google/protobuf/util/json_util.h>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "integration/sample/env/protected_file.h"
#include "integration/sample/env/provider.h"
#include "server/base/status_macros.h"
#include "server/names/unicode.h"

namespace csi_proxy::sample {
namespace {

bool MayRead(const env::EnvFile& file, const EnvRequest& request) {
  return absl::c_any_of(file.readers(), [&request](const env::EnvFileReader& reader) {
    return reader.namespace_() == request.pod_namespace &&
           (reader.service_account() == "*" || reader.service_account() == request.service_account);
  });
}

}  // namespace

absl::StatusOr<std::vector<Secret>> FileEnvProvider::Get(const EnvRequest& request,
                                                         const CallOptions& /*call*/) {
  if (directory_.empty()) {
    return absl::FailedPreconditionError(
        "the provider `file` needs the driver's flag --env-directory");
  }
  ABSL_ASSIGN_OR_RETURN(const Secret json,
                        ReadProtectedFile("--env-directory", directory_, request.file));
  const absl::StatusOr<absl::string_view> text = WithoutByteOrderMark(json.Reveal());
  if (!text.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("file ", request.file, ": ", text.status().message()));
  }
  env::EnvFile file;
  const absl::Cleanup wipe = [&file] {
    for (auto& variable : *file.mutable_variables()) Wipe(variable.second);
  };
  // Passes the text uncopied, because a copy would not be wiped.
  if (!google::protobuf::util::JsonStringToMessage({text->data(), text->size()}, &file).ok()) {
    // Drops protobuf's message, which quotes the text around the error and so perhaps a secret.
    return absl::FailedPreconditionError(
        absl::StrCat("file ", request.file, ": is not JSON of `readers` and `variables`"));
  }
  // Checks the reader before it looks up a key, so that other pods do not learn which keys exist.
  if (!MayRead(file, request)) {
    return absl::PermissionDeniedError(absl::StrCat("file ", request.file, ": has no reader ",
                                                    request.pod_namespace, "/",
                                                    request.service_account));
  }
  std::vector<Secret> values;
  for (size_t i = 0; i < request.queries.size(); ++i) {
    const std::string& key = request.queries[i].key;
    const auto found = file.variables().find(key);
    if (found == file.variables().end()) {
      return absl::NotFoundError(
          absl::StrCat("queries[", i, "].key: ", key, " is not in file ", request.file));
    }
    values.emplace_back(found->second);
  }
  return values;
}

}  // namespace csi_proxy::sample
