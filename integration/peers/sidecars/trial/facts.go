package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
)

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
