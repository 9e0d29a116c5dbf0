package csiproxy

// Upstream's generated clients require a google.golang.org/genproto of 2020, which contains the
// packages that grpc now takes from google.golang.org/genproto/googleapis/rpc. A driver with both
// modules would not build, because it had these packages twice. This import keeps a later genproto,
// without the packages, in go.mod.
import _ "google.golang.org/genproto/protobuf/field_mask"
