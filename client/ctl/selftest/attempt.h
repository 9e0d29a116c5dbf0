// One step of the selftest under way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/ctl/rpcs.h"
#include "client/ctl/selftest/selftest.pb.h"

namespace csi_proxy::ctl::selftest {

// A call that takes back what a step did.
struct Undo {
  std::string what;
  std::string group, method;
  Fields fields;
};

// Steps leave this to the next ones.
struct State {
  uint64_t disk_bytes = 0;
  // The one volume on the disk.
  std::string volume;
  // The portal was there before.
  bool knew_portal = false;
  // The changes that are still to be taken back, in the order they were made.
  std::vector<Undo> undos;
};

// Calls and expectations. The first failure ends it: later calls do nothing, so that a step reads
// as a list of the wanted events.
class Attempt {
 public:
  // None is owned.
  Attempt(const Options& options, Rpcs& rpcs, State& state)
      : options_(options), rpcs_(rpcs), state_(state) {}

  // Calls; the answer is empty when the attempt has failed.
  Answer Call(const std::string& group, const std::string& method, const Fields& fields = {});
  // Calls, and the answer must be an error of that code, with `text` in it.
  void Refused(absl::StatusCode code, const std::string& group, const std::string& method,
               const Fields& fields, absl::string_view text = "");
  // Calls and gives the outcome to the step; the attempt goes on in any case.
  absl::StatusOr<Answer> Try(const std::string& group, const std::string& method,
                             const Fields& fields);
  void Expect(bool condition, absl::string_view otherwise);

  // Has a call made at the end, whatever happens, unless NoLonger(what) comes first. AtEnd()
  // has to come before the step that the call takes back.
  void AtEnd(Undo undo);
  void NoLonger(absl::string_view what);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  const Options& options() const { return options_; }
  Rpcs& rpcs() { return rpcs_; }
  State& state() { return state_; }

  // The disk, as a field's value.
  std::string disk() const;
  // A path in the working directory.
  std::string Path(absl::string_view below) const;

 private:
  // Tells whether a call keeps to the operator's disk and the volume on it.
  absl::Status MayTouch(const std::string& method, const Fields& fields) const;

  const Options& options_;
  Rpcs& rpcs_;
  State& state_;
  absl::Status status_;
};

// Makes the calls that are still to be made, the last first, whether they work or not; NOT_FOUND
// means that there was nothing to take back. Tells what did not work.
absl::Status TakeBack(Rpcs& rpcs, State& state);

}  // namespace csi_proxy::ctl::selftest
