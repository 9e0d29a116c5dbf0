// One running step of the selftest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/ctl/rpcs.h"
#include "client/ctl/selftest/selftest.pb.h"

namespace csi_proxy::ctl::selftest {

// A call that undoes what a step has done.
struct Undo {
  std::string what;
  std::string group, method;
  Fields fields;
};

// The state that steps leave for later steps.
struct State {
  uint64_t disk_bytes = 0;
  // The only volume on the disk.
  std::string volume;
  // True if the portal was registered before the selftest.
  bool knew_portal = false;
  // The changes that must still be undone, in the order in which they were made.
  std::vector<Undo> undos;
};

// The calls and expectations of a step. After the first failure, later calls do nothing, so that a
// step reads as a list of expected events.
class Attempt {
 public:
  // REQUIRES: the arguments outlive the object.
  Attempt(const Options& options, Rpcs& rpcs, State& state)
      : options_(options), rpcs_(rpcs), state_(state) {}

  // Calls a method. Returns an empty answer if the attempt has failed.
  Answer Call(const std::string& group, const std::string& method, const Fields& fields = {});
  // Calls a method that must fail with `code` and a message that contains `text`.
  void ExpectRefused(absl::StatusCode code, const std::string& group, const std::string& method,
                     const Fields& fields, absl::string_view text = "");
  // Calls a method and returns the result, without failing the attempt.
  absl::StatusOr<Answer> Try(const std::string& group, const std::string& method,
                             const Fields& fields);
  void Expect(bool condition, absl::string_view otherwise);

  // Registers a call for the end of the selftest, made even after a failure unless RemoveUndo(what)
  // is called. REQUIRES: the call that it undoes has not been made yet.
  void AddUndo(Undo undo);
  void RemoveUndo(absl::string_view what);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  const Options& options() const { return options_; }
  Rpcs& rpcs() { return rpcs_; }
  State& state() { return state_; }

  // Returns the disk's number as the value of a field.
  std::string disk() const;
  // Returns the path of `below` in the working directory.
  std::string Path(absl::string_view below) const;

 private:
  // Returns OK if a call only touches the operator's disk and the volume on it.
  absl::Status MayTouch(const std::string& method, const Fields& fields) const;

  const Options& options_;
  Rpcs& rpcs_;
  State& state_;
  absl::Status status_;
};

// Makes the registered calls, the last first, and continues after failures. NOT_FOUND means that
// nothing had to be undone. Returns the failures.
absl::Status TakeBack(Rpcs& rpcs, State& state);

}  // namespace csi_proxy::ctl::selftest
