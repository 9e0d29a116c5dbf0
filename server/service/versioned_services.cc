#include "server/service/versioned_services.h"

#include <functional>
#include <iterator>
#include <utility>

#include "csi_proxy/all_served_versions.h"

namespace csi_proxy {

struct VersionedServices::Group {
  Group(const char* group_name, size_t index, const rpc::Executor::Limits& limits,
        const rpc::Deps& shared)
      : name(group_name), executor(limits), deps(shared) {
    deps.executor = &executor;
    deps.executor_index = index;
  }

  const char* const name;
  rpc::Executor executor;
  rpc::Deps deps;
  std::function<std::vector<rpc::VersionedService>()> new_services;
};

VersionedServices::VersionedServices(const rpc::Executor::Limits& limits, const rpc::Deps& shared,
                                     const groups::NodeServices& handlers) {
  const auto add = [&](const char* name, const auto& audited, auto versions) {
    auto group = std::make_unique<Group>(name, groups_.size(), limits, shared);
    group->new_services = [name, service = audited.service.get(), deps = &group->deps,
                           versions = std::move(versions)] {
      std::vector<rpc::VersionedService> services;
      for (const auto* version : versions) {
        services.push_back(
            {name, version->name, version->service_name,
             rpc::NewGrpcService(version->methods, version->open(service, nullptr), deps)});
      }
      return services;
    };
    groups_.push_back(std::move(group));
  };
// FOR_EACH writes one `+1` for each group, which makes a sum.
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define COUNT_GROUP(group) +1
  static_assert(CSI_PROXY_FOR_EACH_GROUP(COUNT_GROUP) <= rpc::kMaxExecutors);
#undef COUNT_GROUP
#define ADD_GROUP(group) add(#group, handlers.group, group::ServedVersions());
  CSI_PROXY_FOR_EACH_GROUP(ADD_GROUP)
#undef ADD_GROUP
}

VersionedServices::~VersionedServices() = default;

std::vector<std::pair<std::string, size_t>> VersionedServices::Queued() const {
  std::vector<std::pair<std::string, size_t>> depths;
  for (const auto& group : groups_) depths.emplace_back(group->name, group->executor.queued());
  return depths;
}

std::vector<rpc::VersionedService> VersionedServices::NewServices() {
  std::vector<rpc::VersionedService> all;
  for (const auto& group : groups_) {
    std::vector<rpc::VersionedService> services = group->new_services();
    std::move(services.begin(), services.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace csi_proxy
