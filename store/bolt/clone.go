package bolt

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
)

// clone copies a row with everything that it points to. Strings and times are never changed and stay shared.
func clone[T any](v *T) T {
	out := *v
	if own := owner(reflect.TypeFor[T]()); own != nil {
		own(reflect.ValueOf(&out).Elem())
	}
	return out
}

// own replaces what an addressable value points to by a copy.
type own func(reflect.Value)

// owners are by type; what has nothing to copy has a nil one.
var owners sync.Map

func owner(t reflect.Type) own {
	if f, ok := owners.Load(t); ok {
		return f.(own)
	}
	f := newOwner(t)
	owners.Store(t, f)
	return f
}

func newOwner(t reflect.Type) own {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return nil
	case t == reflect.TypeFor[[]string]():
		return func(v reflect.Value) {
			s := v.Addr().Interface().(*[]string)
			*s = slices.Clone(*s)
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		return ownStruct(t)
	case reflect.Slice:
		return ownSlice(t)
	case reflect.Map:
		return ownMap(t)
	case reflect.Pointer:
		return ownPointer(t)
	case reflect.Array, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		panic(fmt.Sprintf("store: a row cannot hold a %s", t))
	}
	return nil
}

func ownStruct(t reflect.Type) own {
	type field struct {
		at  int
		own own
	}
	var fields []field
	for i := range t.NumField() {
		if f := newOwner(t.Field(i).Type); f != nil {
			fields = append(fields, field{i, f})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return func(v reflect.Value) {
		for _, f := range fields {
			f.own(v.Field(f.at))
		}
	}
}

func ownSlice(t reflect.Type) own {
	if t.Elem().Kind() == reflect.Uint8 {
		return func(v reflect.Value) { v.SetBytes(bytes.Clone(v.Bytes())) }
	}
	inner := newOwner(t.Elem())
	return func(v reflect.Value) {
		if v.IsNil() {
			return
		}
		n := v.Len()
		made := reflect.MakeSlice(t, n, n)
		reflect.Copy(made, v)
		v.Set(made)
		for i := 0; inner != nil && i < n; i++ {
			inner(v.Index(i))
		}
	}
}

func ownMap(t reflect.Type) own {
	inner := newOwner(t.Elem())
	return func(v reflect.Value) {
		if v.IsNil() {
			return
		}
		made := reflect.MakeMapWithSize(t, v.Len())
		for all := v.MapRange(); all.Next(); {
			e := reflect.New(t.Elem()).Elem()
			if e.Set(all.Value()); inner != nil {
				inner(e)
			}
			made.SetMapIndex(all.Key(), e)
		}
		v.Set(made)
	}
}

func ownPointer(t reflect.Type) own {
	inner := newOwner(t.Elem())
	return func(v reflect.Value) {
		if v.IsNil() {
			return
		}
		made := reflect.New(t.Elem())
		if made.Elem().Set(v.Elem()); inner != nil {
			inner(made.Elem())
		}
		v.Set(made)
	}
}
