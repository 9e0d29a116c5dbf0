// Package api compares what Go packages export.
package api

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// surface returns what a package exports, one line for each name: its declaration, or a field or method. Code
// that compiles with one line compiles with an equal line.
func surface(pkg *types.Package) map[string]string {
	lines := map[string]string{}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		if !ast.IsExported(name) {
			continue
		}
		switch object := scope.Lookup(name).(type) {
		case *types.Const:
			lines[name] = fmt.Sprintf("const %s = %s", shape(object.Type()), object.Val().ExactString())
		case *types.Var:
			lines[name] = "var " + shape(object.Type())
		case *types.Func:
			lines[name] = shape(object.Type())
		case *types.TypeName:
			describe(lines, name, object)
		}
	}
	return lines
}

// describe adds the lines of a type.
func describe(lines map[string]string, name string, object *types.TypeName) {
	if object.IsAlias() {
		lines[name] = "alias of " + shape(object.Type())
		return
	}
	lines[name] = "type"
	if types.Comparable(object.Type()) {
		lines[name] = "comparable type"
	}
	switch of := object.Type().Underlying().(type) {
	case *types.Struct:
		lines[name] += " struct"
		// All fields in one line: another field breaks literals without names.
		var fields []string
		for i := 0; i < of.NumFields(); i++ {
			if field := of.Field(i); field.Exported() {
				fields = append(fields, fmt.Sprintf("%s %s %q %t", field.Name(), shape(field.Type()), of.Tag(i), field.Embedded()))
			}
		}
		lines[name+"{}"] = strings.Join(fields, "; ")
	case *types.Interface:
		// Another method breaks implementations of the interface.
		lines[name] += " " + shape(of)
		return
	default:
		lines[name] += " " + shape(of)
	}
	for _, receiver := range []struct {
		mark string
		of   types.Type
	}{{"", object.Type()}, {"*", types.NewPointer(object.Type())}} {
		methods := types.NewMethodSet(receiver.of)
		for i := 0; i < methods.Len(); i++ {
			if method := methods.At(i).Obj(); method.Exported() {
				lines["("+receiver.mark+name+")."+method.Name()] = shape(method.Type())
			}
		}
	}
}

// shape formats a type without parameter names; unexported types with their definition.
func shape(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		name := t.Obj().Name()
		if t.Obj().Pkg() != nil {
			name = t.Obj().Pkg().Path() + "." + name
		}
		if t.Obj().Pkg() != nil && !t.Obj().Exported() {
			name += " = " + shape(t.Underlying())
		}
		return name
	case *types.Signature:
		out := "func" + tuple(t.Params()) + tuple(t.Results())
		if t.Variadic() {
			out += " variadic"
		}
		return out
	case *types.Interface:
		var methods []string
		for i := 0; i < t.NumMethods(); i++ {
			methods = append(methods, t.Method(i).Name()+" "+shape(t.Method(i).Type()))
		}
		return "interface{" + strings.Join(methods, "; ") + "}"
	case *types.Pointer:
		return "*" + shape(t.Elem())
	case *types.Slice:
		return "[]" + shape(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), shape(t.Elem()))
	case *types.Map:
		return "map[" + shape(t.Key()) + "]" + shape(t.Elem())
	}
	return types.TypeString(t, nil)
}

func tuple(t *types.Tuple) string {
	var of []string
	for i := 0; i < t.Len(); i++ {
		of = append(of, shape(t.At(i).Type()))
	}
	return "(" + strings.Join(of, ", ") + ")"
}

// differences returns the parts of one surface that the other lacks or declares differently. Additions in the
// other are not differences.
func differences(one, other map[string]string) []string {
	var found []string
	for name, line := range one {
		if has, there := other[name]; !there {
			found = append(found, name+" is missing")
		} else if has != line {
			found = append(found, fmt.Sprintf("%s is %s, not %s", name, has, line))
		}
	}
	return found
}
