package sidecars

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The few messages of csi.v1.Identity and pluginregistration.Registration that are needed here.
// Generated code would make csi.proto's module and k8s.io/kubelet dependencies of every driver, and a
// driver that has its own copy of either file would not start: protobuf registers a file once.

// message is a message of protobuf.
type message interface {
	marshal() ([]byte, error)
	unmarshal(data []byte) error
}

// codec is a codec of gRPC for these messages alone.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v interface{}) ([]byte, error) {
	if m, ok := v.(message); ok {
		return m.marshal()
	}
	return nil, fmt.Errorf("%T is not a message", v)
}

func (codec) Unmarshal(data []byte, v interface{}) error {
	if m, ok := v.(message); ok {
		return m.unmarshal(data)
	}
	return fmt.Errorf("%T is not a message", v)
}

// empty is csi.v1.GetPluginInfoRequest, csi.v1.ProbeRequest, pluginregistration.InfoRequest and
// pluginregistration.RegistrationStatusResponse.
type empty struct{}

func (*empty) marshal() ([]byte, error) { return nil, nil }

func (*empty) unmarshal(data []byte) error { return readFields(data, func(field) error { return nil }) }

// pluginInfo is pluginregistration.PluginInfo.
type pluginInfo struct {
	kind, name, endpoint string
	versions             []string
}

func (m *pluginInfo) marshal() ([]byte, error) {
	data := appendText(nil, 1, m.kind)
	data = appendText(data, 2, m.name)
	data = appendText(data, 3, m.endpoint)
	for _, version := range m.versions {
		data = protowire.AppendString(protowire.AppendTag(data, 4, protowire.BytesType), version)
	}
	return data, nil
}

func (m *pluginInfo) unmarshal(data []byte) error {
	return readFields(data, func(f field) (err error) {
		switch f.number {
		case 1:
			m.kind, err = f.text()
		case 2:
			m.name, err = f.text()
		case 3:
			m.endpoint, err = f.text()
		case 4:
			var version string
			version, err = f.text()
			m.versions = append(m.versions, version)
		}
		return err
	})
}

// registrationStatus is pluginregistration.RegistrationStatus.
type registrationStatus struct {
	registered bool
	reason     string
}

func (m *registrationStatus) marshal() ([]byte, error) {
	return appendText(appendFlag(nil, 1, m.registered), 2, m.reason), nil
}

func (m *registrationStatus) unmarshal(data []byte) error {
	return readFields(data, func(f field) (err error) {
		switch f.number {
		case 1:
			m.registered, err = f.flag()
		case 2:
			m.reason, err = f.text()
		}
		return err
	})
}

// driverInfo is csi.v1.GetPluginInfoResponse, without what is not asked for.
type driverInfo struct{ name string }

func (m *driverInfo) marshal() ([]byte, error) { return appendText(nil, 1, m.name), nil }

func (m *driverInfo) unmarshal(data []byte) error {
	return readFields(data, func(f field) (err error) {
		if f.number == 1 {
			m.name, err = f.text()
		}
		return err
	})
}

// probeResponse is csi.v1.ProbeResponse. A driver that does not say whether it is ready is ready.
type probeResponse struct{ notReady bool }

func (m *probeResponse) marshal() ([]byte, error) {
	data := protowire.AppendTag(nil, 1, protowire.BytesType)
	return protowire.AppendBytes(data, appendFlag(nil, 1, !m.notReady)), nil
}

func (m *probeResponse) unmarshal(data []byte) error {
	// Parts of one message, if there are several, are merged.
	var wrapper []byte
	said := false
	err := readFields(data, func(f field) error {
		if f.number != 1 {
			return nil
		}
		if f.kind != protowire.BytesType {
			return errWireType
		}
		said = true
		wrapper = append(wrapper, f.bytes...)
		return nil
	})
	if err != nil || !said {
		return err
	}
	m.notReady = true
	return readFields(wrapper, func(f field) error {
		if f.number != 1 {
			return nil
		}
		ready, err := f.flag()
		m.notReady = !ready
		return err
	})
}

var errWireType = errors.New("a field has another type")

func appendText(to []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return to
	}
	return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), text)
}

func appendFlag(to []byte, number protowire.Number, flag bool) []byte {
	if !flag {
		return to
	}
	return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), 1)
}

type field struct {
	number protowire.Number
	kind   protowire.Type
	varint uint64
	bytes  []byte
}

func (f field) text() (string, error) {
	if f.kind != protowire.BytesType {
		return "", errWireType
	}
	if !utf8.Valid(f.bytes) {
		return "", errors.New("a string is not UTF-8")
	}
	return string(f.bytes), nil
}

func (f field) flag() (bool, error) {
	if f.kind != protowire.VarintType {
		return false, errWireType
	}
	return f.varint != 0, nil
}

// readFields gives each field of a message to read.
func readFields(data []byte, read func(field) error) error {
	for len(data) > 0 {
		var f field
		var n int
		f.number, f.kind, n = protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		switch f.kind {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(f.number, f.kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := read(f); err != nil {
			return fmt.Errorf("field %d: %w", f.number, err)
		}
	}
	return nil
}
