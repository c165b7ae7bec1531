package program

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/core/tool/oauth/oauthtest"
)

// loginBench is a program whose agent has an MCP server that wants a login, with its authorization server.
type loginBench struct {
	bench
	as       *oauthtest.Server
	redirect string
}

// newLoginBench has tokens that last so shortly that each use renews them.
func newLoginBench(t *testing.T) loginBench {
	t.Helper()
	notes := filepath.Join(t.TempDir(), "notes")
	box := listenMCP(t, notes)
	as := oauthtest.New(t)
	as.Lifetime = 20 * time.Second
	guard := &oauthtest.Guard{Server: as}
	door := httptest.NewServer(guard.Handler(box.Config.Handler))
	t.Cleanup(door.Close)
	guard.Resource = door.URL + "/mcp"
	redirect := "http://" + freeAddress(t) + "/callback"
	server := map[string]any{"name": "box", "url": guard.Resource, "oauth": map[string]any{"grant": "authorization_code", "redirect": redirect}}
	b := newBench(t, map[string]any{"ops": withServer(server)}, map[string]any{"outbound": map[string]any{"allowPrivate": []string{"127.0.0.0/8"}}})
	b.notes = notes
	return loginBench{bench: b, as: as, redirect: redirect}
}

func (b loginBench) words(more ...string) []string {
	return append([]string{"login", "--config", b.config, "--agent", "ops", "--server", "box"}, more...)
}

// page is the address that a login tells to open.
func (b loginBench) page(told string) string {
	b.t.Helper()
	_, rest, ok := strings.Cut(told, b.as.URL+"/authorize?")
	if !ok {
		b.t.Fatalf("no address to open: %q", told)
	}
	return b.as.URL + "/authorize?" + strings.Fields(rest)[0]
}

// login logs in with a browser on this machine, and returns what was told.
func (b loginBench) login() string {
	b.t.Helper()
	out, in := io.Pipe()
	defer out.Close()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(b.words(), strings.NewReader(""), in, &errs, envOf())
		_ = in.Close()
	}()
	first := make([]byte, 4096)
	n, err := out.Read(first)
	if err != nil {
		b.t.Fatalf("%v: %s", err, errs.String())
	}
	told := string(first[:n])
	resp, err := http.Get(b.page(told)) // it is sent on to the listener
	must(b.t, err)
	must(b.t, resp.Body.Close())
	rest, err := io.ReadAll(out)
	must(b.t, err)
	if got := <-code; got != exitDone || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("exit code %d, the browser got %d\n%s%s%s", got, resp.StatusCode, told, rest, errs.String())
	}
	return told + string(rest)
}

// clean wants no token in a text, and no code of a login.
func (b loginBench) clean(text string) {
	b.t.Helper()
	for _, word := range []string{"access-", "refresh-", "code="} {
		if strings.Contains(text, word) {
			b.t.Errorf("a secret is told: %s", text)
		}
	}
}

func (b loginBench) doctor(want ...string) {
	b.t.Helper()
	_, out, errs := runIn([]string{"doctor", "--config", b.config}, "")
	for _, w := range want {
		if !strings.Contains(out, w) {
			b.t.Errorf("doctor does not say %q:\n%s%s", w, out, errs)
		}
	}
	b.clean(out + errs)
}

// TestLoginToAnMCPServer from nothing: told what to do, logged in, renewed over kills, withdrawn.
func TestLoginToAnMCPServer(t *testing.T) {
	t.Parallel()
	b := newLoginBench(t)
	b.doctor("not connected: nobody has logged in", "do: stop parley and run parley login --config FILE --agent ops --server box")
	told := b.login()
	if !strings.Contains(told, "Logged in to box") || !strings.Contains(told, "it has 4 tools") {
		t.Errorf("%s", told)
	}
	b.clean(strings.ReplaceAll(told, b.page(told), ""))
	info, err := os.Stat(b.store)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the store has mode %v", info.Mode())
	}
	b.doctor("ok    agent ops, MCP server box: works")
	renewed := len(b.as.Requests())
	for _, name := range []string{"letter", "card"} {
		p := b.start()
		p.say("read " + name)
		p.until("say:", `Read: read did {"name":"`+name+`"}`)
		b.doctor("ok    agent ops, MCP server box: parley runs with this store")
		code, _, errs := runIn(b.words(), "")
		if code != exitFailed || !strings.Contains(errs, "stop it, log in, and start it again") {
			t.Errorf("a login while it runs: code %d, %s", code, errs)
		}
		p.kill()
		b.clean(p.story())
	}
	if n := len(b.as.Requests()); n == renewed {
		t.Error("it was never renewed")
	}
	p := b.start()
	p.say("read again")
	p.until("say:", `Read: read did {"name":"again"}`)
	b.as.Revoke(true)
	p.say("read more")
	p.until("say:", "not connected")
	p.kill()
	b.clean(p.story())
	if !strings.Contains(p.story(), "run parley login") {
		t.Errorf("it is not told what to do\n%s", p.story())
	}
	b.doctor("not connected: the login cannot be renewed: the authorization server refused: invalid_grant")
	b.login()
	p = b.start()
	p.say("read last")
	p.until("say:", `Read: read did {"name":"last"}`)
	p.kill()
}

