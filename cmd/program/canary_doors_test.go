package program

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"parley/channels/telegram/telegramtest"
	"parley/core"
)

// canaries are secrets of a configuration that sing where they are heard.
var canaries = map[string]string{
	"API_KEY": "canary-model-key", "SHOP": "canary-shop-header", "BOX": "canary-box-header", "ENV": "canary-env-value", "HOOK": "whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5",
	"QUERY": "canary-spec-query", "PUT": "canary-put-header",
}

// brokenBox is a server that refuses everything and says back what it was sent.
func brokenBox(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			_, _ = io.WriteString(w, shopSpec)
			return
		}
		http.Error(w, fmt.Sprintf("no: %v %s", r.Header, r.URL), http.StatusInternalServerError)
	}))
	t.Cleanup(s.Close)
	return s
}

// canaryHouse has a secret wherever a configuration may hold one.
func canaryHouse(t *testing.T) (*house, *telegramtest.Server, *httptest.Server) {
	t.Helper()
	bot, err := telegramtest.Start(telegramtest.Config{HearsAll: true})
	mustBe(t, err)
	t.Cleanup(bot.Close)
	box := brokenBox(t)
	h := newHouse(t, map[string]any{
		"models": map[string]any{
			"main":   map[string]any{"provider": "scripted", "script": strings.Replace(sceneScript, `"rules": [`, `"rules": [{"when": "^show (\\w+)", "calls": [{"name": "shop__getPet", "arguments": {"id": "{{match 1}}"}}], "then": [{"say": "Shown: {{result}}"}]},`, 1)},
			"broken": map[string]any{"provider": "openai", "model": "m", "apiKey": canaries["API_KEY"], "baseURL": box.URL + "/v1"},
			"other":  map[string]any{"provider": "anthropic", "model": "m", "apiKey": canaries["API_KEY"], "baseURL": box.URL},
		},
		"agents": map[string]any{
			"ops": map[string]any{
				"model": "main", "builtins": []string{"ask_user"}, "humanInput": humans([]string{"ben"}),
				"mcpServers": []any{
					map[string]any{"name": "box", "url": box.URL + "/mcp", "headers": map[string]any{"Authorization": "Bearer " + canaries["BOX"]}},
					map[string]any{"name": "gone", "command": []string{"/nowhere/server", "--token", canaries["ENV"]}, "env": map[string]any{"TOKEN": canaries["ENV"]}},
				},
				"openapi": []any{map[string]any{"name": "shop", "spec": box.URL + "/openapi.json?key=" + canaries["QUERY"], "baseURL": box.URL, "headers": map[string]any{"X-Key": canaries["SHOP"]}}},
			},
			"broken": map[string]any{"model": "broken"}, "other": map[string]any{"model": "other"},
		},
		"channels": []any{map[string]any{"name": "tg", "type": "telegram", "agent": "ops", "botToken": bot.Token(), "apiURL": bot.URL, "access": map[string]any{"allow": []core.PersonID{idOf("ana"), idOf("ben")}}}},
		"outbound": map[string]any{"allowPrivate": []string{box.Listener.Addr().String()}},
		"webhooks": []any{map[string]any{"url": box.URL + "/hook/" + canaries["QUERY"], "secret": canaries["HOOK"]}},
	}, map[string]map[string]any{
		"root": {"admin": true, "speaksFor": []string{"telegram:*"}}, "ana": {"agents": []string{"ops"}, "speaksFor": []core.PersonID{idOf("ana")}, "mcpMayApprove": true},
	}, func(cfg *Config) { cfg.tools = nil })
	return h, bot, box
}

