// Validates an OCI image layout as `crane validate` does an image of a registry: every digest, size
// and diff id, and that the platforms are those wanted.
package main

import (
	"fmt"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// platforms of an index's images, each the one that the image itself has.
func platforms(index v1.ImageIndex) ([]string, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, one := range manifest.Manifests {
		image, err := index.Image(one.Digest)
		if err != nil {
			return nil, err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		got := config.Platform().String()
		if one.Platform == nil || one.Platform.String() != got {
			return nil, fmt.Errorf("%s: platform %s, in the index %s", one.Digest, got, one.Platform)
		}
		found = append(found, got)
	}
	return found, nil
}

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
		name := one.Annotations["org.opencontainers.image.ref.name"]
		if !one.MediaType.IsIndex() {
			if one.Platform == nil || one.Platform.String() != "windows/amd64" {
				return fmt.Errorf("%s: platform %s", name, one.Platform)
			}
			fmt.Println("valid:", name)
			continue
		}
		nested, err := index.ImageIndex(one.Digest)
		if err != nil {
			return err
		}
		got, err := platforms(nested)
		if err != nil {
			return err
		}
		if !slices.Equal(got, []string{"linux/amd64", "windows/amd64"}) {
			return fmt.Errorf("%s: images for %v", name, got)
		}
		fmt.Println("valid:", name, got)
	}
	return nil
}

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
