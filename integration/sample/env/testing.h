#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "integration/sample/env/env.pb.h"

namespace csi_proxy::sample {

inline constexpr char kContext[] = "env.csi-proxy.example/";

// Returns the kubelet's request for DB_USER and DB_PASSWORD from the file db.json, for the pod
// production/app-0 with the account app.
inline experimental::env::v1alpha1::NodeGetEnvVarsRequest GoodRequest() {
  experimental::env::v1alpha1::NodeGetEnvVarsRequest request;
  request.set_volume_id("csi-0123456789");
  auto& pod = *request.mutable_pod_context();
  auto& context = *request.mutable_volume_context();
  pod["namespace"] = context["csi.storage.k8s.io/pod.namespace"] = "production";
  pod["serviceAccount"] = context["csi.storage.k8s.io/serviceAccount.name"] = "app";
  pod["podName"] = context["csi.storage.k8s.io/pod.name"] = "app-0";
  pod["podUID"] = context["csi.storage.k8s.io/pod.uid"] = "0f5a1cbe-1234-4a6b-9a57-3c2b1d0e9f88";
  context["csi.storage.k8s.io/ephemeral"] = "true";
  context["env.csi-proxy.example/provider"] = "file";
  context["env.csi-proxy.example/file"] = "db.json";
  context["env.csi-proxy.example/keys"] = "username,password";
  for (const auto& [name, key] : {std::pair("DB_USER", "username"), {"DB_PASSWORD", "password"}}) {
    auto& query = *request.add_queries();
    query.set_name(name);
    query.set_key(key);
  }
  return request;
}

// Secrets that no log, error or audit line may show.
inline constexpr char kSecret[] = "hunter2-7f3a9c51d0";
inline constexpr char kToken[] = "eyJhbGciOiJSUzI1NiJ9-token-of-the-account";

// The driver's token for Vault, which is secret as well.
inline constexpr char kVaultToken[] = "hvs.CAESIJ-token-of-the-driver";

// Changes `request` to ask for a secret of Vault instead of a file.
inline void AskVault(experimental::env::v1alpha1::NodeGetEnvVarsRequest* request) {
  auto& context = *request->mutable_volume_context();
  context["env.csi-proxy.example/provider"] = "vault";
  context["env.csi-proxy.example/path"] = "databases/main";
  context.erase("env.csi-proxy.example/file");
}

// Returns Vault's answer to the request of AskVault(), with the documented members
// (https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2#read-secret-version).
inline std::string GoodVaultAnswer() {
  return std::string(R"({"request_id":"1a","lease_id":"","renewable":false,"lease_duration":0,)"
                     R"("data":{"data":{"username":"admin","port":5432,"password":")") +
         kSecret +
         R"("},"metadata":{"created_time":"2026-11-25T02:24:06.945319214Z","custom_metadata":null,)"
         R"("deletion_time":"","destroyed":false,"version":2}},)"
         R"("wrap_info":null,"warnings":null,"auth":null})";
}

// Returns a file that GoodRequest() may read.
inline std::string GoodFile() {
  return std::string(R"({"readers": [{"namespace": "production", "serviceAccount": "app"}],
                        "variables": {"username": "admin", "password": ")") +
         kSecret + R"("}})";
}

inline void WriteFile(const std::string& path, absl::string_view text, mode_t mode = 0600) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0) << path;
  EXPECT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(fchmod(file, mode), 0);
  close(file);
}

}  // namespace csi_proxy::sample
