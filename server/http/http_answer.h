// A component's answer over HTTP.
#pragma once

#include <string>

namespace csi_proxy {

struct HttpAnswer {
  int code = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

inline HttpAnswer Healthy() { return {.code = 200, .body = "ok"}; }

}  // namespace csi_proxy
