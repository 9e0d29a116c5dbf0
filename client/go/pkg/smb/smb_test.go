package smb

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

// stepwise is a host API without MapShare, as a driver's test may have.
type stepwise struct {
	mapped bool
	asked  []string
}

func (h *stepwise) ask(what ...string) error {
	h.asked = append(h.asked, strings.Join(what, " "))
	return nil
}
func (h *stepwise) IsSMBMapped(remote string) (bool, error) {
	return h.mapped, h.ask("mapped?", remote)
}
func (h *stepwise) NewSMBLink(remote, local string) error      { return h.ask("link", local, remote) }
func (h *stepwise) RemoveSMBGlobalMapping(remote string) error { return h.ask("remove", remote) }
func (h *stepwise) NewSMBGlobalMapping(remote, user, password string) error {
	return h.ask("map", remote, user, password)
}

type files struct {
	fs.Interface
	err   error
	valid bool
}

func (f files) PathValid(context.Context, *fs.PathValidRequest) (*fs.PathValidResponse, error) {
	if f.err != nil {
		return nil, f.err
	}
	return &fs.PathValidResponse{Valid: f.valid}, nil
}

func TestNewSMBGlobalMappingDoesOnlyTheMissingSteps(t *testing.T) {
	const remote, link = `//Server/Share/Sub`, `C:\var\lib\kubelet\link`
	const made = `map \\server\share user secret`
	for _, c := range []struct {
		name   string
		mapped bool
		files  files
		local  string
		want   []string
	}{
		{"new", false, files{}, "", []string{`mapped? \\server\share`, made}},
		{"new, with a link", false, files{}, link, []string{`mapped? \\server\share`, made, `link ` + link + ` \\Server\Share\Sub`}},
		{"there", true, files{valid: true}, "", []string{`mapped? \\server\share`}},
		{"broken", true, files{}, "", []string{`mapped? \\server\share`, `remove \\server\share`, made}},
		{"cannot be told", true, files{err: errors.New("no answer")}, "", []string{`mapped? \\server\share`, `remove \\server\share`, made}},
	} {
		host := &stepwise{mapped: c.mapped}
		client, _ := New(host, c.files)
		_, err := client.NewSMBGlobalMapping(context.Background(), &NewSMBGlobalMappingRequest{
			RemotePath: remote, LocalPath: c.local, Username: "user", Password: "secret",
		})
		if err != nil || strings.Join(host.asked, ";") != strings.Join(c.want, ";") {
			t.Errorf("%s: %v, the host was asked %q", c.name, err, host.asked)
		}
	}
}

func TestPathsThatAreNotSharesAreRefused(t *testing.T) {
	for _, remote := range []string{"", "hostname", `\\hostname`, `\\hostname\`, "///"} {
		host := &stepwise{}
		client, _ := New(host, files{})
		_, mapping := client.NewSMBGlobalMapping(context.Background(), &NewSMBGlobalMappingRequest{RemotePath: remote})
		_, removal := client.RemoveSMBGlobalMapping(context.Background(), &RemoveSMBGlobalMappingRequest{RemotePath: remote})
		for _, err := range []error{mapping, removal} {
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%q: %v", remote, err)
			}
		}
		if len(host.asked) != 0 {
			t.Errorf("%q: the host was asked %q", remote, host.asked)
		}
	}
}

func TestShareOfAPathIsFound(t *testing.T) {
	for path, want := range map[string]string{
		`\\Host\Share`:          `\\host\share`,
		`\\host\share\`:         `\\host\share`,
		`\\host\share\sub\dir`:  `\\host\share`,
		`//host/share/sub`:      `\\host\share`,
		`\\10.0.0.1\share$\a b`: `\\10.0.0.1\share$`,
	} {
		if _, root, err := share(path); err != nil || root != want {
			t.Errorf("%q: %q, %v", path, root, err)
		}
	}
}
