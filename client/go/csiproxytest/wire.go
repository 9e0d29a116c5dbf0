package csiproxytest

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire is a gRPC codec for the structs of this package. It writes protobuf's wire format by the
// tags of their fields, so that tests need no generated messages and no conversion.
type wire struct{}

func (wire) Name() string { return "proto" }

func (wire) Marshal(v interface{}) ([]byte, error) {
	return appendMessage(nil, reflect.ValueOf(v).Elem()), nil
}

func (wire) Unmarshal(data []byte, v interface{}) error {
	return readMessage(data, reflect.ValueOf(v).Elem())
}

// fieldNumber returns the number in a field's tag.
func fieldNumber(field reflect.StructField) protowire.Number {
	number, _, _ := strings.Cut(field.Tag.Get("field"), ",")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", field.Name, err))
	}
	return protowire.Number(n)
}

// appendMessage appends a struct's fields. It omits zero values, as proto3 does.
func appendMessage(to []byte, message reflect.Value) []byte {
	for i := 0; i < message.NumField(); i++ {
		number, value := fieldNumber(message.Type().Field(i)), message.Field(i)
		if value.Kind() == reflect.Slice {
			for j := 0; j < value.Len(); j++ {
				to = appendField(to, number, value.Index(j))
			}
		} else if !value.IsZero() {
			to = appendField(to, number, value)
		}
	}
	return to
}

func appendField(to []byte, number protowire.Number, value reflect.Value) []byte {
	switch value.Kind() {
	case reflect.Bool:
		return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), protowire.EncodeBool(value.Bool()))
	case reflect.Int32:
		return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), uint64(value.Int()))
	case reflect.Uint32, reflect.Uint64:
		return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), value.Uint())
	case reflect.String:
		return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), value.String())
	case reflect.Pointer:
		return appendField(to, number, value.Elem())
	case reflect.Struct:
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), appendMessage(nil, value))
	}
	panic("not a field of a message: " + value.Type().String())
}

// readMessage sets a struct's fields and skips unknown ones.
func readMessage(data []byte, message reflect.Value) error {
	fields := make(map[protowire.Number]reflect.Value, message.NumField())
	for i := 0; i < message.NumField(); i++ {
		fields[fieldNumber(message.Type().Field(i))] = message.Field(i)
	}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, data[n:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		value := data[n : n+size]
		data = data[n+size:]
		field, known := fields[number]
		if !known {
			continue
		}
		if field.Kind() != reflect.Slice {
			if err := readField(kind, value, field); err != nil {
				return err
			}
			continue
		}
		element := reflect.New(field.Type().Elem()).Elem()
		if err := readField(kind, value, element); err != nil {
			return err
		}
		field.Set(reflect.Append(field, element))
	}
	return nil
}

func readField(kind protowire.Type, value []byte, field reflect.Value) error {
	switch {
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		return readField(kind, value, field.Elem())
	case kind == protowire.VarintType:
		number, _ := protowire.ConsumeVarint(value)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(number != 0)
			return nil
		case reflect.Int32:
			field.SetInt(int64(int32(number)))
			return nil
		case reflect.Uint32, reflect.Uint64:
			field.SetUint(number)
			return nil
		}
	case kind == protowire.BytesType:
		bytes, _ := protowire.ConsumeBytes(value)
		switch field.Kind() {
		case reflect.String:
			field.SetString(string(bytes))
			return nil
		case reflect.Struct:
			return readMessage(bytes, field)
		}
	}
	return fmt.Errorf("a field of wire type %d is not a %s", kind, field.Type())
}
