#include "client/ctl/watch.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/ctl/commands.h"
#include "client/ctl/output.h"
#include "client/ctl/terminal.h"
#include "server/base/back_off.h"

namespace csi_proxy::ctl::watch {
namespace {

constexpr absl::Duration kLongestPause = absl::Minutes(1);

std::string Head(Before before, absl::Time now) {
  if (before == Before::kCleared) {
    return absl::StrCat(kClearScreen, "since ", UtcText(now), "\n\n");
  }
  if (before == Before::kTime) return UtcText(now) + "\n";
  return before == Before::kDashes ? "---\n" : "";
}

// Returns true if every later attempt would fail with this error, too.
bool IsFinal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
}

}  // namespace

Environment InRealTime(std::function<absl::StatusOr<std::string>()> ask) {
  return {.ask = std::move(ask),
          .now = [] { return absl::Now(); },
          .steady_now = SteadyTime::Now,
          .sleep =
              [](absl::Duration duration) {
                absl::SleepFor(duration);
                return true;
              }};
}

int Watch(const Environment& environment, absl::Duration interval, Before before, std::ostream& out,
          std::ostream& err) {
  std::optional<std::string> shown;
  absl::Time since;
  absl::Status told = absl::OkStatus();
  BackOff back_off(interval, std::max(interval, kLongestPause));
  while (true) {
    const absl::StatusOr<std::string> answer = environment.ask();
    absl::Duration pause = interval;
    if (!answer.ok()) {
      if (IsFinal(answer.status())) return Complain(answer.status(), err, environment.call);
      pause = back_off.Failed();
      if (answer.status() != told) ComplainBriefly(answer.status(), err);
      told = answer.status();
    } else {
      const bool changed = shown != *answer;
      // Redraws the answer, because the error is on the screen below it.
      const bool redraw = before == Before::kCleared && !told.ok();
      if (!told.ok() && before != Before::kCleared)
        err << "the service answers again\n" << std::flush;
      told = absl::OkStatus();
      back_off.Succeeded();
      if (changed) since = environment.now();
      // Writes in one call, so that the screen does not flicker.
      if (changed || redraw) out << absl::StrCat(Head(before, since), *answer) << std::flush;
      if (!out) return kOk;
      shown = *answer;
    }
    if (!environment.sleep(pause)) return kOk;
  }
}

}  // namespace csi_proxy::ctl::watch
