// Reads a layer as hcsshim does when containerd unpacks it on a node
// (https://github.com/microsoft/hcsshim/blob/main/pkg/ociwclayer/import.go): each entry becomes file
// information and a backup stream, or a link. Prints kind, access list and size of each.
package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/Microsoft/go-winio"
	"github.com/Microsoft/go-winio/backuptar"
)

const directory = 0x10

func read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	stream, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	reader := tar.NewReader(stream)
	header, err := reader.Next()
	for err == nil {
		// A hard link has no file information and no backup stream; hcsshim adds the link by its names.
		if header.Typeflag == tar.TypeLink {
			fmt.Println("link", header.Name, header.Linkname)
			header, err = reader.Next()
			continue
		}
		var name string
		var size int64
		var info *winio.FileBasicInfo
		if name, size, info, err = backuptar.FileInfoFromHeader(header); err != nil {
			return err
		}
		var security []byte
		if security, err = backuptar.SecurityDescriptorFromTarHeader(header); err != nil {
			return err
		}
		var access string
		if access, err = winio.SecurityDescriptorToSddl(security); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		kind := "file"
		if info.FileAttributes&directory != 0 {
			kind = "directory"
		}
		fmt.Println(kind, name, size, info.CreationTime.Nanoseconds()/1e9, access)
		header, err = backuptar.WriteBackupStreamFromTarFile(io.Discard, reader, header)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func main() {
	if err := read(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
