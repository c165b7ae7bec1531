package program

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/core"
)

// shopAPI is a REST API on loopback with its own document. Its calls are held until they are let go.
type shopAPI struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // method, path and Authorization
	begun    chan string
	hold     chan struct{} // nil: nothing is held
}

func newShopAPI(t *testing.T) *shopAPI {
	t.Helper()
	s := &shopAPI{begun: make(chan string, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			_, _ = io.WriteString(w, shopSpec)
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		hold := s.hold
		s.mu.Unlock()
		s.begun <- r.URL.Path
		if hold != nil {
			<-hold
		}
		_, _ = io.WriteString(w, "removed at "+s.URL)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shopAPI) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// source is the shop as an entry of openapi.
func (s *shopAPI) source() map[string]any {
	return map[string]any{"name": "shop", "spec": s.URL + "/openapi.json", "baseURL": s.URL, "headers": map[string]any{"Authorization": "Bearer shop-secret"}}
}

func (s *shopAPI) host() string { return s.Listener.Addr().String() }

// newPutHouse is a program whose file has the agent ops, with a token for everything and one for ops alone.
func newPutHouse(t testing.TB, allow ...string) *house {
	t.Helper()
	return newHouse(t, map[string]any{
		"models":   map[string]any{"main": map[string]any{"provider": "scripted", "script": toolScript}, "demo": map[string]any{"provider": "scripted"}},
		"agents":   map[string]any{"ops": map[string]any{"model": "main", "mcpServers": []any{map[string]any{"name": "box", "url": "https://mcp.example.com/x", "headers": map[string]any{"X-Key": "file-secret"}}}}},
		"outbound": map[string]any{"allowPrivate": append([]string{}, allow...)},
	}, map[string]map[string]any{
		"root": {"admin": true, "speaksFor": []string{"local:*"}},
		"ops":  {"agents": []string{"ops"}, "speaksFor": []string{"local:ana"}},
		"new":  {"agents": []string{"new"}, "speaksFor": []string{"local:ana"}},
	})
}

func (h *house) put(id string, definition any, status int) answered {
	h.t.Helper()
	return h.want(h.api("root", "PUT", "/v1/agents/"+id, definition), status)
}

type definitionView struct {
	ID, Name, Model, Source string
	Tools                   []string
	Approvers               []core.PersonID
	Definition              json.RawMessage
}

// TestPutAgent: defined, it works at once, is shown without its secrets, is defined anew and outlives the program.
func TestPutAgent(t *testing.T) {
	t.Parallel()
	shop := newShopAPI(t)
	h := newPutHouse(t, shop.host())
	definition := map[string]any{"model": "main", "name": "New", "instructions": "Say ${HOME} and file:this.", "openapi": []any{shop.source()}}
	a := h.put("new", definition, 201)
	var d definitionView
	a.into(t, &d)
	if d.Source != "api" || d.Name != "New" || !slices.Contains(d.Tools, "shop__deletePet") || strings.Contains(a.body, "shop-secret") ||
		!strings.Contains(string(d.Definition), `"Authorization":"***"`) || !strings.Contains(string(d.Definition), "Say ${HOME} and file:this.") {
		t.Errorf("defined: %s", a.body)
	}
	if r := h.say("root", "new", "show rex", "from", "local:ana"); r.Status != "completed" || !strings.Contains(r.Text, "removed at") {
		t.Errorf("run %+v", r)
	}
	if got := shop.seen(); len(got) != 1 || got[0] != "GET /pets/rex Bearer shop-secret" {
		t.Errorf("requests %q", got)
	}
	// What an answer showed comes back: the secrets stay what they were.
	var again map[string]any
	mustBe(t, json.Unmarshal(d.Definition, &again))
	again["name"] = "Newer"
	h.put("new", again, 200)
	h.restart()
	h.eventually("its tools are there again", func() bool {
		a = h.want(h.api("new", "GET", "/v1/agents/new", nil), 200)
		a.into(t, &d)
		return slices.Contains(d.Tools, "shop__deletePet")
	})
	if d.Name != "Newer" || strings.Contains(a.body, "definition") || strings.Contains(a.body, "shop-secret") {
		t.Errorf("after a restart: %s", a.body)
	}
	h.say("root", "new", "show max", "from", "local:ana")
	if got := shop.seen(); got[len(got)-1] != "GET /pets/max Bearer shop-secret" {
		t.Errorf("requests %q", got)
	}
	if strings.Contains(h.log.String(), "shop-secret") {
		t.Errorf("the log holds a secret:\n%s", h.log)
	}
}

// TestPutAgentWho: only an administrator's token, and nothing of the file.
func TestPutAgentWho(t *testing.T) {
	t.Parallel()
	h := newPutHouse(t)
	good := map[string]any{"model": "main"}
	for _, c := range []struct {
		token, id, code string
		status          int
	}{
		{"ops", "ops", "not_admin", 403}, {"ops", "new", "not_found", 404}, {"new", "new", "not_found", 404}, {"nobody", "ops", "unauthorized", 401},
		{"root", "ops", "read_only", 409}, {"root", "-x", "invalid", 400}, {"root", "a%7Cb", "invalid", 400}, {"root", strings.Repeat("a", 65), "invalid", 400},
	} {
		if a := h.api(c.token, "PUT", "/v1/agents/"+c.id, good); a.status != c.status || a.Code != c.code {
			t.Errorf("%s of %s: %d %s", c.token, c.id, a.status, a.body)
		}
	}
	h.put("new", good, 201)
	h.want(h.api("new", "PUT", "/v1/agents/new", good), 403)
	h.want(h.api("new", "GET", "/v1/agents/new", nil), 200)
	h.want(h.api("ops", "GET", "/v1/agents/new", nil), 404)
	// The file's own definition is shown to administrators as it is written, without its secrets.
	a := h.want(h.api("root", "GET", "/v1/agents/ops", nil), 200)
	if !strings.Contains(a.body, `"X-Key":"***"`) || strings.Contains(a.body, "file-secret") || !strings.Contains(a.body, `"source":"file"`) {
		t.Errorf("of the file: %s", a.body)
	}
	if a := h.want(h.api("ops", "GET", "/v1/agents/ops", nil), 200); strings.Contains(a.body, "mcp.example.com") {
		t.Errorf("to another token: %s", a.body)
	}
}

// TestPutAgentFields: every bad field is listed by its path, and nothing is stored.
func TestPutAgentFields(t *testing.T) {
	t.Parallel()
	h := newPutHouse(t)
	for name, c := range map[string]struct {
		body   string
		fields []string
	}{
		"several":      {`{"model":"gone","humanInput":{"onExpire":"approve","approvers":["@ana"]},"maxSteps":0}`, []string{"humanInput.approvers[0]", "humanInput.onExpire", "maxSteps", "model"}},
		"unknown":      {`{"model":"main","Name":"x","tools":[]}`, []string{"Name", "tools"}},
		"missing":      {`{}`, []string{"model"}},
		"twice":        {`{"model":"main","model":"demo"}`, []string{"model"}},
		"command":      {`{"model":"main","mcpServers":[{"name":"x","command":["sh","-c","id"],"env":{"A":"b"}}]}`, []string{"mcpServers[0].command", "mcpServers[0].env"}},
		"both":         {`{"model":"main","mcpServers":[{"name":"x","url":"https://e.example","command":["sh"]}]}`, []string{"mcpServers[0]", "mcpServers[0].command"}},
		"a file":       {`{"model":"main","openapi":[{"name":"x","spec":"/etc/passwd"},{"name":"y","spec":"file:///etc/passwd"},{"name":"z","spec":"shop.yaml"}]}`, []string{"openapi[0].spec", "openapi[1].spec", "openapi[2].spec"}},
		"put in":       {`{"model":"main","mcpServers":[{"name":"x","url":"https://e.example/${A}","headers":{"A":"Bearer ${HOME}","B":"file:x"}}]}`, []string{"mcpServers[0].headers.A", "mcpServers[0].headers.B", "mcpServers[0].url"}},
		"masked":       {`{"model":"main","mcpServers":[{"name":"x","url":"https://e.example","headers":{"A":"***"}}]}`, []string{"mcpServers[0].headers.A"}},
		"agents":       {`{"model":"main","agents":["nobody","new"]}`, []string{"agents[0]", "agents[1]"}},
		"intake":       {`{"model":"main","intake":{"questions":[{"prompt":"a","options":[{"label":"x"},{"label":"X"}]}]}}`, []string{"intake"}},
		"locale":       {`{"model":"main","locale":"english please"}`, []string{"locale"}},
		"policy":       {`{"model":"main","mcpServers":[{"name":"x","url":"https://e.example","approval":{"default":"sometimes"}}]}`, []string{"mcpServers[0].approval.default"}},
		"private spec": {`{"model":"main","openapi":[{"name":"x","spec":"http://127.0.0.1:1/openapi.json"}]}`, []string{"openapi[0]"}},
		"masked query": {`{"model":"main","openapi":[{"name":"x","spec":"https://e.example/a?***"}]}`, []string{"openapi[0].spec"}},
		"reserved":     {`{"model":"main","mcpServers":[{"name":"agent","url":"https://e.example"}]}`, []string{"mcpServers[0]"}},
		"no object":    {`[]`, nil}, "no JSON": {`{`, nil}, "null": {`null`, nil}, "deep": {strings.Repeat("[", 5000), nil}, "empty": {``, nil},
		"a list where an object is": {`{"model":"main","mcpServers":{"a":1},"openapi":[1,null,{"name":[1],"headers":{"a":"***"}}]}`, nil},
	} {
		a := h.put("new", c.body, 400)
		var got []string
		for _, f := range a.Fields {
			got = append(got, f.Field)
			if f.Reason == "" || strings.Contains(f.Reason, "root:") {
				t.Errorf("%s: %s: %q", name, f.Field, f.Reason)
			}
		}
		if a.Code != "invalid" || c.fields != nil && !slices.Equal(got, c.fields) {
			t.Errorf("%s: fields %q, want %q: %s", name, got, c.fields, a.body)
		}
	}
	h.want(h.api("root", "GET", "/v1/agents/new", nil), 404)
	h.put("new", `{"model":"main","name":"`+strings.Repeat("x", 1<<20)+`"}`, 413)
	h.want(h.api("root", "PUT", "/v1/agents/new", `{}`, "Content-Type", "text/plain"), 415)
}

// TestPutAgentSecretsStayWithTheirSource: a masked value is that of the source of the same name and addresses.
func TestPutAgentSecretsStayWithTheirSource(t *testing.T) {
	t.Parallel()
	shop, other := newShopAPI(t), newShopAPI(t)
	h := newPutHouse(t, shop.host(), other.host())
	h.put("new", map[string]any{"model": "main", "openapi": []any{shop.source()}}, 201)
	keyed := shop.source()
	keyed["spec"] = shop.URL + "/openapi.json?key=of-the-document"
	h.put("new", map[string]any{"model": "main", "openapi": []any{keyed}}, 200)
	a := h.want(h.api("root", "GET", "/v1/agents/new", nil), 200)
	if strings.Contains(a.body, "of-the-document") {
		t.Errorf("the key of the document is shown: %s", a.body)
	}
	var shown definitionView
	a.into(t, &shown)
	h.put("new", shown.Definition, 200)
	if again := h.want(h.api("root", "GET", "/v1/agents/new", nil), 200); again.body != a.body {
		t.Errorf("%s became %s", a.body, again.body)
	}
	moved := shop.source()
	moved["baseURL"], moved["headers"] = other.URL, map[string]any{"Authorization": "***"}
	if a := h.put("new", map[string]any{"model": "main", "openapi": []any{moved}}, 400); len(a.Fields) != 1 || a.Fields[0].Field != "openapi[0].headers.Authorization" {
		t.Errorf("moved elsewhere: %s", a.body)
	}
	h.say("root", "new", "show rex", "from", "local:ana")
	if len(other.seen()) != 0 || len(shop.seen()) != 1 {
		t.Errorf("%q %q", shop.seen(), other.seen())
	}
}

// TestPutAgentOnce: the same request with the same key is done once, with another body refused; a source that
// could not be reached may be tried again with the same key.
func TestPutAgentOnce(t *testing.T) {
	t.Parallel()
	shop := newShopAPI(t)
	h := newPutHouse(t, shop.host(), "127.0.0.1:1")
	put := func(key string, body any) answered {
		return h.api("root", "PUT", "/v1/agents/new", body, "Idempotency-Key", key)
	}
	first := h.want(put("k", map[string]any{"model": "main"}), 201)
	h.put("new", map[string]any{"model": "demo"}, 200)
	if again := put("k", map[string]any{"model": "main"}); again.status != 201 || again.body != first.body {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	var d definitionView
	h.want(h.api("root", "GET", "/v1/agents/new", nil), 200).into(t, &d)
	if d.Model != "demo" {
		t.Errorf("the repeated request was done again: %+v", d)
	}
	h.want(put("k", map[string]any{"model": "demo"}), 422)
	gone := shop.source()
	gone["spec"] = "http://127.0.0.1:1/openapi.json"
	for range 2 {
		if a := put("gone", map[string]any{"model": "main", "openapi": []any{gone}}); a.status != 400 || len(a.Fields) != 1 || a.Fields[0].Field != "openapi[0]" {
			t.Errorf("a document that is not there: %d %s", a.status, a.body)
		}
	}
}

// TestPutAgentOverAWaitingRun: the audience shrinks to what the new definition has and never grows; a call whose target
// changed is asked again, and what was approved before does not run.
func TestPutAgentOverAWaitingRun(t *testing.T) {
	t.Parallel()
	shop, moved := newShopAPI(t), newShopAPI(t)
	h := newPutHouse(t, shop.host(), moved.host())
	define := func(status int, source map[string]any, approvers ...string) {
		t.Helper()
		h.put("new", map[string]any{"model": "main", "openapi": []any{source}, "humanInput": map[string]any{"approvers": approvers, "responders": "approvers"}}, status)
	}
	define(201, shop.source(), "local:ben", "local:cleo")
	r := h.say("root", "new", "remove rex", "from", "local:ana")
	if len(r.Inputs) != 1 {
		t.Fatalf("run %+v", r)
	}
	answer := func(id, who string) answered {
		return h.api("root", "POST", "/v1/agents/new/inputs/"+id, map[string]any{"action": "accept", "content": true, "from": who})
	}
	target := shop.source()
	target["baseURL"] = moved.URL
	define(200, target, "local:cleo", "local:dan")
	id := r.Inputs[0].ID
	for _, who := range []string{"local:ana", "local:ben", "local:dan"} {
		if a := answer(id, who); a.status != 403 {
			t.Errorf("%s: %d %s", who, a.status, a.body)
		}
	}
	h.want(answer(id, "local:cleo"), 202)
	r = h.run("root", r.ID)
	if r.Status != "input_required" || len(r.Inputs) != 1 || r.Inputs[0].ID == id || len(shop.seen())+len(moved.seen()) != 0 {
		t.Fatalf("after the target changed: %+v, %q %q", r, shop.seen(), moved.seen())
	}
	h.restart()
	h.want(answer(r.Inputs[0].ID, "local:cleo"), 202)
	if r = h.run("root", r.ID); r.Status != "completed" || !strings.Contains(r.Text, moved.URL) {
		t.Errorf("run %+v", r)
	}
	if got := moved.seen(); len(got) != 1 || len(shop.seen()) != 0 {
		t.Errorf("requests %q %q", shop.seen(), got)
	}
}

// TestPutAgentWhileACallRuns: the call ends as it began, once; the next goes the new way.
func TestPutAgentWhileACallRuns(t *testing.T) {
	t.Parallel()
	shop, moved := newShopAPI(t), newShopAPI(t)
	shop.hold = make(chan struct{})
	h := newPutHouse(t, shop.host(), moved.host())
	h.put("new", map[string]any{"model": "main", "openapi": []any{shop.source()}}, 201)
	var r siteRun
	h.want(h.api("root", "POST", "/v1/agents/new/runs", map[string]string{"text": "show rex", "from": "local:ana"}), 202).into(t, &r)
	<-shop.begun
	h.put("new", map[string]any{"model": "main", "openapi": []any{moved.source()}}, 200)
	close(shop.hold)
	if r = h.run("root", r.ID); r.Status != "completed" || !strings.Contains(r.Text, shop.URL) {
		t.Errorf("the call that ran: %+v", r)
	}
	if r = h.say("root", "new", "show rex", "from", "local:ana"); !strings.Contains(r.Text, moved.URL) {
		t.Errorf("the call after: %+v", r)
	}
	if len(shop.seen()) != 1 || len(moved.seen()) != 1 {
		t.Errorf("requests %q %q", shop.seen(), moved.seen())
	}
}

// TestPutAgentMCP: a server's tools are there with the answer; those of the definition before are gone, and its server is left.
func TestPutAgentMCP(t *testing.T) {
	t.Parallel()
	notes := t.TempDir() + "/notes"
	server := listenMCP(t, notes)
	h := newPutHouse(t, server.Listener.Addr().String())
	box := map[string]any{"model": "main", "mcpServers": []any{map[string]any{"name": "box", "url": server.URL}}}
	var d definitionView
	h.put("new", box, 201).into(t, &d)
	if !slices.Contains(d.Tools, "box__drop") {
		t.Errorf("tools %q", d.Tools)
	}
	r := h.say("root", "new", "drop crate", "from", "local:ana")
	h.put("new", map[string]any{"model": "main"}, 200).into(t, &d)
	if len(d.Tools) != 0 {
		t.Errorf("tools %q", d.Tools)
	}
	h.want(h.api("root", "POST", "/v1/agents/new/inputs/"+r.Inputs[0].ID, map[string]any{"action": "accept", "from": "local:ana"}), 202)
	if r = h.run("root", r.ID); !strings.Contains(r.Text, "The tool is gone") || len(readNotes(t, notes)) != 0 {
		t.Errorf("run %+v", r)
	}
	h.put("new", box, 200)
	h.restart()
	r = h.say("root", "new", "read crate", "from", "local:ana")
	if r.Status != "completed" || len(readNotes(t, notes)) != 1 {
		t.Errorf("after a restart: %+v", r)
	}
}

// TestRacingPuts: one definition wins everywhere: what is in use is what is stored.
func TestRacingPuts(t *testing.T) {
	t.Parallel()
	h := newPutHouse(t)
	for range 5 {
		var all sync.WaitGroup
		created := make(chan int, 8)
		for i := range cap(created) {
			all.Go(func() {
				created <- h.api("root", "PUT", "/v1/agents/new", map[string]any{"model": "main", "name": fmt.Sprint("n", i)}).status
			})
		}
		all.Wait()
		close(created)
		for status := range created {
			if status != 200 && status != 201 {
				t.Errorf("status %d", status)
			}
		}
		var before, after definitionView
		h.want(h.api("root", "GET", "/v1/agents/new", nil), 200).into(t, &before)
		h.restart()
		h.want(h.api("root", "GET", "/v1/agents/new", nil), 200).into(t, &after)
		if before.Name != after.Name {
			t.Errorf("in use was %q and stored %q", before.Name, after.Name)
		}
	}
}

// TestTheFileWins: an agent that the file gets too is the file's, with a warning; one that no longer fits is not there
// and can be put anew; none keeps the program from starting.
func TestTheFileWins(t *testing.T) {
	t.Parallel()
	h := newPutHouse(t)
	h.put("new", map[string]any{"model": "main", "name": "put"}, 201)
	h.put("old", map[string]any{"model": "demo", "agents": []string{"new"}}, 201)
	h.put("new", map[string]any{"model": "main", "name": "put", "agents": []string{"old"}}, 200)
	h.end()
	agents := h.doc["agents"].(map[string]any)
	agents["new"] = map[string]any{"model": "main", "name": "file"}
	delete(h.doc["models"].(map[string]any), "demo")
	h.start()
	var d definitionView
	h.want(h.api("root", "GET", "/v1/agents/new", nil), 200).into(t, &d)
	if d.Name != "file" || d.Source != "file" {
		t.Errorf("%+v", d)
	}
	h.want(h.api("root", "GET", "/v1/agents/old", nil), 404)
	if log := h.log.String(); !strings.Contains(log, "the file's is used") || !strings.Contains(log, `there is no model \"demo\"`) {
		t.Errorf("no warning:\n%s", log)
	}
	h.put("old", map[string]any{"model": "main", "agents": []string{"new"}}, 200)
	h.end()
	delete(agents, "new")
	h.start()
	h.want(h.api("root", "GET", "/v1/agents/new", nil), 200).into(t, &d)
	if d.Name != "put" {
		t.Errorf("%+v", d)
	}
}

// FuzzDefinition: no body makes reading a definition fail, none that is taken starts a program or reads a file, and
// what is shown of it holds no secret and can be put again.
func FuzzDefinition(f *testing.F) {
	for _, body := range []string{
		`{"model":"main"}`, `{"model":"main","mcpServers":[{"name":"x","url":"https://e.example","headers":{"A":"hunter2hunter2"}}]}`,
		`{"model":"main","mcpServers":[{"name":"x","command":["sh"]}]}`, `{"model":"main","openapi":[{"name":"x","spec":"https://e.example/a","headers":{"A":"***"}}]}`,
		`{"model":"main","humanInput":{"expiresInSeconds":null,"approvers":["local:ana"],"notify":["tg:1"]}}`, `{"model":"main","intake":{"questions":[{"prompt":"a","options":[{"label":"b"}],"defaults":[]}]}}`,
		`[`, `{"a":{"b":[{}]}}`, "{\"model\":\"\xff\"}", `{"model":"main","model":1}`, `{"mcpServers":[{"name":[],"headers":{"a":"***"}}],"openapi":{}}`, `null`,
	} {
		f.Add(body)
	}
	cfg := &Config{Models: map[string]ModelConfig{"main": {Provider: "scripted"}}}
	f.Fuzz(func(t *testing.T, body string) {
		a, value, problems, err := readDefinition(cfg, "new", []byte(body), map[string]any{"mcpServers": []any{map[string]any{"name": []any{}, "headers": map[string]any{"a": "b"}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			fields(problems)
			return
		}
		for _, m := range a.MCPServers {
			if len(m.Command) > 0 || len(m.Env) > 0 {
				t.Errorf("it starts a program: %s", body)
			}
		}
		for _, o := range a.OpenAPI {
			if !strings.HasPrefix(strings.ToLower(o.Spec), "http") {
				t.Errorf("it reads a file: %s", body)
			}
		}
		shown, err := json.Marshal(mask(value))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(shown), "hunter2hunter2") && !strings.Contains(body, `hunter2hunter2":`) && strings.Count(body, "hunter2hunter2") == 1 && len(a.MCPServers) == 1 && a.MCPServers[0].Headers["A"] == "hunter2hunter2" {
			t.Errorf("it shows a secret: %s", shown)
		}
		if _, _, problems, err := readDefinition(cfg, "new", shown, value, nil); err != nil || len(problems) > 0 {
			t.Errorf("%s cannot be put again as %s: %v %v", body, shown, problems, err)
		}
	})
}
