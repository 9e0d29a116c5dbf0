// The report of `top`, and how people see it.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/ctl/top/numbers.h"
#include "client/ctl/top/top.pb.h"

namespace csi_proxy::ctl::top {

// Reports what was counted in `duration`, which is zero when not known.
Report MakeReport(const Numbers& counted, absl::Time now, absl::Duration duration);

// Tables; of rpcs and clients at most `rows` each.
std::string ToText(const Report& report, int rows);

}  // namespace csi_proxy::ctl::top
