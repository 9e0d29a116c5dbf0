package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// The kernel's own account of processes; Wine shows it below a drive of its own, and its programs are
// processes of the kernel under other numbers.
func proc() string {
	if runtime.GOOS == "windows" {
		return `Z:\proc`
	}
	return "/proc"
}

// process is the service's, by the kernel's number.
type process struct {
	directory string
}

// findProcess finds the one that runs the program with a scenario from the directory.
func findProcess(program, directory string) (*process, error) {
	base := filepath.Base(program)
	found, err := filepath.Glob(filepath.Join(proc(), "[0-9]*", "cmdline"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range found {
		words, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(words), "\x00")
		if strings.HasSuffix(first, base) && strings.Contains(string(words), "--scenario="+directory) {
			all = append(all, filepath.Dir(file))
		}
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%d processes run %s", len(all), base)
	}
	return &process{all[0]}, nil
}

// status is a number of /proc/<pid>/status, in KiB or as it is.
func (p *process) status(name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(p.directory, "status"))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			number := 0
			_, err := fmt.Sscan(rest, &number)
			return number, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", p.directory, name)
}
