package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
	storage "k8s.io/kubernetes/test/e2e/storage/framework"
	"sigs.k8s.io/yaml"
)

// The flags of the README's command that select tests.
var selection = []string{
	"--node-os-distro=windows",
	`--ginkgo.focus=External.Storage`,
	`--ginkgo.skip=\[(Disruptive|LinuxOnly)\]`,
}

// A part of the names of the tests that are there only with the capability. With an empty one the
// same tests are there, and those that need the capability skip themselves on the cluster.
var testsOf = map[storage.Capability]string{
	storage.CapBlock:                          "volumeMode",
	storage.CapCapacity:                       "provides storage capacity information",
	storage.CapControllerExpansion:            "volume-expand",
	storage.CapExec:                           "should allow exec of files on the volume",
	storage.CapReadWriteOncePod:               "read-write-once-pod",
	storage.CapSELinuxMount:                   "seLinuxMount",
	storage.CapSnapshotDataSource:             "snapshottable",
	storage.CapSnapshotMetadata:               "snapshotmetadata",
	storage.CapTopology:                       "topology",
	storage.CapVolumeGroupSnapshot:            "VolumeGroupSnapshot",
	storage.CapVolumeLimits:                   "volumeLimits",
	storage.CapFSResizeFromSourceNotSupported: "",
	storage.CapFsGroup:                        "",
	storage.CapMultiPODs:                      "",
	storage.CapMultiplePVsSameID:              "",
	storage.CapNodeExpansion:                  "",
	storage.CapOfflineExpansion:               "",
	storage.CapOnlineExpansion:                "",
	storage.CapPVCDataSource:                  "",
	storage.CapPersistence:                    "",
	storage.CapRWX:                            "",
	storage.CapReadOnlyMany:                   "",
	storage.CapSingleNodeVolume:               "",
	storage.CapVolumeMountGroup:               "",
}

// The fields of driver.yaml.
type definition struct {
	StorageClass struct{ FromName bool }
	DriverInfo   storage.DriverInfo
}

func readDefinition(t *testing.T) definition {
	t.Helper()
	text, err := os.ReadFile("driver.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var driver definition
	if err := yaml.UnmarshalStrict(text, &driver); err != nil {
		t.Fatal(err)
	}
	return driver
}

// selected runs this program without a cluster, and returns the names of the tests of each driver
// that it would run on one.
func selected(t *testing.T, drivers ...definition) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	report := filepath.Join(dir, "report.json")
	arguments := append([]string{"--test.run=^TestStorage$", "--ginkgo.dry-run", "--ginkgo.json-report=" + report}, selection...)
	for _, driver := range drivers {
		text, err := yaml.Marshal(driver)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, driver.DriverInfo.Name+".yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, "--storage.testdriver="+file)
	}
	command := exec.CommandContext(context.Background(), os.Args[0], arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG=")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var suites []types.Report
	if err := json.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType != types.NodeTypeIt || spec.State != types.SpecStatePassed {
				continue
			}
			_, rest, _ := strings.Cut(spec.FullText(), "[Driver: ")
			name, test, found := strings.Cut(rest, "] ")
			if !found {
				t.Fatalf("a test of no driver: %s", spec.FullText())
			}
			tests[name] = append(tests[name], test)
		}
	}
	for _, names := range tests {
		slices.Sort(names)
	}
	return tests
}

func containing(part string, tests []string) int {
	count := 0
	for _, test := range tests {
		if strings.Contains(test, part) {
			count++
		}
	}
	return count
}

// TestSelection turns each capability of driver.yaml over, and looks for the tests that come or go.
func TestSelection(t *testing.T) {
	driver := readDefinition(t)
	capabilities := driver.DriverInfo.Capabilities
	want := slices.Sorted(maps.Keys(testsOf))
	if got := slices.Sorted(maps.Keys(capabilities)); !slices.Equal(got, want) {
		t.Fatalf("driver.yaml has the capabilities %q, not %q", got, want)
	}
	nameWithout := func(capability storage.Capability) string {
		return fmt.Sprintf("%s-but-%s", driver.DriverInfo.Name, capability)
	}
	drivers := []definition{driver}
	for capability, has := range capabilities {
		other := driver
		other.DriverInfo.Name = nameWithout(capability)
		other.DriverInfo.Capabilities = maps.Clone(capabilities)
		other.DriverInfo.Capabilities[capability] = !has
		drivers = append(drivers, other)
	}
	tests := selected(t, drivers...)
	ours := tests[driver.DriverInfo.Name]
	if len(ours) == 0 {
		t.Fatal("no test is selected")
	}
	for _, test := range ours {
		t.Log(test)
	}
	t.Logf("%d tests are selected", len(ours))
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if count := fmt.Sprintf("which tests are selected: %d;", len(ours)); !strings.Contains(string(page), count) {
		t.Errorf("README.md does not say %q", count)
	}
	for capability, part := range testsOf {
		others := tests[nameWithout(capability)]
		with, without := ours, others
		if !capabilities[capability] {
			with, without = others, ours
		}
		if part == "" {
			if !slices.Equal(with, without) {
				t.Errorf("%s: %d tests with the capability, %d without", capability, len(with), len(without))
			}
		} else if containing(part, with) == 0 || containing(part, without) != 0 {
			t.Errorf("%s: of the tests %q there are %d with the capability and %d without", capability, part,
				containing(part, with), containing(part, without))
		}
	}
}
