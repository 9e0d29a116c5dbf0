// The commands `diagnose` and `repair`.
#include <algorithm>
#include <iterator>
#include <ostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/ctl/diagnose/diagnose.h"
#include "client/ctl/request.h"
#include "client/ctl/top/numbers.h"

namespace csi_proxy::ctl {
namespace {

namespace d = diagnose;

// The timeout of a call without --timeout. Short, because a person waits and a class of WMI may
// hang.
constexpr absl::Duration kLookTimeout = absl::Seconds(2);

// Returns the kinds to repair. INVALID_ARGUMENT lists the valid kinds.
absl::StatusOr<std::vector<std::string>> Kinds(const d::RepairOptions& options) {
  const std::vector<std::string> known(std::begin(d::kKinds), std::end(d::kKinds));
  std::vector<std::string> kinds;
  for (const std::string& what : options.what()) {
    for (const absl::string_view part : absl::StrSplit(what, ',')) {
      std::string kind = absl::AsciiStrToLower(part);
      if (std::find(known.begin(), known.end(), kind) == known.end()) {
        const std::string nearest = Nearest(kind, known);
        return absl::InvalidArgumentError(
            absl::StrCat("--what: there is no such kind",
                         nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
                         "\nThere are: ", absl::StrJoin(known, ", ")));
      }
      kinds.push_back(std::move(kind));
    }
  }
  if (kinds.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--what=KIND is missing; the kinds: ", absl::StrJoin(known, ", ")));
  }
  return kinds;
}

}  // namespace

int Diagnose(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  d::DiagnoseOptions options;
  if (const auto s = ReadFlags(catalog, line, &options); !s.ok()) return WrongUsage(s, streams.err);
  d::FetchMetrics fetch;
  if (!options.metrics().empty()) {
    const auto address = top::ParseMetricsAddress("--metrics", options.metrics());
    if (!address.ok()) return WrongUsage(address.status(), streams.err);
    fetch = [address = *address, timeout = line.call.timeout] {
      return top::FetchMetrics(address, timeout);
    };
  }
  CallOptions call = line.call;
  if (!line.has_timeout) call.timeout = kLookTimeout;
  const std::unique_ptr<Pipes> pipes = NewRemotePipes(line.client, call);
  Rpcs rpcs(catalog, *pipes);
  const absl::StatusOr<d::Diagnosis> diagnosis =
      d::Diagnose(rpcs, fetch, [&](const d::Diagnosis& part) {
        if (WantsTable(line, streams)) streams.out << d::PartText(part) << std::flush;
      });
  if (!diagnosis.ok()) return Complain(diagnosis.status(), streams.err);
  return PrintReport(*diagnosis, d::ToText(*diagnosis), d::ExitCodeOf(*diagnosis), line, streams);
}

int Repair(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  d::RepairOptions options;
  if (const auto s = ReadFlags(catalog, line, &options); !s.ok()) return WrongUsage(s, streams.err);
  const auto kinds = Kinds(options);
  if (!kinds.ok()) return WrongUsage(kinds.status(), streams.err);
  const bool asks = !options.yes() && streams.in_is_terminal;
  // Shown on standard error, so that standard output is one document for a program.
  const auto show = [&](const d::Repairs& plan) {
    if (asks) streams.err << d::ToText(plan);
  };
  const auto consent = [&] {
    if (!asks) return options.yes();
    streams.err << "Make these repairs? [y/N] " << std::flush;
    const absl::StatusOr<std::string> answer = streams.in.ReadLine();
    const std::string word =
        answer.ok() ? absl::AsciiStrToLower(absl::StripAsciiWhitespace(*answer)) : "";
    return word == "y" || word == "yes";
  };
  const std::unique_ptr<Pipes> pipes = NewRemotePipes(line.client, line.call);
  Rpcs rpcs(catalog, *pipes);
  const absl::StatusOr<d::Repairs> repairs = d::Repair(rpcs, *kinds, show, consent);
  if (!repairs.ok()) return Complain(repairs.status(), streams.err);
  return PrintReport(*repairs, d::ToText(*repairs), d::ExitCodeOf(*repairs), line, streams);
}

}  // namespace csi_proxy::ctl
