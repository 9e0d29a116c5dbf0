package csiproxy

import (
	"flag"
	"strings"
	"testing"
)

func TestChooseFollowsOptionVariableAndPipes(t *testing.T) {
	for _, test := range []struct {
		name        string
		mode        Mode
		environment string
		pipe        string
		may         bool
		want        Mode
		reason      string
		failure     string
	}{
		{name: "remote is remote", mode: Remote, environment: "embedded", may: true, want: Remote},
		{name: "embedded is embedded", mode: Embedded, environment: "remote", pipe: "p", want: Embedded},
		{name: "a wrong variable is nobody's but Auto's", mode: Remote, environment: "both", want: Remote},
		{name: "pinned to remote", environment: "remote", may: true, want: Remote, reason: "CSI_PROXY_MODE"},
		{name: "pinned to embedded", environment: "embedded", pipe: "p", want: Embedded, reason: "CSI_PROXY_MODE"},
		{name: "auto is no pin", environment: "auto", pipe: "p", may: true, want: Remote, reason: "there is a pipe p"},
		{name: "a pipe", pipe: "p", may: true, want: Remote, reason: "there is a pipe p"},
		{name: "a pipe, and no rights", pipe: "p", want: Remote, reason: "there is a pipe p"},
		{name: "no pipe", may: true, want: Embedded, reason: "there is no pipe of the service, and because"},
		{name: "no pipe, and no rights", want: Remote, reason: "because"},
		{name: "a wrong variable", environment: "Remote", pipe: "p", failure: `CSI_PROXY_MODE: "Remote" is not one of auto, remote, embedded`},
		{name: "a mode there is not", mode: 7, failure: "there is no Mode(7)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, reason, err := choose(test.mode, test.environment, conditions{
				pipe:      func() string { return test.pipe },
				mayManage: func() (bool, string) { return test.may, "because" },
			})
			if test.failure != "" {
				if err == nil || err.Error() != test.failure {
					t.Fatalf("got %v, %v, want the error %q", got, err, test.failure)
				}
				return
			}
			if err != nil || got != test.want {
				t.Fatalf("got %v, %v, want %v", got, err, test.want)
			}
			if (reason == "") != (test.reason == "") || !strings.Contains(reason, test.reason) {
				t.Errorf("the reason is %q, want %q in it", reason, test.reason)
			}
		})
	}
}

func TestModeCanBeUsedAsAFlag(t *testing.T) {
	mode := Auto
	flags := flag.NewFlagSet("driver", flag.ContinueOnError)
	flags.Var(&mode, "csi-proxy-mode", "where storage is managed")
	if err := flags.Parse([]string{"-csi-proxy-mode=embedded"}); err != nil || mode != Embedded {
		t.Errorf("got %v, %v", mode, err)
	}
	flags.SetOutput(new(strings.Builder))
	if err := flags.Parse([]string{"-csi-proxy-mode=local"}); err == nil || mode != Embedded {
		t.Errorf("a mode there is not gave %v, %v", mode, err)
	}
}

func TestAutoLogsItsChoiceInOneLine(t *testing.T) {
	t.Setenv("CSI_PROXY_MODE", "remote")
	var lines []string
	conn, err := Connect(Auto, WithLog(func(severity Severity, line string) {
		if severity != SeverityInfo {
			t.Errorf("severity %d", severity)
		}
		lines = append(lines, line)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.Mode() != Remote {
		t.Errorf("the mode is %v", conn.Mode())
	}
	if len(lines) != 1 || lines[0] != "csiproxy: the mode is remote: CSI_PROXY_MODE requests it" {
		t.Errorf("got %q", lines)
	}
}

func TestConnectErrorNamesTheWrongVariable(t *testing.T) {
	t.Setenv("CSI_PROXY_MODE", "local")
	if _, err := Connect(Auto); err == nil || !strings.Contains(err.Error(), "CSI_PROXY_MODE") {
		t.Errorf("got %v", err)
	}
}

func TestRegistryValueOrUserShowsAContainer(t *testing.T) {
	for _, test := range []struct {
		signs containerSigns
		want  bool
		why   string
	}{
		{containerSigns{known: true, user: "S-1-5-18"}, true, ""},
		{containerSigns{known: true, user: "S-1-5-930-1"}, true, ""},
		{containerSigns{known: true, containerType: true, user: "S-1-5-18"}, false, "runs in a container"},
		{containerSigns{known: true, user: "S-1-5-93-2-1"}, false, "runs in a container"},
		{containerSigns{user: "S-1-5-93-2-2"}, false, "runs in a container"},
		{containerSigns{user: "S-1-5-18"}, false, "does not say whether"},
		{containerSigns{known: true}, false, "does not say whether"},
	} {
		got, why := test.signs.outside()
		if got != test.want || !strings.Contains(why, test.why) {
			t.Errorf("%+v: got %v, %q", test.signs, got, why)
		}
		if !got && !strings.Contains(why, "CSI_PROXY_MODE=embedded") {
			t.Errorf("%+v: %q does not say how to embed", test.signs, why)
		}
	}
}
