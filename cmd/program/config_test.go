package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core"
)

// envOf is an environment for tests.
func envOf(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

// with returns a good configuration with parts of it replaced, as JSON. A key is a path of dots; "-" as a
// value takes the key out.
func with(t testing.TB, changes map[string]string) []byte {
	t.Helper()
	var doc map[string]any
	must(t, json.Unmarshal([]byte(`{
	  "store": {"path": "p.db"},
	  "models": {"main": {"provider": "openai", "model": "m", "apiKey": "k"}},
	  "agents": {"ops": {"model": "main"}},
	  "channels": [{"name": "tg", "type": "telegram", "agent": "ops", "botToken": "1:abc", "access": {"public": true}}]
	}`), &doc))
	for _, path := range slices.Sorted(mapsKeys(changes)) {
		keys := strings.Split(path, ".")
		at := doc
		for _, k := range keys[:len(keys)-1] {
			if k == "tg" {
				at = doc["channels"].([]any)[0].(map[string]any)
				continue
			}
			next, ok := at[k].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[k] = next
			}
			at = next
		}
		last := keys[len(keys)-1]
		if changes[path] == "-" {
			delete(at, last)
			continue
		}
		var v any
		must(t, json.Unmarshal([]byte(changes[path]), &v))
		at[last] = v
	}
	b, err := json.Marshal(doc)
	must(t, err)
	return b
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, data []byte, env ...string) (*Config, []string) {
	t.Helper()
	cfg, ps, err := parseConfig(data, t.TempDir(), envOf(env...))
	must(t, err)
	var lines []string
	for _, p := range ps {
		lines = append(lines, string(p.Path)+": "+p.Text)
	}
	return cfg, lines
}

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	const hi = "agents.ops.humanInput."
	cases := []struct {
		name string
		set  map[string]string
		want string // path and a part of the text
	}{
		{"an unknown key", map[string]string{"stor": "{}"}, "stor: unknown key: want one of $schema, agents, api, channels, models, outbound, store"},
		{"a key in another case", map[string]string{"agents.ops.maxsteps": "3"}, `agents.ops.maxsteps: unknown key: keys are case-sensitive, write "maxSteps"`},
		{"a list for text", map[string]string{"agents.ops.instructions": `["x"]`}, "agents.ops.instructions: want string, not array"},
		{"null where a value is wanted", map[string]string{"agents.ops.ask": "null"}, "agents.ops.ask: want boolean, not null"},
		{"text for a number", map[string]string{"agents.ops.maxSteps": `"3"`}, "agents.ops.maxSteps: want integer, not string"},
		{"no model", map[string]string{"agents.ops.model": "-"}, "agents.ops.model: missing"},
		{"a model that is not there", map[string]string{"agents.ops.model": `"big"`}, `agents.ops.model: there is no model "big": want one of main`},
		{"an agent that is not there", map[string]string{"tg.agent": `"dev"`}, `channels[0].agent: there is no agent "dev": want one of ops`},
		{"an empty token", map[string]string{"tg.botToken": `""`}, "channels[0].botToken: must not be empty"},
		{"a token of spaces", map[string]string{"tg.botToken": `" "`}, "channels[0].botToken: is empty"},
		{"a token with a line break", map[string]string{"tg.botToken": `"1:abc\n"`}, "channels[0].botToken: has spaces or line breaks around it"},
		{"no bot token at all", map[string]string{"tg.botToken": `"xoxb-1"`}, "channels[0].botToken: this is no bot token"},
		{"an empty key", map[string]string{"models.main.apiKey": `""`}, "models.main.apiKey: must not be empty"},
		{"no key for the provider's own address", map[string]string{"models.main.apiKey": "-"}, "models.main.apiKey: missing"},
		{"no address", map[string]string{"models.main.baseURL": `"localhost:1"`}, "models.main.baseURL: want an address"},
		{"a provider unknown", map[string]string{"models.main.provider": `"acme"`}, `models.main.provider: "acme": want "anthropic" or "openai" or "gemini" or "scripted"`},
		{"a platform unknown", map[string]string{"tg.type": `"irc"`}, `channels[0].type: "irc": want "slack" or "telegram" or "discord"`},
		{"an MCP server that is nowhere", map[string]string{"agents.ops.mcpServers": `[{"name":"x"}]`}, "agents.ops.mcpServers[0]: want either url or command"},
		{"an approval that silence gives", map[string]string{"agents.ops.openapi": `[{"name":"x","spec":"x.yaml","approval":{"default":"maybe"}}]`}, `agents.ops.openapi[0].approval.default: "maybe": want "never" or "always" or "destructive"`},
		{"two sources of one name", map[string]string{"agents.ops.mcpServers": `[{"name":"x","command":["a"]},{"name":"x","command":["b"]}]`}, "agents.ops.mcpServers[1].name: the source agents.ops.mcpServers[0] has this name too"},
		{"an agent that is not there", map[string]string{"agents.ops.agents": `["nobody"]`}, `agents.ops.agents[0]: there is no agent "nobody": want one of`},
		{"an agent of its own", map[string]string{"agents.ops.agents": `["ops"]`}, "agents.ops.agents[0]: an agent does not delegate to itself"},
		{"a key of another platform", map[string]string{"tg.appToken": `"xapp-1"`}, "channels[0].appToken: only a channel of type slack has it"},
		{"swapped tokens", map[string]string{"tg.type": `"slack"`, "tg.botToken": `"xapp-1"`, "tg.appToken": `"xapp-2"`}, "channels[0].botToken: this is an app-level token"},
		{"text for a switch", map[string]string{"tg.streaming": `"yes"`}, "channels[0].streaming: want boolean, not string"},
		{"a webhook without https", map[string]string{"webhooks": `[{"url":"http://example.com/x","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}]`}, "webhooks[0]: "},
		{"a person for several", map[string]string{"api.tokens": `[{"name":"a","token":"t","speaksFor":["local:a","local:b"],"mcpMayApprove":true}]`}, "api.tokens[0].mcpMayApprove: "},
		{"another client's self", map[string]string{"api.tokens": `[{"name":"a","token":"t","speaksFor":["mcp:b"]}]`}, `api.tokens[0].speaksFor[0]: "mcp:b" is no person: want mcp:a`},
		{"a client that approves for itself", map[string]string{"api.tokens": `[{"name":"a","token":"t","speaksFor":["mcp:a"],"mcpMayApprove":true}]`}, "api.tokens[0].mcpMayApprove: "},
		{"outbound", map[string]string{"outbound": `{"allowPrivate":["not a host!"]}`}, "outbound.allowPrivate[0]: "},
		{"a doubled builtin", map[string]string{"agents.ops.builtins": `["ask_user","ask_user"]`}, `agents.ops.builtins[1]: "ask_user" is listed twice`},
		{"an expiry of 0", map[string]string{hi + "expiresInSeconds": "0"}, hi + "expiresInSeconds: want at least 1"},
		{"an expiry of a month and more", map[string]string{hi + "expiresInSeconds": "2592001"}, hi + "expiresInSeconds: want at most 2592000"},
		{"an expiry as text", map[string]string{hi + "expiresInSeconds": `"60"`}, hi + "expiresInSeconds: want integer or null, not string"},
		{"half a second", map[string]string{hi + "expiresInSeconds": "1.5"}, hi + "expiresInSeconds: want integer or null, not number"},
		{"silence as consent (EX-09)", map[string]string{hi + "onExpire": `"approve"`}, hi + `onExpire: "approve": want "close" or "resume"`},
		{"silence as an answer (EX-09)", map[string]string{hi + "onExpire": `"accept"`}, hi + `onExpire: "accept": want "close" or "resume"`},
		{"responders unknown", map[string]string{hi + "responders": `"anyone"`}, hi + `responders: "anyone": want "asker+approvers" or "approvers"`},
		{"nobody who could answer", map[string]string{hi + "responders": `"approvers"`}, hi + "responders: only approvers may answer and approvers names nobody"},
		{"a place of no channel", map[string]string{hi + "notify": `["slack:C1"]`}, hi + `notify[0]: "slack:C1": agent ops has no channel with the name or type "slack"`},
		{"a place that is none", map[string]string{hi + "notify": `["tg:general"]`}, hi + `notify[0]: "tg:general": want the platform's own id of a chat`},
		{"a webhook without a listener", map[string]string{"tg.webhook": "true", "api.publicURL": `"https://x.example"`}, "channels[0].webhook: needs api.listen"},
		{"a webhook without an address", map[string]string{"tg.webhook": "true", "api.listen": `":80"`}, "channels[0].webhook: needs api.publicURL"},
		{"a webhook in clear", map[string]string{"tg.webhook": "true", "api.listen": `":80"`, "api.publicURL": `"http://x.example"`}, "channels[0].webhook: the platform calls https addresses only"},
		{"no port", map[string]string{"api.listen": `"127.0.0.1"`}, "api.listen: want host:port"},
		{"a port too large", map[string]string{"api.listen": `":70000"`}, "api.listen: want host:port"},
		{"a name with a bar", map[string]string{"tg.name": `"a|b"`}, "channels[0].name: want a name of letters"},
		{"an agent with a space", map[string]string{"agents.my agent": `{"model":"main"}`}, `agents["my agent"]: want a name of letters`},
		{"the name of chat's channel", map[string]string{"tg.name": `"terminal"`}, "channels[0].name: \"terminal\" is the channel of the chat command"},
		{"no language", map[string]string{"agents.ops.locale": `"English!"`}, "agents.ops.locale: want a language tag"},
		{"no questions", map[string]string{"agents.ops.intake": `{"questions":[]}`}, "agents.ops.intake.questions: want at least one"},
		{"a default that is no option", map[string]string{"agents.ops.intake": `{"questions":[{"prompt":"Which?","options":[{"label":"A"},{"label":"B"}],"defaults":["C"]}]}`}, "agents.ops.intake: "},
		{"a stranger to the platform", map[string]string{"tg.access": `{"allow":["slack:U1"]}`}, "channels[0].access.allow[0]: slack:U1 can never speak here: want a person of telegram"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, got := load(t, with(t, c.set))
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("problems:\n%s\nwant one: %s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

// TestPeopleCF04AU06AU08 is CF-04, AU-06 and AU-08: each way to write a person is accepted by a rule or refused with
// the entry and the expected form.
func TestPeopleCF04AU06AU08(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"slack:U1", "slack:U0123", "slack:W0123", "slack:T01/U0123", "slack:E01/W0123", "telegram:42", "discord:8142", "discord:18446744073709551615", "local:alice", "local:Ana-2", "api:deploy"} {
		if _, err := person(good); err != nil {
			t.Errorf("%s refused: %v", good, err)
		}
	}
	bad := map[string]string{
		`"ana"`:                           "want platform:id",
		`"U0123"`:                         "want platform:id",
		`"slack:@ana"`:                    "stable id",
		`"slack:u0123"`:                   "in capitals",
		`"slack:B0123"`:                   "slack:U0123",
		`"slack:T1/"`:                     "slack:U0123",
		`" slack:U1 "`:                    "has spaces around it",
		`"slack: U1"`:                     "slack:U0123",
		`"telegram:@ana"`:                 "stable id",
		`"telegram:ana"`:                  "telegram:42",
		`"telegram:042"`:                  "telegram:42",
		`"telegram:-1001"`:                "telegram:42",
		`"telegram:４２"`:                   "telegram:42",
		`"telegram:99999999999999999999"`: "telegram:42",
		`"telegram:1087968824"`:           "every anonymous admin",
		`"telegram:777000"`:               "service messages",
		`"telegram:136817688"`:            "name of a channel",
		`"discord:0"`:                     "discord:8142",
		`"Telegram:42"`:                   "no platform",
		`"matrix:@a:b"`:                   "stable id",
		`"irc:bob"`:                       "no platform",
		`"local:"`:                        "want platform:id",
		`"local:a b"`:                     "local:alice",
		`""`:                              "want platform:id",
		`42`:                              "want a person as text",
		`null`:                            "want a person as text",
	}
	for entry, want := range bad {
		_, got := load(t, with(t, map[string]string{"agents.ops.humanInput.approvers": "[" + entry + "]"}))
		if len(got) != 1 || !strings.HasPrefix(got[0], "agents.ops.humanInput.approvers[0]: ") || !strings.Contains(got[0], want) {
			t.Errorf("%s: problems %q, want one with %q", entry, got, want)
		}
	}
	_, got := load(t, with(t, map[string]string{"agents.ops.humanInput.approvers": `["telegram:42","telegram:42"]`}))
	if len(got) != 1 || !strings.Contains(got[0], "approvers[1]: telegram:42 is listed twice") {
		t.Errorf("the same id twice: %q", got)
	}
}

func TestConfigListsEverythingSorted(t *testing.T) {
	t.Parallel()
	_, got := load(t, []byte(`{
	  "agents": {"b": {"model": "x", "maxSteps": 0}, "a": {"model": 3, "b": 1, "b": 2}},
	  "models": {"m": {"provider": "openai", "model": "${NOPE}"}},
	  "channels": [
	    {"name": "t", "type": "telegram", "agent": "b", "botToken": "1:a"},
	    {"name": "t", "type": "telegram", "agent": "b", "botToken": "1:a"}]}`))
	want := []string{
		"agents.a.b: this key stands here twice", "agents.a.model: want string", "agents.b.maxSteps: want at least 1",
		"agents.b.model: there is no model", `channels[1].botToken: the channel "t" has the same token`, "channels[1].name: two channels",
		"models.m.apiKey: missing", "models.m.model: the environment variable NOPE is not set",
	}
	if len(got) != len(want) {
		t.Fatalf("problems:\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d: %s, want %s", i, got[i], want[i])
		}
	}
}

func TestConfigText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n  \"models\": }":          ": line 2, column 13: not JSON",
		`{} {}`:                       ": line 1, column 4: not JSON",
		"{\"agents\": \"\xff\"}":      ": line 1, column 13: not UTF-8 text",
		``:                            ": line 1, column 1: not JSON",
		`[]`:                          ": want object, not array",
		`{"a":{"x":1,"x":1}}`:         "a.x: this key stands here twice",
		`{"store":{"path":1e999999}}`: "store.path: this number is out of range",
	} {
		_, got := load(t, []byte(text))
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q: problems %q, want %q", text, got, want)
		}
	}
}

