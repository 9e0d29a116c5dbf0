csi_proxy_library(csi_proxy_executor SRCS executor.cc call_limiter.cc inline_calls.cc
                  DEPS csi_proxy_base absl::status absl::strings Threads::Threads)
csi_proxy_library(csi_proxy_shim SRCS grpc_service.cc wipe_request.cc
                  DEPS csi_proxy_executor csi_proxy_base absl::cleanup
                  gRPC::grpc++_unsecure protobuf::libprotobuf absl::synchronization absl::time)
csi_proxy_test(executor_test SRCS executor_test.cc call_limiter_test.cc inline_calls_test.cc tenants_test.cc
               DEPS csi_proxy_executor absl::synchronization)
csi_proxy_test(shim_test SRCS wipe_request_test.cc DEPS csi_proxy_shim)
