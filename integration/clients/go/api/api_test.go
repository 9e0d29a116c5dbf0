package api

import (
	"encoding/json"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/kubernetes-csi/csi-proxy/v2"

// original returns the source folder of a version of the Go library.
func original(t *testing.T, version string) string {
	command := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	command.Dir = t.TempDir()
	out, err := command.Output()
	var at struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &at)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return at.Dir
}

// load returns the packages of a module for Windows, by their paths in the module.
func load(t *testing.T, directory string) map[string]*types.Package {
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports,
		Dir:  directory,
		Env:  append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off"),
	}
	loaded, err := packages.Load(config, "./pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*types.Package{}
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Fatal(p.PkgPath, e)
		}
		found[strings.TrimPrefix(p.PkgPath, module+"/")] = p.Types
	}
	return found
}

// wanted are the packages that drivers import. pkg/cim is not among them: only its one type that other
// declarations name is compared, and only with alpha.2.
var wanted = []string{
	"pkg/disk", "pkg/disk/hostapi", "pkg/filesystem", "pkg/filesystem/hostapi", "pkg/iscsi", "pkg/iscsi/hostapi",
	"pkg/smb", "pkg/smb/hostapi", "pkg/system", "pkg/system/hostapi", "pkg/utils", "pkg/volume", "pkg/volume/hostapi",
}

// checkout is compared when CSI_PROXY_LIBRARY_SOURCE names a directory with a newer source of the Go library.
const checkout = "checkout"

// known are the expected differences from a version; each must still exist.
var known = map[string][]string{
	checkout: {
		"pkg/system/hostapi: (*ServiceManagerImpl).GetDependentsForService: takes a scope of pkg/wmi",
		"pkg/system/hostapi: (*ServiceManagerImpl).WaitUntilServiceState: takes a scope of pkg/wmi",
		"pkg/system/hostapi: (ServiceManagerImpl).GetDependentsForService: takes a scope of pkg/wmi",
		"pkg/system/hostapi: (ServiceManagerImpl).WaitUntilServiceState: takes a scope of pkg/wmi",
		"pkg/system/hostapi: ServiceFactory: takes a scope of pkg/wmi",
		"pkg/system/hostapi: ServiceManager: takes a scope of pkg/wmi",
	},
	"v2.0.0-alpha.2": {
		"pkg/disk: Interface: has the read-only attribute, which came later",
		"pkg/disk/hostapi: HostAPI: has the read-only attribute, which came later",
	},
	"v2.0.0-alpha.1": {
		"pkg/disk: Interface: has the read-only attribute, which came later",
		"pkg/disk/hostapi: HostAPI: has the read-only attribute, which came later",
		"pkg/system: GetServiceResponse{}: Startype is an alias of StartType",
		"pkg/system: START_TYPE_AUTOMATIC: Startype is an alias of StartType",
		"pkg/system: START_TYPE_BOOT: Startype is an alias of StartType",
		"pkg/system: START_TYPE_DISABLED: Startype is an alias of StartType",
		"pkg/system: START_TYPE_MANUAL: Startype is an alias of StartType",
		"pkg/system: START_TYPE_SYSTEM: Startype is an alias of StartType",
		"pkg/system: Startype: Startype is an alias of StartType",
		"pkg/system/hostapi: ServiceInfo{}: numbers, which alpha.2 made words",
		"pkg/utils: RunPowershellCmd: alpha.2 has it no longer",
	},
}

func TestExportsWhatTheGoLibraryExports(t *testing.T) {
	ours := load(t, filepath.Join("..", "..", "..", "..", "client", "go"))
	for version, expected := range known {
		t.Run(version, func(t *testing.T) {
			directory := os.Getenv("CSI_PROXY_LIBRARY_SOURCE")
			if version != checkout {
				directory = original(t, version)
			} else if directory == "" {
				t.Skip("CSI_PROXY_LIBRARY_SOURCE is not set")
			}
			theirs := load(t, directory)
			names := 0
			var found []string
			for _, path := range wanted {
				if theirs[path] == nil || ours[path] == nil {
					t.Fatalf("%s: theirs %v, ours %v", path, theirs[path], ours[path])
				}
				exported := surface(theirs[path])
				names += len(exported)
				for _, difference := range differences(exported, surface(ours[path])) {
					found = append(found, path+": "+difference)
				}
			}
			compare(t, found, expected)
			if names < 350 {
				t.Errorf("only %d lines are compared", names)
			}
			t.Logf("%s: %d lines compared, %d differences", strings.TrimPrefix(version, "v2.0.0-"), names, len(found))
			// Every package of the library is compared.
			for path := range theirs {
				if path != "pkg/cim" && path != "pkg/wmi" && !strings.Contains(strings.Join(wanted, " ")+" ", path+" ") {
					t.Errorf("%s is not compared", path)
				}
			}
			if cim := theirs["pkg/cim"]; cim != nil {
				for _, difference := range differences(surface(ours["pkg/cim"]), surface(cim)) {
					t.Errorf("pkg/cim: %s", difference)
				}
			}
		})
	}
}

// compare fails for unexpected differences, and for expected ones that are gone.
func compare(t *testing.T, found, expected []string) {
	sort.Strings(found)
	for _, difference := range found {
		at := difference[:strings.Index(difference, " is ")]
		if !hasPrefix(expected, at+": ") {
			t.Error(difference)
		}
	}
	for _, difference := range expected {
		at := difference[:strings.LastIndex(difference, ": ")]
		if !hasPrefix(found, at+" is ") {
			t.Errorf("not found any more: %s", difference)
		}
	}
}

func hasPrefix(lines []string, prefix string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
