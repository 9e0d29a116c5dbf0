package figures

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"time"
)

// Describe records the time, length and machine of a run.
func Describe(length time.Duration, turns int) map[string]any {
	run := map[string]any{
		"date": time.Now().UTC().Format(time.RFC3339), "seconds per turn": length.Seconds(), "turns": turns,
		"processors": runtime.NumCPU(), "processor": processor(),
	}
	if average, known := loadAverage(); known {
		run["load average before"] = average
	}
	return run
}

// Conclude adds the load average, which is known only at the end.
func Conclude(run map[string]any) {
	average, known := loadAverage()
	if !known {
		return
	}
	run["load average after"] = average
	fmt.Printf("load average before %.1f, after %.1f, on %d processors\n", run["load average before"],
		run["load average after"], run["processors"])
}

// WriteRun writes the figures of every turn, so that a doubtful median can be examined.
func WriteRun(run map[string]any, servers []*Server, path string) {
	type figure struct {
		Median float64   `json:"median"`
		Turns  []float64 `json:"turns"`
	}
	all, names := map[string]map[string]map[string]figure{}, []string{}
	for _, s := range servers {
		names = append(names, s.Name)
		all[s.Name] = map[string]map[string]figure{}
		for k, values := range s.got {
			load := k.load
			if load == "" {
				load = "start"
			}
			if all[s.Name][load] == nil {
				all[s.Name][load] = map[string]figure{}
			}
			all[s.Name][load][k.what] = figure{median(values), values}
		}
	}
	run["servers"] = all
	run["order"] = names
	run["rows"] = servers[0].rows
	text, err := json.MarshalIndent(run, "", "  ")
	Must(err)
	Must(os.WriteFile(path, append(text, '\n'), 0o644))
}

// Must exits the program if err is not nil.
func Must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// LengthAndTurns parses the optional last arguments of a program: seconds and the number of turns.
func LengthAndTurns(arguments []string) (time.Duration, int) {
	length, turns := 3*time.Second, 3
	var err error
	if len(arguments) > 0 {
		length, err = time.ParseDuration(arguments[0] + "s")
		Must(err)
	}
	if len(arguments) > 1 {
		turns, err = strconv.Atoi(arguments[1])
		Must(err)
	}
	return length, turns
}

// GRPCVersion returns the version of grpc-go in a program.
func GRPCVersion(program string) string {
	info, err := buildinfo.ReadFile(program)
	Must(err)
	for _, module := range info.Deps {
		if module.Path == "google.golang.org/grpc" {
			return module.Version
		}
	}
	return ""
}
