package bolt

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"parley/core"
	"parley/store/storetest"
)

// odd fills a value with what JSON keeps and what it does not.
func odd(r *rand.Rand, v reflect.Value) {
	one := func(n int) bool { return r.IntN(n) == 0 }
	switch v.Interface().(type) {
	case time.Time:
		now := time.Now().Add(time.Duration(r.Int64N(1e15)))
		all := []time.Time{{}, now, now.UTC(), now.Round(0), now.In(time.Local), now.In(time.FixedZone("X", 3600)), now.In(time.FixedZone("Y", 0)), time.Time{}.In(time.Local), time.Unix(1, 0)}
		v.Set(reflect.ValueOf(all[r.IntN(len(all))]))
		return
	case json.RawMessage:
		all := []string{`{}`, `{"a":"b \" c"}`, `{"a": 1}`, "null", `"<&>"`, "\"\u2028\"", "[1,\n2]", `"\\"`, "1e3", "\"\xff\"", " 1", `"\\" `}
		if !one(4) {
			v.SetBytes([]byte(all[r.IntN(len(all))]))
		} else if one(2) {
			v.SetBytes(nil)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !one(3) {
				odd(r, v.Field(i))
			}
		}
	case reflect.Slice:
		n := r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n+1))
		for i := range n {
			odd(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			odd(r, k)
			odd(r, e)
			v.SetMapIndex(k, e)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		odd(r, v.Elem())
	case reflect.String:
		all := []string{"", "a", "é<&>\u2028\"\\", "\x00\x1f", "\xff", "a\xc3", "\ufffd", "😀"}
		if one(8) {
			v.SetString(all[r.IntN(len(all))])
		} else {
			v.SetString("text")
		}
	case reflect.Bool:
		v.SetBool(one(2))
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64() - r.Int64())
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	default:
		panic(v.Type().String())
	}
}

func testCanonical[T any](t *testing.T) {
	t.Run(reflect.TypeFor[T]().Name(), func(t *testing.T) {
		t.Parallel()
		r := rand.New(rand.NewPCG(1, 2))
		some := 0
		for range 20_000 {
			var v T
			odd(r, reflect.ValueOf(&v).Elem())
			raw, err := encode(v)
			if err != nil {
				continue
			}
			row := clone(&v)
			if !canonical(reflect.ValueOf(&row).Elem()) {
				continue
			}
			some++
			var want T
			if err := decode(raw, &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(row, want) {
				t.Fatalf("%s\n got %+v\nwant %+v", raw, row, want)
			}
		}
		if some == 0 {
			t.Error("nothing was canonical")
		}
	})
}

// TestCanonicalIsWhatIsRead holds the form of rows that are remembered as they are written against what
// decoding their bytes gives.
func TestCanonicalIsWhatIsRead(t *testing.T) {
	t.Parallel()
	testCanonical[core.Conversation](t)
	testCanonical[core.Run](t)
	testCanonical[core.Call](t)
	testCanonical[core.Input](t)
	testCanonical[core.Out](t)
	testCanonical[claimRow](t)
}

// TestUsualRowsAreCanonical keeps what the engine writes from being decoded again.
func TestUsualRowsAreCanonical(t *testing.T) {
	t.Parallel()
	r := storetest.Waiting(1, time.Now())
	for _, v := range []any{&r.Conversation, &r.Run, &r.Call, &r.Input, &r.Out, &claimRow{Token: "t"}} {
		if !canonical(reflect.ValueOf(v).Elem()) {
			t.Errorf("%T is not", v)
		}
	}
}

func TestTypesThatAreNotCanonical(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&struct{ A any }{}, &struct{ A []byte }{}, &struct{ A **int }{}, &struct{ a int }{}, &struct{ time.Time }{},
		&struct{ A float64 }{}, &struct {
			A int `json:",string"`
		}{}, &struct{ A time.Month }{}, &struct{ A json.Number }{}, &struct{ A map[int]int }{}, &struct{ A core.PersonID }{},
	} {
		switch v.(type) {
		case *struct{ A time.Month }, *struct{ A json.Number }, *struct{ A core.PersonID }: // plain numbers and texts
			if !canonical(reflect.ValueOf(v).Elem()) {
				t.Errorf("%T is not", v)
			}
		default:
			if canonical(reflect.ValueOf(v).Elem()) {
				t.Errorf("%T is", v)
			}
		}
	}
}
