#include "server/service/flags_in_force.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace csi_proxy::service {

std::vector<FlagInForce> FlagsInForce(const Options& options) {
  const Options defaults;
  std::vector<FlagInForce> flags;
  const auto number = [&](const char* name, auto of) {
    flags.push_back({name, static_cast<double>(of(options)), absl::StrCat(of(defaults))});
  };
  const auto time = [&](const char* name, auto of) {
    number(name, [&](const Options& o) { return absl::ToDoubleSeconds(of(o)); });
  };
  const auto is_set = [&](const char* name, bool Options::*of) {
    flags.push_back({name, options.*of ? 1.0 : 0.0, defaults.*of ? "true" : "false"});
  };
  number("max-workers", [](const Options& o) { return o.max_workers; });
  number("max-queued", [](const Options& o) { return o.max_queued; });
  number("max-connections", [](const Options& o) { return o.listener.max_connections; });
  number("client-share", [](const Options& o) { return o.listener.client_share; });
  time("max-call-duration", [](const Options& o) { return o.max_call_duration; });
  time("stop-grace-period", [](const Options& o) { return o.stop_grace_period; });
  time("preface-timeout", [](const Options& o) { return o.listener.preface_timeout; });
  time("idle-timeout", [](const Options& o) { return o.idle_timeout; });
  is_set("require-privacy", &Options::require_privacy);
  is_set("smb-bind-credentials", &Options::bind_smb_credentials);
  is_set("allow-local-shares", &Options::allow_local_shares);
  is_set("keep-foreign-data", &Options::keep_foreign_data);
  return flags;
}

}  // namespace csi_proxy::service
