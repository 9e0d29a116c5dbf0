// Makes responses of the released rpcs for tests of what is shown of them.
#pragma once

#include <google/protobuf/text_format.h>

#include <memory>
#include <string>

#include "client/ctl/catalog.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {

class ResponseTest : public testing::Test {
 protected:
  // The response of a method with that content.
  std::unique_ptr<pb::Message> Response(const std::string& group, const std::string& method,
                                        const std::string& textproto) {
    auto response = catalog_.New(catalog_.Find(group, method, "")->descriptor->output_type());
    EXPECT_TRUE(pb::TextFormat::ParseFromString(textproto, response.get()));
    return response;
  }

  Catalog catalog_;
};

}  // namespace csi_proxy::ctl
