package gotool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/gotool"
	"parley/core/tool/schema"
)

type dropArgs struct {
	Name  string `json:"name" jsonschema:"the database to delete"`
	Force bool   `json:"force,omitempty"`
}

func drop(_ *tool.Context, in dropArgs) (string, error) {
	return fmt.Sprintf("dropped %s %v", in.Name, in.Force), nil
}

func call(t *testing.T, x tool.Tool, args string) (string, error) {
	t.Helper()
	return x.Call(tool.NewContext(t.Context(), "k", tool.Identity{}, nil, nil), json.RawMessage(args))
}

func TestNewMakesTheSpec(t *testing.T) {
	t.Parallel()
	s := gotool.New("db", "drop", "Delete a database.", drop, gotool.Idempotent(), gotool.ApproversOnly()).Spec()
	if s.FullName() != "db__drop" || s.Type != core.ToolAction || !s.Idempotent || !s.ApproversOnly || s.Policy != nil {
		t.Errorf("spec %+v", s)
	}
	if _, problems := schema.Prepare(s.Schema, json.RawMessage(`{"name":"staging"}`)); problems != nil {
		t.Errorf("good arguments: %q", problems)
	}
	for _, bad := range []string{`{}`, `{"name":1}`, `{"name":"x","other":1}`} {
		if _, problems := schema.Prepare(s.Schema, json.RawMessage(bad)); problems == nil {
			t.Errorf("%s fits", bad)
		}
	}
	if !strings.Contains(string(s.Schema), "the database to delete") {
		t.Errorf("schema %s has no description", s.Schema)
	}
	if s := gotool.New("db", "list", "", drop, gotool.ReadOnly()).Spec(); s.Type != core.ToolRead {
		t.Errorf("type %s", s.Type)
	}
}

func TestNewPanicsWithoutAStruct(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a tool of a bare string was made")
		}
	}()
	gotool.New("db", "drop", "", func(*tool.Context, string) (string, error) { return "", nil })
}

func TestCall(t *testing.T) {
	t.Parallel()
	x := gotool.New("db", "drop", "", drop)
	if out, err := call(t, x, `{"name":"staging","force":true}`); out != "dropped staging true" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	for _, bad := range []string{``, `null`, `[]`, `{"name":1}`, `{"nmae":"x"}`, `{"name":"x"} {}`, `{"name":`} {
		if out, err := call(t, x, bad); !errors.Is(err, tool.ErrNotStarted) || out != "" {
			t.Errorf("%s: %q, %v", bad, out, err)
		}
	}
	failing := errors.New("no such database")
	broken := gotool.New("db", "drop", "", func(_ *tool.Context, in dropArgs) (string, error) {
		if in.Force {
			panic("boom")
		}
		return "", failing
	})
	if _, err := call(t, broken, `{"name":"x"}`); !errors.Is(err, failing) {
		t.Errorf("the tool's error became %v", err)
	}
	if out, err := call(t, broken, `{"name":"x","force":true}`); out != "" || err == nil || errors.Is(err, tool.ErrNotStarted) || !strings.Contains(err.Error(), "boom") {
		t.Errorf("a panic became %q, %v", out, err)
	}
}

func TestAnAskOfTheFunctionIsPassedOn(t *testing.T) {
	t.Parallel()
	x := gotool.New("db", "drop", "", func(ctx *tool.Context, in dropArgs) (string, error) {
		ok, err := ctx.Confirm("Delete " + in.Name + "?")
		if err != nil {
			return "", err
		}
		return fmt.Sprint(ok), nil
	})
	_, err := call(t, x, `{"name":"staging"}`)
	var ask *tool.AskError
	if !errors.As(err, &ask) || ask.Asked.Message != "Delete staging?" {
		t.Errorf("error %v", err)
	}
}

// PR-11: whatever goes wrong while a call is judged, it never runs unasked.
func TestPR11NeedsApprovalFunc(t *testing.T) {
	t.Parallel()
	judge := func(in dropArgs) (bool, error) {
		switch in.Name {
		case "error":
			return false, errors.New("x")
		case "panic":
			panic("x")
		}
		return in.Name != "scratch", nil
	}
	spec := gotool.New("db", "drop", "", drop, gotool.NeedsApprovalFunc(judge)).Spec()
	for args, need := range map[string]bool{
		`{"name":"scratch"}`: false, `{"name":"staging"}`: true, `{"name":"error"}`: true, `{"name":"panic"}`: true,
		`{`: true, `null`: true, `[]`: true, ``: true, `{"name":0}`: true, `{"name":"scratch","x":1}`: true, `"scratch"`: true,
	} {
		if v := tool.Decide(spec.Policy, json.RawMessage(args)); v.Need != need || need && v.Rule == "" {
			t.Errorf("%s: %+v, want %v", args, v, need)
		}
	}
}

func TestOneDemandIsEnough(t *testing.T) {
	t.Parallel()
	never := gotool.NeedsApprovalFunc(func(dropArgs) (bool, error) { return false, nil })
	for name, c := range map[string]struct {
		opts []gotool.Option
		need bool
	}{
		"always":           {[]gotool.Option{gotool.NeedsApproval(true)}, true},
		"never":            {[]gotool.Option{gotool.NeedsApproval(false)}, false},
		"always, then not": {[]gotool.Option{gotool.NeedsApproval(true), never}, true},
		"not, then always": {[]gotool.Option{never, gotool.NeedsApproval(true)}, true},
		"neither":          {[]gotool.Option{never, gotool.NeedsApproval(false)}, false},
	} {
		spec := gotool.New("db", "drop", "", drop, c.opts...).Spec()
		if v := tool.Decide(spec.Policy, json.RawMessage(`{"name":"x"}`)); v.Need != c.need {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
