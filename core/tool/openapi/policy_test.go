package openapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/openapi"
)

// shop has one operation of each method.
func shop() []byte {
	var ops []string
	for _, m := range []string{"get", "head", "options", "post", "put", "patch", "delete", "trace"} {
		ops = append(ops, fmt.Sprintf(`"%s":{"operationId":"%s/pet"}`, m, m))
	}
	return []byte(`{"openapi":"3.1.0","paths":{"/pet":{` + strings.Join(ops, ",") + `}}}`)
}

// CF-07: exactly the documented operations ask, called by their own name or through call_operation.
func TestCF07Approval(t *testing.T) {
	t.Parallel()
	writes := "delete patch post put trace"
	for _, c := range []struct {
		name     string
		approval tool.Approval
		asks     string
	}{
		{"by default", tool.Approval{}, writes}, {"destructive", tool.Approval{Default: "destructive"}, writes},
		{"never", tool.Approval{Default: "never"}, ""}, {"always", tool.Approval{Default: "always"}, "delete get head options patch post put trace"},
		{"methods", tool.Approval{Default: "never", Methods: []string{"POST", "delete"}}, "delete post"},
		{"a tool", tool.Approval{Tools: map[string]string{"delete_pet": "never", "get_pet": "always"}}, "get patch post put trace"},
		{"an operationId", tool.Approval{Tools: map[string]string{"delete/pet": "never", "get/pet": "always"}}, "get patch post put trace"},
		{"a tool beats methods", tool.Approval{Default: "never", Methods: []string{"POST", "PUT"}, Tools: map[string]string{"post_pet": "never"}}, "put"},
		{"the own name beats the operationId", tool.Approval{Default: "never", Tools: map[string]string{"put_pet": "always", "put/pet": "never"}}, "put"},
		{"a word for the call alone demands", tool.Approval{Default: "never", Tools: map[string]string{"other": "always"}}, ""},
	} {
		few := load(t, openapi.Config{Document: shop(), BaseURL: "https://x.test", Approval: c.approval})
		many := load(t, openapi.Config{Document: shop(), BaseURL: "https://x.test", Approval: c.approval, MaxListed: 1})
		call, _ := many.Lookup("api__call_operation")
		var direct, through []string
		for _, trait := range few.Traits() {
			method, _, _ := strings.Cut(trait.Tool, "_")
			found, _ := few.Lookup("api__" + trait.Tool)
			if tool.Decide(found.Spec().Policy, json.RawMessage(`{}`)).Need {
				direct = append(direct, method)
			}
			v := tool.Decide(call.Spec().Policy, json.RawMessage(`{"operation":"`+trait.Tool+`","arguments":{}}`))
			if v.Need {
				through = append(through, method)
				if !strings.Contains(v.Rule, "("+trait.Method+" /pet)") {
					t.Errorf("%s: the rule %q does not name the request", c.name, v.Rule)
				}
			}
		}
		slices.Sort(direct)
		slices.Sort(through)
		if strings.Join(direct, " ") != c.asks || strings.Join(through, " ") != c.asks {
			t.Errorf("%s: %q ask directly, %q through the call, want %q", c.name, direct, through, c.asks)
		}
	}
}

func TestUnmatchedRules(t *testing.T) {
	t.Parallel()
	s := load(t, openapi.Config{Document: shop(), BaseURL: "https://x.test", Approval: tool.Approval{
		Tools: map[string]string{"get/pet": "always", "put_pet": "always", "delete_repo": "always", "call_operation": "always"}, Methods: []string{"POST"},
	}})
	if got := s.Unmatched(); !slices.Equal(got, []string{"tools.delete_repo"}) {
		t.Errorf("%q", got)
	}
}

func TestSpecsOfOperations(t *testing.T) {
	t.Parallel()
	s := load(t, openapi.Config{Document: shop(), BaseURL: "https://x.test/v1/", Approval: tool.Approval{Responders: "approvers"}})
	for _, spec := range s.List() {
		method, _, _ := strings.Cut(strings.ToUpper(spec.Name), "_")
		read := slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, method)
		if spec.Target != method+" https://x.test/v1/pet" || (spec.Type == core.ToolRead) != read || spec.Idempotent != read || !spec.ApproversOnly {
			t.Errorf("%+v", spec)
		}
	}
}

