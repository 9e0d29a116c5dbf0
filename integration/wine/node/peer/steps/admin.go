package steps

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// The node's administrator, on the double's pipe (admin_wire_windows.h): requests are those of
// server/simulator/admin.proto, by their fields' numbers.

type fields []byte

func (f fields) number(field protowire.Number, value uint64) fields {
	return protowire.AppendVarint(protowire.AppendTag(f, field, protowire.VarintType), value)
}

func (f fields) text(field protowire.Number, value string) fields {
	return protowire.AppendString(protowire.AppendTag(f, field, protowire.BytesType), value)
}

func callAdmin(method string, request fields) error {
	pipe, err := os.OpenFile(`\\.\pipe\csi-proxy-node-double`, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer pipe.Close()
	call := binary.LittleEndian.AppendUint32([]byte(method+"\n"), uint32(len(request)))
	if _, err := pipe.Write(append(call, request...)); err != nil {
		return err
	}
	var answer struct{ Code, Size uint32 }
	if err := binary.Read(pipe, binary.LittleEndian, &answer); err != nil {
		return err
	}
	text := make([]byte, answer.Size)
	if _, err := io.ReadFull(pipe, text); err != nil {
		return err
	}
	if answer.Code != 0 {
		return errors.New(string(text))
	}
	return nil
}

func makeDirectory(path string) error {
	return callAdmin("MakeDirectory", fields(nil).text(1, path))
}

func addShare(share string) error {
	server, name, _ := strings.Cut(strings.TrimLeft(share, `\`), `\`)
	return callAdmin("AddShare", fields(nil).text(1, server).text(2, name))
}

func attachDisk(number uint32, size uint64, name string) error {
	location := fmt.Sprintf("Integrated : Bus 0 : Device 0 : Function 0 : Adapter 0 : Port 0 : Target 0 : LUN %d", number)
	disk := fields(nil).number(1, uint64(number)).number(2, size).text(4, location).text(5, name).text(7, name)
	return callAdmin("AttachDisk", fields(nil).text(1, string(disk)))
}

func growDisk(number uint32, size uint64) error {
	return callAdmin("GrowDisk", fields(nil).number(1, uint64(number)).number(2, size))
}

func detachDisk(number uint32) error {
	return callAdmin("DetachDisk", fields(nil).number(1, uint64(number)))
}
