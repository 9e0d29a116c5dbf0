// Compares how the service and the sidecars read random command lines with Go's flag package, which has the flags of
// every Go release, and with klog. run.sh runs it.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/klog"
	klog2 "k8s.io/klog/v2"
)

const separator = "\x1f"

type list []string

func (l *list) String() string     { return strings.Join(*l, separator) }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// program is one of the Go programs. define gives a set the flags of all its releases, except
// klog's.
type program struct {
	name   string
	define func(f *flag.FlagSet, dirs *list)
	klogs  []func(*flag.FlagSet)
}

var klogs = []func(*flag.FlagSet){klog.InitFlags, klog2.InitFlags}

const kubelet = `C:\var\lib\kubelet`

var programs = []program{
	{"csi-proxy", func(f *flag.FlagSet, dirs *list) {
		for _, name := range []string{"kubelet-path", "kubelet-csi-plugins-path", "kubelet-pod-path"} {
			f.String(name, kubelet, "")
		}
		f.Bool("windows-service", false, "")
		f.Bool("require-privacy", true, "")
		f.String("metrics-bind-address", "", "")
		f.Var(dirs, "working-dir", "")
	}, klogs},
	// The sidecars had klog v1 and v2 until 2.11 and 2.12; its last flags came later.
	{"csi-node-driver-registrar", func(f *flag.FlagSet, _ *list) {
		for _, name := range []string{"csi-address", "kubelet-registration-path", "plugin-registration-path", "http-endpoint", "mode"} {
			f.String(name, "", "")
		}
		f.Duration("connection-timeout", 0, "")
		f.Duration("timeout", 0, "")
		f.Int("health-port", 0, "")
		f.Bool("version", false, "")
		f.Bool("enable-pprof", false, "")
	}, klogs[:1]},
	{"livenessprobe", func(f *flag.FlagSet, _ *list) {
		for _, name := range []string{"csi-address", "health-port", "metrics-address", "metrics-path", "http-endpoint"} {
			f.String(name, "", "")
		}
		f.Duration("connection-timeout", 0, "")
		f.Duration("probe-timeout", 0, "")
	}, klogs[:1]},
}

// outcome is how one release reads a line.
type outcome struct {
	set        *flag.FlagSet
	given      map[string]bool
	dirs       list
	err        error
	help, fail bool
}

// defaults has the defaults of each klog's flags, before the first line.
var defaults = map[string]string{}

func (p program) parse(words []string, klog func(*flag.FlagSet)) outcome {
	o := outcome{set: flag.NewFlagSet(p.name, flag.ContinueOnError), given: map[string]bool{}}
	o.set.SetOutput(io.Discard)
	klog(o.set)
	// klog's flags write to variables of the process, so an earlier line may have changed the values
	// and the defaults. Each flag gets its first default again.
	o.set.VisitAll(func(f *flag.Flag) {
		key := fmt.Sprint(reflect.ValueOf(klog).Pointer(), f.Name)
		if _, known := defaults[key]; !known {
			defaults[key] = f.DefValue
		}
		if f.Value.Set(defaults[key]) != nil {
			f.Value.Set("")
		}
	})
	p.define(o.set, &o.dirs)
	o.err = o.set.Parse(words)
	o.help = errors.Is(o.err, flag.ErrHelp)
	o.fail = o.err != nil && !o.help
	o.set.Visit(func(f *flag.Flag) { o.given[f.Name] = true })
	return o
}

// The first difference that is on purpose (server/README.md, "Command lines of the Go releases"): a directory must be an
// absolute path.
var absolute = regexp.MustCompile(`^[A-Za-z]:\\[^:]*$`)

func upper(dir string) string {
	if dir == "" {
		return dir
	}
	return strings.ToUpper(dir[:1]) + dir[1:]
}

func directories(o outcome) (all list, plugins, pods string) {
	// The answers of read_flags have drive letters in upper case.
	value := func(name string) string { return upper(o.set.Lookup(name).Value.String()) }
	for _, dir := range o.dirs {
		all = append(all, upper(dir))
	}
	if o.given["kubelet-csi-plugins-path"] || o.given["kubelet-pod-path"] {
		plugins, pods = value("kubelet-csi-plugins-path"), value("kubelet-pod-path")
		all = append(all, plugins, pods)
		if !o.given["kubelet-path"] { // Releases with these flags did not have it.
			return all, plugins, pods
		}
	}
	all = append(all, value("kubelet-path"))
	return all, plugins, pods
}

