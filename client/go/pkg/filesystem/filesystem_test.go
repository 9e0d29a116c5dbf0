package filesystem

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recorder is a host API that only records its calls.
type recorder struct{ asked []string }

func (r *recorder) ask(what string) error { r.asked = append(r.asked, what); return nil }

func (r *recorder) PathExists(path string) (bool, error) { return true, r.ask("exists " + path) }
func (r *recorder) PathValid(path string) (bool, error)  { return true, r.ask("valid " + path) }
func (r *recorder) Mkdir(path string) error              { return r.ask("mkdir " + path) }
func (r *recorder) Rmdir(path string, force bool) error  { return r.ask("rmdir " + path) }
func (r *recorder) RmdirContents(path string) error      { return r.ask("contents " + path) }
func (r *recorder) CreateSymlink(oldname, new string) error {
	return r.ask("link " + new + " to " + oldname)
}
func (r *recorder) IsSymlink(path string) (bool, error) { return true, r.ask("link? " + path) }

func TestPathsAreValidatedBeforeTheHostIsCalled(t *testing.T) {
	for _, c := range []struct {
		path string
		ok   bool
	}{
		{`C:\var\lib\kubelet\pods\vol-a`, true},
		{`C:\var\lib\kubelet\plugins\vol-a`, true},
		{`d:\`, true},
		{`C:\` + strings.Repeat("a", 257), true},
		{`C:\` + strings.Repeat("a", 258), false},
		{"", false},
		{`C:`, false},
		{`C:vol`, false},
		{`1:\vol`, false},
		{`var\lib`, false},
		{`\var\lib`, false},
		{`\\server\share`, false},
		{`\\?\C:\vol`, false},
		{`/var/lib`, false},
		{`C:/var/lib`, false},
		{`C:\var/lib`, false},
		{`C:\var\c:\lib`, false},
		{`C:\var\..\lib`, false},
		{`C:\var\*`, false},
		{`C:\var\?`, false},
		{`C:\var\|`, false},
		{`C:\var\"`, false},
	} {
		host := &recorder{}
		files, _ := New(host)
		ctx := context.Background()
		_, exists := files.PathExists(ctx, &PathExistsRequest{Path: c.path})
		_, mkdir := files.Mkdir(ctx, &MkdirRequest{Path: c.path})
		_, rmdir := files.Rmdir(ctx, &RmdirRequest{Path: c.path, Force: true})
		_, contents := files.RmdirContents(ctx, &RmdirContentsRequest{Path: c.path})
		_, from := files.CreateSymlink(ctx, &CreateSymlinkRequest{SourcePath: c.path, TargetPath: `C:\other`})
		_, to := files.CreateSymlink(ctx, &CreateSymlinkRequest{SourcePath: `C:\other`, TargetPath: c.path})
		for i, err := range []error{exists, mkdir, rmdir, contents, from, to} {
			if ok := err == nil; ok != c.ok {
				t.Errorf("%q, call %d: %v", c.path, i, err)
			}
			if err != nil && (status.Code(err) != codes.InvalidArgument || !errors.Is(err, fs.ErrInvalid)) {
				t.Errorf("%q, call %d: %v has the code %v", c.path, i, err, status.Code(err))
			}
		}
		if asked := len(host.asked); c.ok && asked != 6 || !c.ok && asked != 0 {
			t.Errorf("%q: the host was asked %q", c.path, host.asked)
		}
	}
}

func TestIsSymlinkAndPathValidPassAnyPathToTheHost(t *testing.T) {
	host := &recorder{}
	files, _ := New(host)
	if link, err := files.IsSymlink(context.Background(), &IsSymlinkRequest{Path: `\var\lib`}); err != nil || !link.IsSymlink {
		t.Error(link, err)
	}
	if valid, err := files.PathValid(context.Background(), &PathValidRequest{Path: `\\server\share`}); err != nil || !valid.Valid {
		t.Error(valid, err)
	}
	if want := []string{`link? \var\lib`, `valid \\server\share`}; strings.Join(host.asked, ";") != strings.Join(want, ";") {
		t.Errorf("the host was asked %q", host.asked)
	}
}