// TestKilledWhileALoginIsRenewed kills the program after the authorization server has replaced the refresh token
// and before the answer is there.
func TestKilledWhileALoginIsRenewed(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]bool{"replaced for good": false, "good once more": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLoginBench(t)
			b.as.Grace = grace
			b.login()
			p := b.start()
			p.say("read letter")
			p.until("say:", `Read: read did {"name":"letter"}`)
			killed := make(chan struct{})
			b.as.Change(func(s *oauthtest.Server) {
				s.After = func() {
					p.kill()
					close(killed)
					s.After = nil
				}
			})
			p.say("read card")
			<-killed
			p = b.start()
			if grace {
				p.say("read again")
				p.until("say:", `Read: read did {"name":"again"}`)
				p.kill()
				return
			}
			p.say("read again")
			p.until("say:", "Read: ")
			p.kill()
			b.doctor("refused: invalid_grant", "run parley login --config FILE --agent ops --server box")
			b.login()
			p = b.start()
			p.say("read again")
			p.until("say:", `Read: read did {"name":"again"}`)
			p.kill()
		})
	}
}

// TestLoginByPaste takes the address at which a browser elsewhere ended.
func TestLoginByPaste(t *testing.T) {
	t.Parallel()
	b := newLoginBench(t)
	in, typed := io.Pipe()
	defer typed.Close()
	out, says := io.Pipe()
	defer out.Close()
	code := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		code <- run(b.words("--paste"), in, says, &errs, envOf())
		_ = says.Close()
	}()
	first := make([]byte, 4096)
	n, err := out.Read(first)
	must(t, err)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(b.page(string(first[:n])))
	must(t, err)
	must(t, resp.Body.Close())
	go func() { _, _ = io.WriteString(typed, resp.Header.Get("Location")+"\n") }()
	rest, err := io.ReadAll(out)
	must(t, err)
	if got := <-code; got != exitDone || !strings.Contains(string(rest), "it has 4 tools") {
		t.Errorf("exit code %d: %s%s", got, rest, errs.String())
	}
}

func TestLoginCannotBegin(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]any{"ops": map[string]any{"model": "main", "mcpServers": []any{
		map[string]any{"name": "plain", "url": "https://a.example.com/mcp"},
		map[string]any{"name": "own", "url": "https://a.example.com/mcp", "oauth": map[string]any{"grant": "client_credentials", "clientId": "a", "clientSecret": "hush-hush"}},
		map[string]any{"name": "person", "url": "https://nowhere.invalid/mcp", "oauth": map[string]any{"grant": "authorization_code"}},
	}}}, nil)
	for _, c := range []struct {
		agent, server string
		code          int
		want          string
	}{
		{"dev", "plain", exitUsage, `there is no agent "dev"`},
		{"ops", "other", exitUsage, "name one with --server: own, person"},
		{"ops", "plain", exitUsage, "has no oauth in the configuration"},
		{"ops", "own", exitUsage, "needs no login"},
		{"ops", "person", exitFailed, "log in to person: reach the MCP server"},
	} {
		code, out, errs := runIn([]string{"login", "--config", b.config, "--agent", c.agent, "--server", c.server}, "")
		if code != c.code || !strings.Contains(errs, c.want) || strings.Contains(out+errs, "hush") {
			t.Errorf("%s, %s: code %d, %s, want %q", c.agent, c.server, code, errs, c.want)
		}
	}
}

func TestOAuthConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, server, want string }{
		{"no grant", `{"name":"x","url":"https://a.example.com/mcp","oauth":{}}`, "oauth.grant: missing"},
		{"another grant", `{"name":"x","url":"https://a.example.com/mcp","oauth":{"grant":"implicit"}}`, "oauth.grant"},
		{"a command", `{"name":"x","command":["a"],"oauth":{"grant":"authorization_code"}}`, "oauth: it is for a server with a url"},
		{"no https", `{"name":"x","url":"http://a.example.com/mcp","oauth":{"grant":"authorization_code"}}`, "must be https"},
		{"two ways", `{"name":"x","url":"https://a.example.com/mcp","headers":{"authorization":"Bearer x"},"oauth":{"grant":"authorization_code"}}`, "headers.authorization: want either this header or oauth"},
		{"no secret", `{"name":"x","url":"https://a.example.com/mcp","oauth":{"grant":"client_credentials","clientId":"a"}}`, "clientSecret"},
		{"an unknown key", `{"name":"x","url":"https://a.example.com/mcp","oauth":{"grant":"authorization_code","client_id":"a"}}`, "client_id"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "config.json")
		must(t, os.WriteFile(file, []byte(`{"models":{"m":{"provider":"scripted"}},"agents":{"ops":{"model":"m","mcpServers":[`+c.server+`]}}}`), 0o600))
		code, _, errs := runIn([]string{"doctor", "--config", file}, "")
		if code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: code %d, %s, want %q", c.name, code, errs, c.want)
		}
	}
}

// TestOAuthIsNotPut: only the file has it, and a refusal tells nothing of it.
func TestOAuthIsNotPut(t *testing.T) {
	t.Parallel()
	cfg := &Config{Models: map[string]ModelConfig{"m": {Provider: "scripted"}}}
	body := []byte(`{"model":"m","mcpServers":[{"name":"x","url":"https://a.example.com/mcp","oauth":{"grant":"client_credentials","clientId":"a","clientSecret":"hush-hush"}}]}`)
	_, _, problems, err := readDefinition(cfg, "a", body, nil, nil)
	if err != nil || len(problems) != 1 || problems[0].Path != "mcpServers[0].oauth" || strings.Contains(problems[0].Text, "hush") {
		t.Errorf("%v, %v", problems, err)
	}
}
