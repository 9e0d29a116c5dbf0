// Looks for faults on a node.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/diagnose/diagnose.pb.h"
#include "client/ctl/diagnose/findings.h"
#include "client/ctl/rpcs.h"
#include "client/ctl/top/numbers.h"

namespace csi_proxy::ctl::diagnose {

struct FindingWithRepair {
  // Makes a finding of the table about `where`. `arguments` replace `$0`, `$1` ... in the row's
  // texts, and `fields` are those of the repair's call.
  FindingWithRepair(FindingId id, std::string where, std::string what,
                    const std::vector<std::string>& arguments = {}, Fields fields = {});

  // Replaces the finding's advice, and its repair, with those of the row `id`.
  void Advise(FindingId id, const std::vector<std::string>& arguments = {});

  Finding finding;
  FindingId advice;
  Fields fields;
};

struct Findings {
  std::vector<FindingWithRepair> found;
  // The notes, the objects that could not be looked at, and the facts of the service's metrics.
  Diagnosis rest;
  // True if, by the service's metrics, clients have used iSCSI.
  bool asks_for_iscsi = false;
  bool lists_disks = false;
  // The mounted volumes, each with one of its paths.
  std::map<std::string, std::string> volumes;
  // The first error of Ask().
  absl::Status error = absl::OkStatus();
  // True if the service has answered.
  bool answered = false;
  // True after CutShort(): a part of the node could not be looked at.
  bool cut_short = false;

  bool complete() const { return error.ok() && !cut_short; }

  // Adds a finding or a note.
  void Add(FindingWithRepair one);
  // Calls a method of the group storage. On failure returns an empty answer and adds a remark.
  Answer Ask(Rpcs& rpcs, const std::string& method, const Fields& fields, absl::string_view what);
  // Adds a remark about what could not be looked at. CutShort() also makes the look incomplete.
  template <typename... Parts>
  void NotKnown(const Parts&... parts) {
    rest.add_not_known(absl::StrCat(parts...));
  }
  template <typename... Parts>
  void CutShort(const Parts&... parts) {
    cut_short = true;
    NotKnown(parts...);
  }
  void CutShortIfIncomplete(const Answer& answer, absl::string_view what) {
    if (answer.Flag("incomplete")) {
      CutShort(what, ": there are more directories than the service reads");
    }
  }
};

// Adds findings about mounts and links. If `only` is not empty, considers only the mount or link at
// that path.
void LookAtMounts(Rpcs& rpcs, const std::string& only, Findings* findings);
// Adds findings about global SMB mappings.
void LookAtMappings(Rpcs& rpcs, Findings* findings);

// Looks at the whole node, and at the metrics if `fetch` is not null, and calls `ended` with the
// findings so far when each look has ended. The first looks need no WMI: metrics, mounted folders
// and links.
using LookEnded = std::function<void(const Findings& so_far)>;
Findings LookAtNode(Rpcs& rpcs, const top::FetchMetrics* fetch, const LookEnded& ended);

// Looks again for a finding that can be repaired: at its path if it is about a mount or link,
// otherwise at all mappings or all disks.
Findings LookAgain(Rpcs& rpcs, const Finding& finding);

}  // namespace csi_proxy::ctl::diagnose