func TestInterpolation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "token"), []byte("1:from-file\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "twice"), []byte("${A}\n\n"), 0o600))
	env := envOf("A", `x", "admin": "true`, "DIR", dir, "EMPTY", "")
	fill := func(value string) (string, []Problem) {
		b, _ := json.Marshal(value)
		cfg, ps, err := parseConfig(with(t, map[string]string{"agents.ops.instructions": string(b)}), dir, env)
		must(t, err)
		return cfg.Agents["ops"].Instructions, ps
	}
	for in, want := range map[string]string{
		"plain":              "plain",
		"a ${A} b":           `a x", "admin": "true b`,
		"$${A} costs $5":     "${A} costs $5",
		"[${EMPTY}]":         "[]",
		"file:token":         "1:from-file",
		"file:${DIR}/token":  "1:from-file",
		"file:twice":         "${A}\n",
		"see file:token":     "see file:token",
		"{\"json\": \"${A\"": "", // refused below
	} {
		got, ps := fill(in)
		if want == "" {
			if len(ps) != 1 {
				t.Errorf("%q: problems %v, want one", in, ps)
			}
			continue
		}
		if got != want || len(ps) != 0 {
			t.Errorf("%q became %q with problems %v, want %q", in, got, ps, want)
		}
	}
	for in, want := range map[string]string{
		"${NOPE} and ${NADA}": "NADA is not set",
		"${}":                 "is no variable",
		"${a b}":              "is no variable",
		"file:":               "names no file",
		"file:nope":           "cannot read the file",
	} {
		_, ps := fill(in)
		if len(ps) == 0 || ps[0].Path != "agents.ops.instructions" || !strings.Contains(fmt.Sprint(ps), want) {
			t.Errorf("%q: problems %v, want %q", in, ps, want)
		}
	}
}

