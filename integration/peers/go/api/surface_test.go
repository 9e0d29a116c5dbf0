package api

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

func check(t *testing.T, source string) *types.Package {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", "package p\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{Importer: importer.Default()}).Check("p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

func TestDifferences(t *testing.T) {
	const before = `
type T struct { A int; b int }
func (T) M(a int) error { return nil }
type I interface { M() }
type secret func(int)
func F(s secret) {}
const C = 1
var V []T`
	for _, c := range []struct {
		name, after string
		want        int
	}{
		{"the same", before, 0},
		{"more, and other names", `
type T struct { A int; c string }
func (T) M(z int) error { return nil }
func (T) N() {}
type I interface { M() }
type secret func(int)
func F(f secret) {}
func G() {}
const C = 1
const D = 2
var V []T`, 0},
		{"all gone", ``, 8},
		{"a field", `
type T struct { A int; B int }
func (T) M(a int) error { return nil }
type I interface { M() }
type secret func(int)
func F(s secret) {}
const C = 1
var V []T`, 1},
		{"incomparable", `
type T struct { A int; b []int }
func (T) M(a int) error { return nil }
type I interface { M() }
type secret func(int)
func F(s secret) {}
const C = 1
var V []T`, 1},
		{"pointer receiver, value, method, secret", `
type T struct { A int; b int }
func (*T) M(a int) error { return nil }
type I interface { M(); N() }
type secret func(string)
func F(s secret) {}
const C = 2
var V []T`, 4},
	} {
		if found := differences(surface(check(t, before)), surface(check(t, c.after))); len(found) != c.want {
			t.Errorf("%s: %d differences: %q", c.name, len(found), found)
		}
	}
}
