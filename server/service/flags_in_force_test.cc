#include "server/service/flags_in_force.h"

#include <gtest/gtest.h>

namespace csi_proxy::service {
namespace {

TEST(FlagsInForceTest, OnlyFlagsOtherThanTheDefaultsAreNamed) {
  Options options;
  EXPECT_EQ(ChangedFlagsText(FlagsInForce(options)), "limits and switches: the defaults");
  options.max_workers = 4;
  options.max_queued = 97;
  options.idle_timeout = absl::Minutes(90);
  options.require_privacy = false;
  EXPECT_EQ(ChangedFlagsText(FlagsInForce(options)),
            "limits and switches: --max-workers=4 (default 16), --max-queued=97 (default 384), "
            "--idle-timeout=5400 (default 3600), --require-privacy=false (default true)");
  std::string low;
  for (const FlagInForce& flag : FlagsInForce(options)) {
    if (flag.IsFarBelowDefault()) low += flag.name + " ";
  }
  EXPECT_EQ(low, "max-workers ") << "a quarter of the default or less, and no switch";
}

}  // namespace
}  // namespace csi_proxy::service
