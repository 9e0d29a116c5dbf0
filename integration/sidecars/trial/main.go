// Runs this project's sidecars and upstream's in the same cases.
//
//	trial [-upstream DIRECTORY] [-ours DIRECTORY] [-record] ...   see run.sh
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

type trial struct {
	kubelet, sampleDriver, logs string
}

// newDirectory creates a directory whose name has a constant length, because messages contain lengths.
func newDirectory() string {
	for {
		path := fmt.Sprintf("/tmp/csi-sidecars-%08x", rand.Uint32())
		if err := os.Mkdir(path, 0o700); err == nil {
			return path
		} else if !os.IsExist(err) {
			panic(err)
		}
	}
}

type oneCase struct {
	name string
	play func(*place)
}

// cases are all cases by name.
var cases = []oneCase{
	{"no driver", noDriver},
	{"mute driver", muteDriver},
	{"life", life},
	{"refused for its version", refusedVersion},
	{"refused for its driver", refusedDriver},
	{"emptied directory", emptied},
	{"file in place", fileInPlace},
	{"no directory", noDirectory},
	{"address taken", addressTaken},
	{"late driver", lateDriver},
	{"nameless driver", nameless},
	{"registrar", registrarFlags},
	{"probe", drivers},
	{"metrics", metrics},
	{"metrics apart", separateMetrics},
	{"port alone", portAlone},
	{"late probed driver", lateProbedDriver},
	{"nameless probed driver", namelessProbed},
	{"probed address taken", probedAddressTaken},
	{"livenessprobe", livenessprobeFlags},
	{"default timeout", defaultTimeout},
	{"flags", defaults},
}

// play returns the observations of the programs in every case. A few cases run concurrently,
// because they mostly wait.
func (t *trial) play(programs programs, only string) map[string]string {
	seen := newFacts()
	var done sync.WaitGroup
	places := make(chan struct{}, 5)
	for _, c := range cases {
		if only != "" && only != c.name {
			continue
		}
		places <- struct{}{}
		done.Add(1)
		go func() {
			defer done.Done()
			defer func() { <-places }()
			p := &place{trial: t, programs: programs, facts: seen, name: c.name,
				dir: newDirectory(), health: freeAddress()}
			must(0, os.Mkdir(p.registrations(), 0o755))
			must(0, os.Mkdir(p.dir+"/d", 0o755))
			defer p.end()
			defer func() {
				if why := recover(); why != nil {
					p.saw("broke", fmt.Sprint(why))
				}
			}()
			c.play(p)
		}()
	}
	done.Wait()
	return seen.seen
}

// withDifferences returns the record with the intended differences applied.
func withDifferences(record, differences map[string]string) map[string]string {
	wanted := map[string]string{}
	for name, value := range record {
		wanted[name] = value
	}
	for name, value := range differences {
		if value == "-" { // upstream alone
			delete(wanted, name)
		} else {
			wanted[name] = value
		}
	}
	return wanted
}

func main() {
	t := &trial{}
	upstream := flag.String("upstream", "", "directory of upstream's programs")
	ours := flag.String("ours", "", "directory of this project's, under the same names")
	record := flag.Bool("record", false, "write the table of upstream's answers instead of comparing")
	tables := flag.String("tables", ".", "directory of upstream.tsv and ours.tsv")
	only := flag.String("case", "", "one case alone")
	flag.StringVar(&t.kubelet, "kubelet", "", "the kubelet's program")
	flag.StringVar(&t.sampleDriver, "sample-driver", "", "the sample driver's program")
	flag.StringVar(&t.logs, "logs", "", "where the logs go")
	flag.Parse()
	must(0, os.MkdirAll(t.logs, 0o755))

	var both sync.WaitGroup
	seen := map[string]map[string]string{}
	var lock sync.Mutex
	for name, directory := range map[string]string{"upstream": *upstream, "ours": *ours} {
		if directory == "" {
			continue
		}
		both.Add(1)
		go func() {
			defer both.Done()
			one := t.play(programsIn(name, directory), *only)
			lock.Lock()
			seen[name] = one
			lock.Unlock()
		}()
	}
	both.Wait()

	recordPath := filepath.Join(*tables, "upstream.tsv")
	if *record {
		head := "# The behaviour of upstream's sidecars in each case: integration/sidecars/run.sh --record\n"
		if err := writeTable(recordPath, head, seen["upstream"]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	recorded := must(readTable(recordPath))
	differences := must(readTable(filepath.Join(*tables, "ours.tsv")))
	if *only != "" {
		for _, table := range []map[string]string{recorded, differences} {
			for name := range table {
				if len(name) < len(*only)+2 || name[:len(*only)+2] != *only+": " {
					delete(table, name)
				}
			}
		}
	}
	c := &checks{}
	if seen["upstream"] != nil {
		c.equal("upstream", recorded, seen["upstream"])
	}
	if seen["ours"] != nil {
		wanted := withDifferences(recorded, differences)
		for name := range seen["ours"] {
			// Flags of older releases, of KEP-4958 and of our own.
			if _, known := wanted[name]; !known && strings.HasPrefix(name, "flags: ") {
				delete(seen["ours"], name)
			}
		}
		c.equal("ours", wanted, seen["ours"])
	}
	os.Exit(c.end("sidecars, case by case"))
}

// facts are the observations of a case: text of one line for each name.
type facts struct {
	lock sync.Mutex
	seen map[string]string
}

func newFacts() *facts { return &facts{seen: map[string]string{}} }

func (f *facts) set(name, value string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.seen[name] = strings.NewReplacer("\n", "\\n", "\t", " ").Replace(value)
}

// readTable reads lines of name, tab and value; further columns are comments.
func readTable(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	table := map[string]string{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			columns := strings.Split(line, "\t")
			if len(columns) < 2 {
				return nil, fmt.Errorf("%s: a line without a tab: %s", path, line)
			}
			table[columns[0]] = columns[1]
		}
	}
	return table, lines.Err()
}

func writeTable(path, head string, table map[string]string) error {
	text := head
	for _, name := range sortedKeys(table) {
		text += name + "\t" + table[name] + "\n"
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func sortedKeys(table map[string]string) []string {
	names := []string{}
	for name := range table {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

type checks struct{ passed, failed int }

func (c *checks) that(name string, ok bool, why string, arguments ...any) {
	if ok {
		c.passed++
		fmt.Println("ok   " + name)
		return
	}
	c.failed++
	fmt.Printf("FAIL %s: %s\n", name, fmt.Sprintf(why, arguments...))
}

// end prints how many checks passed and returns the process's exit code.
func (c *checks) end(what string) int {
	fmt.Printf("%s: %d passed, %d failed\n", what, c.passed, c.failed)
	if c.failed > 0 || c.passed == 0 {
		return 1
	}
	return 0
}

// equal makes a check for each fact of either map.
func (c *checks) equal(title string, wanted, seen map[string]string) {
	all := map[string]string{}
	for name := range wanted {
		all[name] = ""
	}
	for name := range seen {
		all[name] = ""
	}
	for _, name := range sortedKeys(all) {
		w, isWanted := wanted[name]
		s, isSeen := seen[name]
		switch {
		case !isWanted:
			c.that(title+": "+name, false, "not in the table: %s", s)
		case !isSeen:
			c.that(title+": "+name, false, "not seen; the table has: %s", w)
		default:
			c.that(title+": "+name, w == s, "\n       the table has: %s\n       seen:          %s", w, s)
		}
	}
}
