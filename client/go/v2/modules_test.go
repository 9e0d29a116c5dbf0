package v2_test

// The module of upstream's generated clients asks for a google.golang.org/genproto of 2020, which has
// the packages that grpc takes from google.golang.org/genproto/googleapis/rpc today. So a driver's new
// module, with those clients and this module, would have each of them twice, and not build. This
// import keeps a later genproto, without them, in go.mod.
import _ "google.golang.org/genproto/protobuf/field_mask"