// TestErrorsHideSecrets puts a secret where it does not belong: no error may show it.
func TestErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-live-12345"
	for _, path := range []string{"agents.ops.model", "tg.agent", "tg.type", "tg.botToken", "models.main.provider", "agents.ops.locale",
		"models.main.baseURL", "agents.ops.humanInput.onExpire", "api.listen", "tg.name"} {
		_, got := load(t, with(t, map[string]string{path: `"${KEY}"`}), "KEY", secret+" ")
		if strings.Contains(strings.Join(got, "\n"), secret) {
			t.Errorf("%s: %q shows the secret", path, got)
		}
	}
	_, got := load(t, with(t, map[string]string{"agents.ops.humanInput.approvers": `["${KEY}"]`}), "KEY", secret)
	if len(got) != 1 || strings.Contains(got[0], secret) || !strings.Contains(got[0], "${KEY}") {
		t.Errorf("approvers: %q", got)
	}
}

func TestSecretPrintsNowhere(t *testing.T) {
	t.Parallel()
	const value = "hunter2"
	holder := struct {
		S Secret
		M map[string]Secret
	}{value, map[string]Secret{"x": value}}
	b, err := json.Marshal(holder)
	must(t, err)
	texts := []string{string(b), Secret(value).LogValue().String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		texts = append(texts, fmt.Sprintf(verb, holder), fmt.Sprintf(verb, Secret(value)), fmt.Sprintf(verb, []Secret{value}))
	}
	for _, s := range texts {
		if strings.Contains(s, value) || strings.Contains(s, fmt.Sprintf("%x", value)) || !strings.Contains(s, masked) {
			t.Errorf("%s", s)
		}
	}
	if Secret(value).Reveal() != value {
		t.Error("Reveal changed the secret")
	}
}

