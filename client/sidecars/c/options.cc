#include "client/sidecars/c/options.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/sidecars/c/options.pb.h"

namespace csi_proxy::c {
namespace {

absl::Status ToDuration(absl::string_view option, double seconds, absl::Duration* duration) {
  // Nor is NaN.
  if (!(seconds > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": must be more than 0"));
  }
  *duration = absl::Seconds(seconds);
  return absl::OkStatus();
}

absl::StatusOr<RegistrarOptions> ToRegistrarOptions(const sidecars::Options::Registrar& in) {
  RegistrarOptions out;
  out.kubelet_registration_path = in.kubelet_registration_path();
  out.plugin_registration_path = in.plugin_registration_path();
  if (in.has_timeout_seconds()) {
    const absl::Status status =
        ToDuration("registrar.timeout_seconds", in.timeout_seconds(), &out.timeout);
    if (!status.ok()) return status;
  }
  out.marker_file = in.marker_file();
  out.http_endpoint = in.http_endpoint();
  return out;
}

absl::StatusOr<LivenessProbeOptions> ToProbeOptions(const sidecars::Options::LivenessProbe& in) {
  LivenessProbeOptions out;
  if (in.has_http_endpoint()) out.http_endpoint = in.http_endpoint();
  if (in.has_probe_timeout_seconds()) {
    const absl::Status status = ToDuration("livenessprobe.probe_timeout_seconds",
                                           in.probe_timeout_seconds(), &out.probe_timeout);
    if (!status.ok()) return status;
  }
  out.metrics_address = in.metrics_address();
  if (in.has_metrics_path()) out.metrics_path = in.metrics_path();
  if (in.has_serve_metrics()) out.serve_metrics = in.serve_metrics();
  return out;
}

}  // namespace

absl::StatusOr<SidecarsOptions> ToSidecarsOptions(absl::string_view json) {
  sidecars::Options in;
  if (!json.empty()) {
    const auto parsed = google::protobuf::util::JsonStringToMessage(std::string(json), &in);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("options: ", parsed.message().ToString()));
    }
  }
  SidecarsOptions out;
  out.csi_address = in.csi_address();
  out.driver_name = in.driver_name();
  if (in.has_connect_timeout_seconds()) {
    const absl::Status status =
        ToDuration("connect_timeout_seconds", in.connect_timeout_seconds(), &out.connect_timeout);
    if (!status.ok()) return status;
  }
  if (in.has_registrar()) {
    absl::StatusOr<RegistrarOptions> registrar = ToRegistrarOptions(in.registrar());
    if (!registrar.ok()) return registrar.status();
    out.registrar = *std::move(registrar);
  }
  if (in.has_livenessprobe()) {
    absl::StatusOr<LivenessProbeOptions> probe = ToProbeOptions(in.livenessprobe());
    if (!probe.ok()) return probe.status();
    out.livenessprobe = *std::move(probe);
  }
  return out;
}

}  // namespace csi_proxy::c
