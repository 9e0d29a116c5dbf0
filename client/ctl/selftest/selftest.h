// Tries a running service on a node: every group, on one disk and in one directory of their own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/ctl/commands.h"
#include "client/ctl/selftest/steps.h"

namespace csi_proxy::ctl::selftest {

// The name under which the report tells how taking everything back went, as the last step.
inline constexpr char kCleanUp[] = "clean-up";

// Fills in the defaults of options that are not given. INVALID_ARGUMENT names the flag that is
// missing or wrong.
absl::Status Complete(Options* options);

// Takes the steps in order, tells `progress` the name of each before, and at the end takes back
// what they left. A step whose needs have not passed is skipped.
Report Run(const std::vector<Step>& steps, const Options& options, Rpcs& rpcs,
           const std::function<void(const std::string&)>& progress);

// Tells whether all that was asked for has passed.
bool Passed(const Report& report);

// The report as tables.
std::string ToText(const Report& report);

}  // namespace csi_proxy::ctl::selftest

namespace csi_proxy::ctl {

// `selftest`: reads the flags, runs and prints.
int Selftest(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// The flags of `selftest`, as FieldFlags() has those of methods.
std::vector<std::string> SelftestFlags();

}  // namespace csi_proxy::ctl
