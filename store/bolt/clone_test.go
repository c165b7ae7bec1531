package bolt

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"parley/core"
)

// full sets every field of an addressable value below depth, two of each list.
func full(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 8, 0, 0, 123456789, time.UTC)))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":[1,"b c"]}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			full(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 4))
		full(v.Index(0))
		full(v.Index(1))
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		full(e)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), e)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem())
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	default:
		panic(v.Type().String())
	}
}

// memory lists the addresses of all that a value points to, strings apart.
func memory(v reflect.Value, at map[uintptr]string, path string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			memory(v.Field(i), at, path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		at[v.Pointer()] = path
		for i := range v.Len() {
			memory(v.Index(i), at, path+"[]")
		}
	case reflect.Map:
		at[v.Pointer()] = path
		for _, k := range v.MapKeys() {
			memory(v.MapIndex(k), at, path+"[k]")
		}
	case reflect.Pointer:
		at[v.Pointer()] = path
		memory(v.Elem(), at, path)
	}
}

func testClone[T any](t *testing.T) {
	t.Run(reflect.TypeFor[T]().Name(), func(t *testing.T) {
		t.Parallel()
		var none, some T
		if got := clone(&none); !reflect.DeepEqual(got, none) {
			t.Errorf("of the zero row: %+v", got)
		}
		full(reflect.ValueOf(&some).Elem())
		got := clone(&some)
		if !reflect.DeepEqual(got, some) {
			t.Errorf("got %+v\nwant %+v", got, some)
		}
		of, copied := map[uintptr]string{}, map[uintptr]string{}
		memory(reflect.ValueOf(some), of, "")
		memory(reflect.ValueOf(got), copied, "")
		if len(of) != len(copied) {
			t.Errorf("%d pieces of memory, %d of the copy", len(of), len(copied))
		}
		for at, path := range copied {
			if _, ok := of[at]; ok {
				t.Errorf("%s is shared", path)
			}
		}
	})
}

// TestCloneSharesNothing fills every field of every row that is remembered, those added later too.
func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	testClone[core.Conversation](t)
	testClone[core.Run](t)
	testClone[core.Call](t)
	testClone[core.Input](t)
	testClone[core.Out](t)
	testClone[claimRow](t)
}