func TestHumanInputMeaning(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]time.Duration{"-": 7 * 24 * time.Hour, "null": 0, "1": time.Second, "86400.0": 24 * time.Hour, "2592000": 720 * time.Hour} {
		cfg, ps := load(t, with(t, map[string]string{"agents.ops.humanInput.expiresInSeconds": raw}))
		if got := cfg.Agents["ops"].human(cfg, "ops").Expires; got != want || len(ps) != 0 {
			t.Errorf("%s means %v with %q, want %v", raw, got, ps, want)
		}
	}
	cfg, ps := load(t, with(t, map[string]string{"agents.ops.humanInput": `{"approvers":["telegram:42"],"responders":"approvers","onExpire":"resume",
		"supersededBy":"anyone","nearMiss":"supersede","shared":"bound","notify":["telegram:-1001/7"]}`}))
	h := cfg.Agents["ops"].human(cfg, "ops")
	if len(ps) != 0 || !h.ApproversOnly || !h.ResumeOnExpire || !h.SupersededByAnyone || !h.NearMissSupersedes || !h.Bound ||
		len(h.Notify) != 1 || h.Notify[0] != core.NewConversation("ops", "tg", "-1001/7") || !slices.Equal(h.Audience("telegram:1"), []core.PersonID{"telegram:42"}) {
		t.Errorf("%+v, problems %q", h, ps)
	}
	a := cfg.access(cfg.Channels[0])
	a.Public = false
	if !a.Allows("telegram:42") || a.Allows("telegram:1") {
		t.Errorf("access %+v: want approvers let in and nobody else", a)
	}
}

func TestLoadConfigNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bad.json")
	must(t, os.WriteFile(path, []byte(`{"x":1}`), 0o600))
	_, err := loadConfig(path, envOf())
	var ce *ConfigError
	if !errors.As(err, &ce) || !strings.Contains(err.Error(), path) || len(ce.Problems) != 3 {
		t.Errorf("%v", err)
	}
	if _, err := loadConfig(filepath.Dir(path), envOf()); err == nil {
		t.Error("a folder was read as a configuration")
	}
}

// TestWarnings: what is allowed and probably not meant is said at the start.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for path, c := range map[string]struct{ value, want string }{
		"tg.access":         {`{}`, "channels[0].access: names nobody and is not public"},
		"agents.ops.locale": {`"xx"`, "agents.ops.locale: no words are known of this language"},
		"api.tokens":        {`[{"name":"ops","token":"t","speaksFor":["slack:*","api:deploy","mcp:ops","mcp:*"],"agents":["ops"]}]`, "api.tokens: open nothing without api.listen"},
	} {
		cfg, problems := load(t, with(t, map[string]string{path: c.value}))
		if len(problems) != 0 || len(cfg.Warnings) != 1 || !strings.HasPrefix(cfg.Warnings[0], c.want) {
			t.Errorf("%s: warnings %q, problems %q", path, cfg.Warnings, problems)
		}
	}
	cfg, _ := load(t, with(t, map[string]string{"agents.ops.locale": `"en-GB"`}))
	if len(cfg.Warnings) != 0 {
		t.Errorf("English: %q", cfg.Warnings)
	}
}

func TestTokensAreCheckedStrictly(t *testing.T) {
	t.Parallel()
	_, got := load(t, with(t, map[string]string{"api.tokens": `[
		{"name":"a","token":"t","speaksFor":["irc:*","slack:@ana"],"agents":["dev"]},
		{"name":"a","token":"t","speaksfor":[]}]`}))
	want := []string{
		`api.tokens[0].agents[0]: there is no agent "dev"`, `api.tokens[0].speaksFor[0]: person "irc:*"`, `api.tokens[0].speaksFor[1]: person "slack:@ana"`,
		"api.tokens[1].name: two tokens", "api.tokens[1].speaksfor: unknown key: keys are case-sensitive", "api.tokens[1].token: two entries",
	}
	if len(got) != len(want) {
		t.Fatalf("problems:\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d: %s, want %s", i, got[i], want[i])
		}
	}
}