func TestManyOperations(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	doc := large(60)
	s := load(t, openapi.Config{Document: doc, BaseURL: a.URL, Client: client(t)})
	specs := s.List()
	if len(specs) != 2 || specs[0].FullName() != "api__find_operations" || specs[0].Type != core.ToolRead || specs[1].FullName() != "api__call_operation" || specs[1].Type != core.ToolAction || specs[1].Idempotent {
		t.Fatalf("%+v", specs)
	}
	out, err := run(t, s, "api__find_operations", `{"query":"delete thing 42"}`)
	var found struct {
		Operations []struct {
			Operation, Call string
			Arguments       json.RawMessage
		}
		More int
	}
	if err != nil || json.Unmarshal([]byte(out), &found) != nil || len(found.Operations) != 10 || found.More == 0 || len(out) > 60_000 {
		t.Fatalf("%.300s, %v", out, err)
	}
	if first := found.Operations[0]; first.Operation != "thing42_delete" || first.Call != "DELETE /things/42/{id}" || !strings.Contains(string(first.Arguments), `"id"`) {
		t.Errorf("%+v", found.Operations[0])
	}
	for query, want := range map[string]string{"thing7_put": "thing7_put", "thing7/put": "thing7_put", "PUT /things/7/{id}": "thing7_put"} {
		out, _ := run(t, s, "api__find_operations", `{"query":"`+query+`"}`)
		if !strings.HasPrefix(out, `{"operations":[{"operation":"`+want+`"`) {
			t.Errorf("%s: %.100s", query, out)
		}
	}
	if out, _ := run(t, s, "api__find_operations", `{"query":"zebra"}`); !strings.Contains(out, "Nothing matches") || !strings.Contains(out, `"t7"`) {
		t.Errorf("%.200s", out)
	}
	if n := len(a.got()); n != 0 {
		t.Errorf("searching sent %d requests", n)
	}
	if _, err := run(t, s, "api__call_operation", `{"operation":"thing42_delete","arguments":{"id":"7"}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, s, "api__thing42_delete", `{"id":"8"}`); err != nil {
		t.Fatal(err)
	}
	got := a.got()
	if got[0].method != "DELETE" || got[0].uri != "/things/42/7" || got[1].uri != "/things/42/8" {
		t.Errorf("%+v", got)
	}
}

// A call that names nothing that could be called asks nobody, and sends nothing whoever approved it.
func TestCallsOfNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	s := load(t, openapi.Config{Document: large(60), BaseURL: a.URL, Client: client(t), Approval: tool.Approval{Default: "always"}})
	call, _ := s.Lookup("api__call_operation")
	for args, want := range map[string]string{
		`{"operation":"none","arguments":{}}`:                               "there is no operation \"none\"",
		`{"operation":"thing2_delete","arguments":{}}`:                      "do not fit",
		`{"operation":"thing2_delete","arguments":{"id":"1","evil":1}}`:     "do not fit",
		`{"operation":"thing2_delete","arguments":{"id":7}}`:                "do not fit",
		`{"operation":"thing2_delete","arguments":[]}`:                      "do not fit",
		`{"operation":"api__thing2_delete","arguments":{"id":"1"}}`:         "there is no operation",
		`{"operation":"call_operation","arguments":{"operation":"thing2"}}`: "there is no operation",
		`{"operation":7}`: "nothing was called",
	} {
		if v := tool.Decide(call.Spec().Policy, json.RawMessage(args)); v.Need {
			t.Errorf("%s asks: %+v", args, v)
		}
		if _, err := run(t, s, "api__call_operation", args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	args := json.RawMessage(`{"operation":"thing2_delete","arguments":{"id":"1"}}`)
	_, err := call.Call(tool.NewContext(t.Context(), "k", tool.Identity{}, nil, nil), args)
	if err == nil || !strings.Contains(err.Error(), "needs approval") {
		t.Errorf("without approval: %v", err)
	}
	if len(a.got()) > 0 {
		t.Errorf("%d requests were sent", len(a.got()))
	}
}

// A call that waits for approval is bound to the document that described it.
func TestTheTargetNamesTheDocument(t *testing.T) {
	t.Parallel()
	target := func(doc []byte) string {
		s := load(t, openapi.Config{Document: doc, BaseURL: "https://x.test", MaxListed: 1})
		return s.List()[1].Target
	}
	if a, b := target(large(2)), target(large(3)); a == b || a != target(large(2)) || !strings.HasPrefix(a, "https://x.test") {
		t.Errorf("%q, %q", a, b)
	}
}

// A document that grew or shrank keeps the tools that a waiting call may name.
func TestBothWaysOfCallingAreAlwaysFound(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 100} {
		s := load(t, openapi.Config{Document: large(3), BaseURL: "https://x.test", MaxListed: most})
		for _, name := range []string{"api__call_operation", "api__find_operations", "api__thing0_get"} {
			if _, ok := s.Lookup(name); !ok {
				t.Errorf("MaxListed %d: no %s", most, name)
			}
		}
	}
}

// Of operations that have the words in common, the one that is about nothing else is found first.
func TestTheBestMatchComesFirst(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"openapi":"3.1.0","paths":{
		"/repos/{r}":{"delete":{"operationId":"repos/delete","summary":"Delete a repository"},"get":{"operationId":"repos/get","summary":"Get a repository"}},
		"/repos/{r}/secrets/{s}":{"delete":{"operationId":"deleteRepoSecret","summary":"Delete a repository secret","description":"Deletes a secret of a repository."}},
		"/repos/{r}/pulls":{"get":{"operationId":"pulls/list","summary":"List pull requests"},"post":{"operationId":"pulls/create","summary":"Create a pull request"}},
		"/repos/{r}/pulls/bypass":{"get":{"operationId":"bypass","summary":"Get pull request bypass list of a repository"}}}}`)
	s := load(t, openapi.Config{Document: doc, BaseURL: "https://x.test", MaxListed: 1})
	for query, want := range map[string]string{
		"delete repository": "repos_delete", "Delete the repositories": "repos_delete", "delete repo secret": "deleteRepoSecret", "secret": "deleteRepoSecret",
		"list pull requests": "pulls_list", "create pull request": "pulls_create", "bypass": "bypass", "get repository": "repos_get",
	} {
		out, err := run(t, s, "api__find_operations", `{"query":"`+query+`"}`)
		if err != nil || !strings.HasPrefix(out, `{"operations":[{"operation":"`+want+`"`) {
			t.Errorf("%s: %.120s, %v", query, out, err)
		}
	}
}