// differs returns how ours, an answer of read_flags, differs from Go's outcome, or "".
func differs(p program, o outcome, ours []string) string {
	service := p.name == "csi-proxy"
	if !service && o.err != nil && strings.HasPrefix(o.err.Error(), `invalid value "" for flag -log_backtrace_at`) {
		return "" // klog v1.0.0 refuses it, and the klog of later sidecars takes it.
	}
	var dirs list
	var plugins, pods string
	if service && !o.fail && !o.help {
		dirs, plugins, pods = directories(o)
		for _, dir := range dirs {
			o.fail = o.fail || !absolute.MatchString(dir)
		}
	}
	if expected := map[bool]string{true: "refused", false: "taken"}[o.fail]; o.help && ours[0] != "help" || !o.help && ours[0] != expected {
		return fmt.Sprintf("Go: fail=%v help=%v %v", o.fail, o.help, o.err)
	}
	if o.fail || o.help {
		return ""
	}
	var rest, ourDirs []string
	for _, pair := range ours[1:] {
		name, value, _ := strings.Cut(pair, "=")
		f := o.set.Lookup(name)
		switch {
		case name == "REST":
			rest = append(rest, value)
		case name == "DIRECTORY":
			ourDirs = append(ourDirs, value)
		case name == "PLUGIN" && value != plugins, name == "POD" && value != pods:
			return fmt.Sprintf("%s is %q", name, value)
		case service && name == "log_file_max_size":
			// The second difference: the default is 20. 0 means no limit, and so does a value whose bytes no
			// counter holds.
			megabytes, _ := strconv.ParseUint(f.Value.String(), 0, 64)
			const most = 1<<44 - 1
			if !o.given[name] {
				megabytes = 20
			} else if megabytes == 0 || megabytes > most {
				megabytes = most
			}
			if value != fmt.Sprint(megabytes) {
				return fmt.Sprintf("%s is %s, not %d", name, value, megabytes)
			}
		case !service && (name == "add_dir_header" || name == "skip_headers"):
			// klog v1.0.0 stores both in one variable.
		case f != nil && (service || o.given[name]):
			// Go must read our value and the line's value as equal. Sidecars have other defaults than the Go
			// programs here.
			before := f.Value.String()
			if err := f.Value.Set(value); err != nil || f.Value.String() != before {
				return fmt.Sprintf("%s is %q, not %q: %v", name, value, before, err)
			}
		}
	}
	if !reflect.DeepEqual(rest, append([]string(nil), o.set.Args()...)) {
		return fmt.Sprintf("after the flags: %q, not %q", rest, o.set.Args())
	}
	if !reflect.DeepEqual(ourDirs, []string(dirs)) {
		return fmt.Sprintf("directories: %q, not %q", ourDirs, dirs)
	}
	return ""
}

// pieces make values; a value is one of `words`, or some of `pieces` in a row.
type pieces struct{ words, pieces []string }

func split(s string) []string { return strings.Split(s, " ") }

