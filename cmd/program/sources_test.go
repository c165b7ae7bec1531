package program

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/core/model/modeltest"
)

// shop is a REST API on loopback that keeps its requests.
type shop struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		if r.URL.Path == "/pets/missing" {
			http.Error(w, `{"error":"no such pet"}`, http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, r.Method+" of "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

// seen are the requests so far, in short.
func (s *shop) seen() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		out = append(out, r.Method+" "+r.URL.Path)
	}
	return out
}

const shopSpec = `{"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "paths": {"/pets/{id}": {
	"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
	"get": {"operationId": "getPet", "summary": "Show a pet", "responses": {"200": {"description": "ok"}}},
	"delete": {"operationId": "deletePet", "summary": "Remove a pet", "responses": {"200": {"description": "ok"}}}}}}`

// withShop is a bench whose agent has the API as a source.
func withShop(t *testing.T, s *shop, more map[string]any) bench {
	t.Helper()
	source := map[string]any{"name": "shop", "spec": "shop.json", "baseURL": s.URL, "headers": map[string]any{"Authorization": "Bearer of-the-shop"}}
	b := newBench(t, map[string]any{"ops": map[string]any{"model": "main", "openapi": []any{source}}}, more)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(b.config), "shop.json"), []byte(shopSpec), 0o600))
	return b
}

func (s *shop) allowed() map[string]any {
	return map[string]any{"outbound": map[string]any{"allowPrivate": []string{s.Listener.Addr().String()}}}
}

// TestOpenAPIApproval: GET runs, DELETE asks; killed before the yes it is sent once, with its key, its asker
// and who approved it.
func TestOpenAPIApproval(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := withShop(t, s, s.allowed())
	p := b.start()
	p.say("show rex")
	p.until("say:", "Show: GET of /pets/rex")
	p.say("show missing")
	p.until("", "no such pet")
	p.say("remove rex")
	p.until("ask:", "Run shop__deletePet?")
	p.kill()
	p = b.start()
	p.until("ask:", "Run shop__deletePet?")
	p.say("no")
	p.until("say:", "Remove: ")
	p.say("remove rex")
	p.until("ask:", "Run shop__deletePet?")
	p.kill()
	p = b.start()
	p.until("ask:", "Run shop__deletePet?")
	p.say("yes")
	p.until("say:", "Remove: DELETE of /pets/rex")
	p.say("yes")
	p.until("say:", "You said: yes")
	p.kill()
	if got := s.seen(); !slices.Equal(got, []string{"GET /pets/rex", "GET /pets/missing", "DELETE /pets/rex"}) {
		t.Fatalf("requests %q\n%s", got, p.story())
	}
	get, del := s.requests[0].Header, s.requests[2].Header
	if get.Get("Authorization") != "Bearer of-the-shop" || get.Get("Parley-Actor") != "local:ana" || get.Get("Parley-Approval") != "" {
		t.Errorf("GET: %v", get)
	}
	var approval struct{ Input, By, At string }
	must(t, json.Unmarshal([]byte(del.Get("Parley-Approval")), &approval))
	if approval.By != "local:ana" || approval.Input == "" || approval.At == "" || del.Get("Parley-Actor") != "local:ana" ||
		del.Get("Idempotency-Key") == "" || del.Get("Idempotency-Key") == get.Get("Idempotency-Key") {
		t.Errorf("DELETE: %v", del)
	}
	if strings.Contains(p.story(), "of-the-shop") {
		t.Error("the credentials were shown")
	}
}

// TestOpenAPIOnAPrivateAddress: nothing is sent, and the failure says what would allow it.
func TestOpenAPIOnAPrivateAddress(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := withShop(t, s, nil)
	p := b.start()
	p.say("show rex")
	p.until("", "outbound.allowPrivate")
	p.kill()
	if got := s.seen(); len(got) > 0 {
		t.Errorf("requests %q", got)
	}
}

// TestSubAgentAsksInTheParentsChat: the tool of an agent that was delegated to asks where the person is, and
// is answered after a restart; child and parent go on, and the call runs once, for the person who asked.
func TestSubAgentAsksInTheParentsChat(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string][]string{"yes": {`drop {"name":"staging"}`}, "no": nil, "never mind, what else is there?": nil} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			worker := withServer(stdioBox(t))
			worker["name"] = "Worker"
			b := newBench(t, map[string]any{
				"ops":    map[string]any{"model": "main", "agents": []string{"middle"}},
				"middle": map[string]any{"model": "main", "agents": []string{"worker"}},
				"worker": worker,
			}, nil)
			p := b.start()
			p.say("delegate twice drop staging")
			p.until("ask:", "Worker")
			p.until("ask:", "Run box__drop?")
			p.kill()
			b.wantRan(p)
			p = b.start()
			p.until("ask:", "Run box__drop?")
			p.say(answer)
			switch answer {
			case "yes":
				p.until("say:", `Middle: Worker: Drop: drop did {"name":"staging"}`)
			case "no":
				p.until("say:", "Middle: Worker: Drop: ")
			default:
				p.until("say:", "You said: "+answer)
			}
			p.say("yes")
			p.until("say:", "You said: yes")
			p.kill()
			b.wantRan(p, want...)
			for _, n := range readNotes(t, b.notes) {
				if approval, _ := n.Meta["parley/approval"].(map[string]any); n.Meta["parley/actor"] != "local:ana" || approval["by"] != "local:ana" {
					t.Errorf("beside the call: %v", n.Meta)
				}
			}
		})
	}
}

// TestJavaScriptFromTheConfiguration: code calls what needs nobody, in a child of the program, and fails
// with the sentence of its own where a call would ask.
func TestJavaScriptFromTheConfiguration(t *testing.T) {
	t.Parallel()
	agent := withServer(stdioBox(t))
	agent["builtins"] = []string{"js_exec"}
	b := newBench(t, map[string]any{"ops": agent}, nil)
	p := b.start()
	p.say("compute read")
	p.until("say:", `read did {"name":"ab"}`)
	p.say("compute drop")
	p.until("", "needs the user's input: call it directly")
	p.kill()
	b.wantRan(p, `read {"name":"ab"}`)
}

// TestAnthropicThroughTheProgram: the Messages dialect against a strict server, killed at the question, with
// each way a call can end.
func TestAnthropicThroughTheProgram(t *testing.T) {
	t.Parallel()
	for answer, c := range map[string]struct {
		say   string
		drops int
	}{"yes": {"the database staging is gone", 1}, "no": {"Declined", 0}, "what is it?": {"You said: what is it?", 0}} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			chat := newChatting(t, modeltest.NewServerOf(t, modeltest.Messages, dropper))
			p := chat.start()
			p.say(deleteIt)
			p.until("ask:", "Run db__drop?")
			p.kill()
			p = chat.start()
			p.until("ask:", "Run db__drop?")
			p.say(answer)
			p.until("say:", c.say)
			p.say("yes")
			p.until("say:", "You said: yes")
			p.kill()
			wantDrops(t, chat.store, c.drops, p.story())
			if strings.Contains(p.story(), modeltest.Key) {
				t.Error("the key was shown")
			}
		})
	}
}
