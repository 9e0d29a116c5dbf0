// Tests a running service on a node: every group, on a disk and in a directory of the test's own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/ctl/commands.h"
#include "client/ctl/selftest/steps.h"

namespace csi_proxy::ctl::selftest {

// The name of the report's last step, which undoes the others.
inline constexpr char kCleanUp[] = "clean-up";

// Fills in the defaults of options. INVALID_ARGUMENT names the flag that is missing or wrong.
absl::Status Complete(Options* options);

// Runs the steps in order, calls `progress` with the name of each before it runs, and finally
// undoes their changes. Skips a step if a step that it needs has not passed.
Report Run(const std::vector<Step>& steps, const Options& options, Rpcs& rpcs,
           const std::function<void(const std::string&)>& progress);

// Returns true if all requested steps have passed.
bool Passed(const Report& report);

// Returns the report as tables.
std::string ToText(const Report& report);

}  // namespace csi_proxy::ctl::selftest

namespace csi_proxy::ctl {

// Runs `selftest`: reads the flags, runs the steps and prints the report. Returns an ExitCode.
int Selftest(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// Returns the flags of `selftest` in the form of FieldFlags().
std::vector<std::string> SelftestFlags();

}  // namespace csi_proxy::ctl