var (
	booleans  = pieces{split("1 0 t f T F true false TRUE FALSE True False"), split("t r u e T true 1 0 yes no on")}
	numbers   = pieces{split("0 4 -4 +7 0x10 0X1f 0b11 0o17 017 1_000 2147483647 2147483648 -2147483648 -2147483649 9223372036854775807 9223372036854775808 -9223372036854775808 18446744073709551615 18446744073709551616"), split("0 1 7 9 _ x X b B o O + - a f 0x 1.5 \u0661")}
	severity  = pieces{split("INFO info Warning ERROR FATAL 2 -1"), split("INFO F 1 - x")}
	modules   = pieces{split("a=1 a*=0,b=2 a.go=4,"), split("a b* = 1 , - + 0 .")}
	backtrace = pieces{split("a.go:1 x.y:+2"), split("a . go : 1 0 - +")}
	durations = pieces{split("0 10s 1h2m3.5s 500ms 5µs -1.5h .5s 1.s"), split("1 h m s ms us ns µ μ . 5 - + 0 9223372036854775807 inf")}
	paths     = pieces{split(`C:\a D:\var\lib\k C:\var\lib\kubelet e:\`), split(`relative \x C: C:rel`)}
	texts     = pieces{split(`x C:\x\csi-proxy.log :8888 127.0.0.1:1 -x a=b - -- = -v=4`), split("a = - .")}
)

func kind(f *flag.Flag) pieces {
	switch name := f.Name; {
	case name == "kubelet-path" || name == "working-dir" || strings.HasPrefix(name, "kubelet-csi-") || strings.HasPrefix(name, "kubelet-pod"):
		return paths
	case strings.HasSuffix(name, "threshold"):
		return severity
	case name == "vmodule":
		return modules
	case name == "log_backtrace_at":
		return backtrace
	case strings.HasSuffix(name, "timeout"):
		return durations
	case name == "v" || name == "log_file_max_size" || name == "health-port":
		return numbers
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return booleans
	}
	return texts
}

func (p pieces) value(r *rand.Rand) string {
	if r.Intn(12) > 0 {
		return p.words[r.Intn(len(p.words))]
	}
	var value string
	for n := r.Intn(6); n > 0; n-- {
		value += p.pieces[r.Intn(len(p.pieces))]
	}
	return value
}

// line returns the words of a random command line. Go accepts most of the lines.
func (p program) line(r *rand.Rand) (words []string) {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	p.klogs[len(p.klogs)-1](f)
	p.define(f, new(list))
	var flags []*flag.Flag
	f.VisitAll(func(f *flag.Flag) { flags = append(flags, f) })
	for n := r.Intn(6); n >= 0; n-- {
		chosen := flags[r.Intn(len(flags))]
		values := kind(chosen)
		name := "-" + strings.Repeat("-", r.Intn(2)) + chosen.Name
		switch r.Intn(40) {
		case 0:
			words = append(words, split("word - -- false --- -- =x -=x -h -help --help=x -bogus -V --kubelet-pat")[r.Intn(14)])
		case 1:
			words = append(words, "", name)
		case 2:
			words = append(words, "-"+name+"=1")
		case 3, 4, 5, 6:
			words = append(words, name)
		case 7, 8, 9, 10, 11:
			words = append(words, name, values.value(r))
		case 12:
			words = append(words, name+"=")
		default:
			words = append(words, name+"="+values.value(r))
		}
	}
	return words
}

func main() {
	reader := flag.String("reader", "", "read_flags")
	lines := flag.Int("lines", 1000, "lines for each program")
	seed := flag.Int64("seed", 1, "")
	older := flag.Bool("older", false, "this klog is not the last: a line that it refuses may be taken")
	flag.Parse()
	r := rand.New(rand.NewSource(*seed))
	var input bytes.Buffer
	type command struct {
		program
		words []string
	}
	var commands []command
	for _, p := range programs {
		for i := 0; i < *lines; i++ {
			commands = append(commands, command{p, p.line(r)})
			fmt.Fprintln(&input, strings.Join(append([]string{p.name}, commands[len(commands)-1].words...), separator))
		}
	}
	ours := exec.Command(*reader)
	ours.Stdin, ours.Stderr = &input, os.Stderr
	output, err := ours.Output()
	if err != nil {
		fmt.Println("read_flags:", err)
		os.Exit(1)
	}
	answers := bufio.NewScanner(bytes.NewReader(output))
	taken, bad := 0, 0
	for _, c := range commands {
		answers.Scan()
		answer := strings.Split(answers.Text(), separator)
		// A line counts as accepted if one release accepts it. The last klog accepts the most flags.
		var o outcome
		for _, klog := range c.klogs {
			if o = c.parse(c.words, klog); !o.fail {
				break
			}
		}
		if *older && o.fail {
			continue
		}
		if !o.fail {
			taken++
		}
		if why := differs(c.program, o, answer); why != "" {
			bad++
			fmt.Printf("%s %q: %s\n  here: %q\n", c.name, c.words, why, answer)
		}
	}
	fmt.Printf("%d command lines from seed %d: Go takes %d, and %d are read otherwise here\n", len(commands), *seed, taken, bad)
	if bad > 0 || taken < len(commands)/3 {
		os.Exit(1)
	}
}
