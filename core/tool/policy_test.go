package tool_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"parley/core/tool"
)

var yes, no = true, false

func TestJudge(t *testing.T) {
	t.Parallel()
	mcp := func(name string) tool.Traits { return tool.Traits{Kind: tool.SourceMCP, Tool: name} }
	api := func(method string) tool.Traits {
		return tool.Traits{Kind: tool.SourceOpenAPI, Tool: "op", Method: method}
	}
	for name, c := range map[string]struct {
		a    tool.Approval
		t    tool.Traits
		rule string // "" for no need
	}{
		"MCP without annotations":     {tool.Approval{}, mcp("x"), "default: destructive"},
		"MCP read-only":               {tool.Approval{}, tool.Traits{Kind: tool.SourceMCP, ReadOnly: &yes}, ""},
		"MCP not destructive":         {tool.Approval{}, tool.Traits{Kind: tool.SourceMCP, Destructive: &no}, ""},
		"MCP destructive":             {tool.Approval{}, tool.Traits{Kind: tool.SourceMCP, ReadOnly: &no, Destructive: &yes}, "default: destructive"},
		"MCP not read-only":           {tool.Approval{}, tool.Traits{Kind: tool.SourceMCP, ReadOnly: &no}, "default: destructive"},
		"MCP never":                   {tool.Approval{Default: "never"}, mcp("x"), ""},
		"MCP always":                  {tool.Approval{Default: "always"}, tool.Traits{Kind: tool.SourceMCP, ReadOnly: &yes}, "default: always"},
		"tools beats default":         {tool.Approval{Default: "always", Tools: map[string]string{"x": "never"}}, mcp("x"), ""},
		"tools by name":               {tool.Approval{Default: "never", Tools: map[string]string{"delete_repo": "always"}}, mcp("delete_repo"), "tools.delete_repo: always"},
		"tools of another name":       {tool.Approval{Default: "never", Tools: map[string]string{"delete_repo": "always"}}, mcp("delete_repos"), ""},
		"tools destructive":           {tool.Approval{Default: "never", Tools: map[string]string{"x": "destructive"}}, mcp("x"), "tools.x: destructive"},
		"GET":                         {tool.Approval{}, api("GET"), ""},
		"options":                     {tool.Approval{}, api("options"), ""},
		"POST":                        {tool.Approval{}, api("POST"), "default: destructive"},
		"TRACE":                       {tool.Approval{}, api("TRACE"), "default: destructive"},
		"no method":                   {tool.Approval{}, api(""), "default: destructive"},
		"methods":                     {tool.Approval{Default: "never", Methods: []string{"post"}}, api("POST"), "methods: POST"},
		"another method":              {tool.Approval{Default: "never", Methods: []string{"POST"}}, api("DELETE"), ""},
		"methods keep the default":    {tool.Approval{Methods: []string{"GET"}}, api("DELETE"), "default: destructive"},
		"methods demand":              {tool.Approval{Methods: []string{"GET"}}, api("GET"), "methods: GET"},
		"tools beats methods":         {tool.Approval{Methods: []string{"POST"}, Tools: map[string]string{"op": "never"}}, api("POST"), ""},
		"Go":                          {tool.Approval{}, tool.Traits{Kind: tool.SourceGo}, ""},
		"Go destructive":              {tool.Approval{Default: "destructive"}, tool.Traits{Kind: tool.SourceGo}, "default: destructive"},
		"unknown kind":                {tool.Approval{}, tool.Traits{Kind: "x"}, "default: destructive"},
		"unknown word asks":           {tool.Approval{Default: "nope"}, tool.Traits{Kind: tool.SourceMCP, ReadOnly: &yes}, "default: nope"},
		"unknown word of a tool asks": {tool.Approval{Tools: map[string]string{"x": "false"}}, mcp("x"), "tools.x: false"},
	} {
		got := tool.Judge(c.a, c.t)
		if got.Rule != c.rule || got.Need != (c.rule != "") {
			t.Errorf("%s: %+v, want rule %q", name, got, c.rule)
		}
		if v := tool.Decide(tool.PolicyFor(c.a, c.t), nil); v != got {
			t.Errorf("%s: the policy says %+v", name, v)
		}
	}
}

// Words that would turn silence or a slip of the pen into consent are refused (as in EX-09).
func TestApprovalCheck(t *testing.T) {
	t.Parallel()
	good := tool.Approval{Default: "destructive", Tools: map[string]string{"a": "always", "b": "never"}, Methods: []string{"POST", "delete"}, Responders: "approvers"}
	if err := good.Check(); err != nil || !good.ApproversOnly() {
		t.Errorf("good: %v", err)
	}
	if err := (tool.Approval{}).Check(); err != nil {
		t.Errorf("empty: %v", err)
	}
	bad := tool.Approval{Default: "approve", Tools: map[string]string{"z": "accept", "a": ""}, Methods: []string{"FETCH"}, Responders: "anyone"}
	err := bad.Check()
	for _, want := range []string{`default: "approve"`, `tools.z: "accept"`, `tools.a: ""`, `methods[0]: "FETCH"`, `responders: "anyone"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %s", err, want)
		}
	}
}

func TestUnmatched(t *testing.T) {
	t.Parallel()
	a := tool.Approval{Tools: map[string]string{"b": "always", "gone": "always"}, Methods: []string{"POST", "delete"}}
	have := []tool.Traits{{Tool: "b", Method: "post"}}
	if got := tool.Unmatched(a, have); !slices.Equal(got, []string{"methods: DELETE", "tools.gone"}) {
		t.Errorf("unmatched %q", got)
	}
	if got := tool.Unmatched(a, append(have, tool.Traits{Tool: "gone", Method: "DELETE"})); len(got) != 0 {
		t.Errorf("unmatched %q", got)
	}
}

// PR-11: a policy that fails in any way means that approval is needed.
func TestPR11AFailingPolicyAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		for name, c := range map[string]struct {
			p    tool.Policy
			rule string
		}{
			"error": {func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{}, errors.New("secret") }, "failed"},
			"error and a no": {func(json.RawMessage) (tool.Verdict, error) {
				return tool.Verdict{Need: false, Rule: "x"}, errors.New("x")
			}, "failed"},
			"panic": {func(json.RawMessage) (tool.Verdict, error) { panic("boom") }, "panicked"},
			"nil panic": {func(json.RawMessage) (tool.Verdict, error) {
				var v *tool.Verdict
				return *v, nil
			}, "panicked"},
			"ended":         {func(json.RawMessage) (tool.Verdict, error) { runtime.Goexit(); return tool.Verdict{}, nil }, "failed"},
			"never returns": {func(json.RawMessage) (tool.Verdict, error) { <-release; return tool.Verdict{}, nil }, "too long"},
		} {
			v := tool.Decide(c.p, json.RawMessage(`{}`))
			if !v.Need || !strings.Contains(v.Rule, c.rule) || strings.Contains(v.Rule, "secret") {
				t.Errorf("%s: %+v", name, v)
			}
		}
	})
}

func TestDecideGivesThePolicyItsOwnArguments(t *testing.T) {
	t.Parallel()
	args := json.RawMessage(`{"a":1}`)
	v := tool.Decide(func(a json.RawMessage) (tool.Verdict, error) { a[1] = 'X'; return tool.Verdict{}, nil }, args)
	if v.Need || string(args) != `{"a":1}` {
		t.Errorf("%+v, arguments %s", v, args)
	}
	if v := tool.Decide(nil, args); v.Need {
		t.Errorf("no policy: %+v", v)
	}
}
