// Validates an OCI image layout as `crane validate` does an image of a registry: every digest, size
// and diff id, and that the platform is the one wanted.
package main

import (
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func check(path string) error {
	index, err := layout.ImageIndexFromPath(path)
	if err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, one := range manifest.Manifests {
		image, err := index.Image(one.Digest)
		if err != nil {
			return err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return err
		}
		if got := config.Platform().String(); got != "windows/amd64" || one.Platform.String() != got {
			return fmt.Errorf("%s: platform %s, in the index %s", one.Digest, got, one.Platform)
		}
		fmt.Println("valid:", one.Annotations["org.opencontainers.image.ref.name"])
	}
	return nil
}

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