// TestNoCanarySings drives every door of a program whose configuration is full of secrets, against servers that fail
// and say them back: none is in the log, an error, an answer, a page, a chat or a number.
func TestNoCanarySings(t *testing.T) {
	t.Parallel()
	h, bot, box := canaryHouse(t)
	s := &scene{house: h, bot: bot}
	var heard []string
	hear := func(what, text string) { heard = append(heard, what+"\n"+text) }
	all := func(token, method, path string, body any) answered {
		a := h.api(token, method, path, body)
		hear(method+" "+path, a.body)
		return a
	}
	for _, text := range []string{"choose", "show rex", "hello"} {
		var r siteRun
		all("root", "POST", "/v1/agents/ops/runs", map[string]any{"text": text, "from": idOf("ana")}).into(t, &r)
		all("root", "GET", "/v1/runs/"+r.ID+"?wait=30", nil)
	}
	for _, agent := range []string{"ops", "broken", "other"} {
		all("root", "GET", "/v1/agents/"+agent, nil)
	}
	all("wrong-"+canaries["BOX"], "GET", "/v1/inputs", nil)
	all("root", "PUT", "/v1/agents/new", map[string]any{"model": "main", "mcpServers": []any{map[string]any{"name": "box", "url": box.URL + "/mcp", "headers": map[string]any{"A": canaries["PUT"]}}}})
	all("root", "PUT", "/v1/agents/new", map[string]any{"model": "gone", "openapi": []any{map[string]any{"name": "x", "spec": box.URL + "/none", "headers": map[string]any{"A": canaries["PUT"], "Content-Type": canaries["PUT"]}}}})
	all("root", "PUT", "/v1/agents/new", map[string]any{"model": "main", "openapi": []any{map[string]any{"name": "x", "spec": box.URL + "/none", "headers": map[string]any{"A": canaries["PUT"]}}}})
	all("root", "GET", "/v1/agents/new", nil)
	room := bot.Supergroup(-7000)
	for _, text := range []string{"@relay_bot choose", "@relay_bot show rex", "@relay_bot /status"} {
		bot.Say(people["ana"], room, text)
		s.taken(core.NewConversation("ops", "tg", "-7000"))
	}
	for _, m := range bot.Messages(room) {
		hear("the chat", m.Text)
	}
	c := s.mcp("ana")
	c.params.Name, c.params.Arguments = "send_message", map[string]any{"text": "show rex"}
	c.call(t)
	said, err := json.Marshal(c.res)
	mustBe(t, err)
	hear("mcp", string(said))
	page := s.browse("ana")
	for _, path := range []string{"/inbox", "/metrics", "/healthz", "/readyz", "/v1/openapi.json"} {
		_, body := page.do("GET", path, url.Values{})
		hear(path, body)
	}
	h.eventually("the log tells of it", func() bool { return strings.Contains(h.log.String(), "a turn ended") })
	h.end()
	hear("the log", h.log.String())
	secrets := []string{bot.Token(), tokenOf("root"), tokenOf("ana")}
	for _, secret := range canaries {
		secrets = append(secrets, secret, url.QueryEscape(secret))
	}
	slices.Sort(secrets)
	secrets = slices.Compact(secrets)
	for _, text := range heard {
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				what, _, _ := strings.Cut(text, "\n")
				t.Errorf("%s sings %s: …%s…", what, secret, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}

// TestTheLogTells who did what: each turn and input with its run, conversation and person.
func TestTheLogTells(t *testing.T) {
	t.Parallel()
	s := newScene(t, open)
	a := s.ask(core.KindApproval)
	a.say("mallory", "yes", telegramtest.Reply(a.prompt.ID))
	a.say("ben", "yes", telegramtest.Reply(a.prompt.ID))
	type line struct{ Msg, Run, Input, Conversation, Person, Via, State, Status, Kind string }
	var lines []line
	want := []line{
		{Msg: "a turn began", Person: string(idOf("ana"))},
		{Msg: "an input is asked for", Input: string(a.in.ID), Kind: "approval"},
		{Msg: "an answer of somebody who may not was refused", Input: string(a.in.ID), Kind: "approval", Person: string(idOf("mallory")), Via: "chat"},
		{Msg: "an input ended", Input: string(a.in.ID), Kind: "approval", State: "accepted", Person: string(idOf("ben")), Via: "chat"},
		{Msg: "a turn ended", Status: "completed"},
	}
	for i := range want {
		want[i].Run, want[i].Conversation = string(a.in.Run), string(a.in.Conversation)
	}
	s.eventually("the log tells all", func() bool {
		lines = nil
		for text := range strings.Lines(s.log.String()) {
			var l line
			mustBe(t, json.Unmarshal([]byte(text), &l))
			if l.Run != "" {
				lines = append(lines, l)
			}
		}
		return len(lines) >= len(want)
	})
	if !slices.Equal(lines, want) {
		t.Errorf("the log tells\n%+v\nwant\n%+v", lines, want)
	}
}
