// Declares the metrics of the service and of the sidecars.
#pragma once

#include <prometheus/registry.h>

namespace csi_proxy::observability {

// Adds a family of series to the registry. `builder` is prometheus::BuildGauge() or another builder
// of the library.
template <typename Builder>
auto& AddFamily(prometheus::Registry& registry, Builder builder, const char* name,
                const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace csi_proxy::observability
