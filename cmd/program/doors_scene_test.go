package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/core/tool"
	"parley/core/tool/gotool"
	"parley/core/turn"
)

// people of the scene by their names; ana asks.
var people = map[string]telegramtest.User{
	"ana": {ID: 42, Username: "ana", Lang: "en"}, "ben": {ID: 43, Username: "ben", Lang: "en"},
	"mallory": {ID: 44, Username: "mallory", Lang: "en"}, "dora": {ID: 45, Username: "dora", Lang: "en"},
}

func idOf(who string) core.PersonID {
	return core.PersonID(fmt.Sprintf("telegram:%d", people[who].ID))
}

// scene is a house with a chat platform, and an agent that asks for each kind of input.
type scene struct {
	*house
	bot   *telegramtest.Server
	rooms int64
	ran   text // a line for each call that really ran
}

// asking is what the agent is told, by the kind that it then asks for.
var asking = map[core.Kind]string{
	core.KindApproval: "drop staging", core.KindQuestion: "choose", core.KindForm: "zone", core.KindURL: "connect",
}

const sceneScript = `{"rules": [
	{"when": "^drop (\\w+)", "calls": [{"name": "db__drop", "arguments": {"name": "{{match 1}}"}}], "then": [{"say": "Result: {{result}}"}]},
	{"when": "^choose", "calls": [{"name": "ask_user", "arguments": {"questions": [{"id": "when", "prompt": "When?", "options": [{"label": "Monday", "value": "mon"}, {"label": "Tuesday", "value": "tue"}]}]}}], "then": [{"say": "Result: {{result}}"}]},
	{"when": "^zone", "calls": [{"name": "team__zone"}], "then": [{"say": "Result: {{result}}"}]},
	{"when": "^connect", "calls": [{"name": "cal__connect"}], "then": [{"say": "Result: {{result}}"}]}
], "else": {"say": "You said: {{message}}"}}`

const stepPage = "https://calendar.example.com/connect"

type dropped struct {
	Name string `json:"name"`
}

// tools note when they run.
func (s *scene) tools() []tool.Tool {
	did := func(what string) (string, error) {
		_, err := s.ran.Write([]byte(what + "\n"))
		return what, err
	}
	zone := json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string","enum":["eu","us"]}},"required":["zone"]}`)
	return []tool.Tool{
		gotool.New("db", "drop", "", func(_ *tool.Context, in dropped) (string, error) { return did("drop " + in.Name) }, gotool.NeedsApproval(true)),
		gotool.New("team", "zone", "", func(ctx *tool.Context, _ struct{}) (string, error) {
			var in struct{ Zone string }
			if err := ctx.Ask("Which zone?", zone, &in); err != nil {
				return "", err
			}
			return did("zone " + in.Zone)
		}),
		gotool.New("cal", "connect", "", func(ctx *tool.Context, _ struct{}) (string, error) {
			if err := ctx.RequireURL(stepPage, "Let me in."); err != nil {
				return "", err
			}
			return did("connect")
		}),
	}
}

func newScene(t testing.TB, human map[string]any) *scene {
	t.Helper()
	bot, err := telegramtest.Start(telegramtest.Config{HearsAll: true})
	mustBe(t, err)
	t.Cleanup(bot.Close)
	tokens := map[string]map[string]any{"all": {"agents": []string{"ops"}, "speaksFor": []string{"telegram:*"}}}
	var allow []string
	for who := range people {
		tokens[who] = map[string]any{"agents": []string{"ops"}, "speaksFor": []core.PersonID{idOf(who)}, "mcpMayApprove": true}
		allow = append(allow, string(idOf(who)))
	}
	s := &scene{bot: bot}
	s.house = newHouse(t, map[string]any{
		"models":   map[string]any{"main": map[string]any{"provider": "scripted", "script": sceneScript}},
		"agents":   map[string]any{"ops": map[string]any{"model": "main", "builtins": []string{"ask_user"}, "humanInput": human}},
		"channels": []any{map[string]any{"name": "tg", "type": "telegram", "agent": "ops", "botToken": bot.Token(), "apiURL": bot.URL, "access": map[string]any{"allow": allow}}},
	}, tokens, func(cfg *Config) { cfg.tools = map[string][]tool.Tool{"ops": s.tools()} })
	return s
}

// asked is an input as it was put to somebody, and where.
type asked struct {
	s      *scene
	kind   core.Kind
	in     core.Input // as it was shown
	room   telegramtest.Where
	prompt telegramtest.Message
	who    string // who answers
	client *mcpCall
}

// ask has ana ask in a room of its own, and waits until the prompt is known to stand there.
func (s *scene) ask(kind core.Kind) *asked {
	s.t.Helper()
	s.rooms++
	a := &asked{s: s, kind: kind, room: s.bot.Supergroup(-1000 - s.rooms)}
	s.bot.Say(people["ana"], a.room, "@relay_bot "+asking[kind])
	s.eventually("it is asked for the "+string(kind), func() bool {
		all, err := s.app.engine.Waiting(s.t.Context(), a.conversation())
		if err != nil || len(all) != 1 || len(all[0].Prompts) == 0 || all[0].Prompts[0].DeliveredAt.IsZero() {
			return false
		}
		a.in = all[0]
		return true
	})
	sent := s.bot.Sent(a.room)
	a.prompt = sent[len(sent)-1]
	return a
}

func (a *asked) conversation() core.ConversationID {
	return core.NewConversation("ops", "tg", core.Place(fmt.Sprint(a.room.Chat)))
}

// now is the input as it stands.
func (a *asked) now() core.Input {
	a.s.t.Helper()
	in, err := a.s.app.engine.Input(context.Background(), a.in.ID)
	mustBe(a.s.t, err)
	return in
}

// say says something in the input's room and returns what the bot said there after it.
func (a *asked) say(who, text string, how ...telegramtest.Said) (after []string) {
	a.s.t.Helper()
	before := len(a.s.bot.Sent(a.room))
	a.s.bot.Say(people[who], a.room, text, how...)
	a.s.taken(a.conversation())
	for _, m := range a.s.bot.Sent(a.room)[before:] {
		after = append(after, m.Text)
	}
	return after
}

// taken waits until the program has taken what was said, and stands still there.
func (s *scene) taken(c core.ConversationID) {
	s.t.Helper()
	s.eventually("every update is taken", func() bool { return len(s.bot.Pending()) == 0 })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	mustBe(s.t, s.app.engine.Idle(ctx, c))
}

// settle answers as somebody by code, to make the ground for a case.
func (a *asked) settle(who, value string) {
	a.s.t.Helper()
	_, err := a.s.app.engine.Settle(context.Background(), turn.Settlement{Input: a.in.ID, From: idOf(who), Via: "go", Step: -1, Submission: structured(a.kind, value), Hash: a.now().Hash})
	mustBe(a.s.t, err)
	if a.client == nil {
		a.s.taken(a.conversation())
	}
}

// structured is an answer as a value: good, another good one, or one that does not fit.
func structured(kind core.Kind, value string) core.Submission {
	content := map[core.Kind]map[string]string{
		core.KindApproval: {"good": `true`, "other": `false`, "shape": `{"when":"mon"}`},
		core.KindURL:      {"good": `true`, "other": `false`, "shape": `{"when":"mon"}`},
		core.KindQuestion: {"good": `{"when":"mon"}`, "other": `{"when":"Tuesday"}`, "bad": `{"when":"Friday"}`},
		core.KindForm:     {"good": `{"zone":"eu"}`, "other": `{"zone":"us"}`, "bad": `{"zone":"mars"}`},
	}[kind][value]
	return core.Submission{Action: core.ActionAccept, Content: json.RawMessage(content)}
}

// browser is somebody who is signed in at the web page.
type browser struct {
	s    *scene
	http *http.Client
	csrf string
}

func (s *scene) browse(who string) *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	mustBe(s.t, err)
	b := &browser{s: s, http: &http.Client{Jar: jar, Transport: s.client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if status, body := b.post("/inbox/session", url.Values{"token": {tokenOf(who)}}); status != http.StatusSeeOther {
		s.t.Fatalf("sign in: %d %s", status, body)
	}
	_, body := b.do("GET", "/inbox", nil)
	m := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(body)
	if m == nil {
		s.t.Fatalf("no csrf on the page:\n%s", body)
	}
	b.csrf = m[1]
	return b
}

func (b *browser) do(method, path string, form url.Values) (status int, body string) {
	b.s.t.Helper()
	req, err := http.NewRequest(method, "http://"+b.s.address+path, strings.NewReader(form.Encode()))
	mustBe(b.s.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://"+b.s.address)
	resp, err := b.http.Do(req)
	mustBe(b.s.t, err)
	raw, err := io.ReadAll(resp.Body)
	mustBe(b.s.t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode, string(raw)
}

func (b *browser) post(path string, form url.Values) (status int, body string) {
	form.Set("csrf", b.csrf)
	return b.do("POST", path, form)
}

// mcpCall is a call of send_message by a client that makes the rounds itself.
type mcpCall struct {
	session *sdk.ClientSession
	params  sdk.CallToolParams
	res     *sdk.CallToolResult
}

type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// askMCP has somebody ask by their MCP client, where only they are asked.
func (s *scene) askMCP(who string, kind core.Kind) *asked {
	s.t.Helper()
	c := s.mcp(who)
	s.rooms++
	c.params = sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"text": asking[kind], "conversation": fmt.Sprint("c", s.rooms)}}
	c.call(s.t)
	a := &asked{s: s, kind: kind, who: who, client: c}
	all, err := s.app.engine.Waiting(s.t.Context(), core.NewConversation("ops", "mcp", core.Place(who+"/"+fmt.Sprint("c", s.rooms))))
	mustBe(s.t, err)
	if len(all) != 1 {
		s.t.Fatalf("%d inputs wait", len(all))
	}
	a.in = all[0]
	if len(c.res.InputRequests) > 0 && kind == core.KindURL { // first the page is opened, then it is said to be done
		c.again(s.t, &sdk.ElicitResult{Action: "accept"})
	}
	return a
}

func (s *scene) mcp(who string) *mcpCall {
	s.t.Helper()
	no := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return nil, errors.New("by hand")
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: no, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},
	})
	session, err := c.Connect(context.Background(), &sdk.StreamableClientTransport{
		Endpoint: "http://" + s.address + "/v1/agents/ops/mcp", HTTPClient: &http.Client{Transport: bearing(tokenOf(who))}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	mustBe(s.t, err)
	s.t.Cleanup(func() { _ = session.Close() })
	return &mcpCall{session: session}
}

func (c *mcpCall) call(t testing.TB) {
	t.Helper()
	var err error
	c.res, err = c.session.CallTool(context.Background(), &c.params)
	mustBe(t, err)
}

// again makes the call again with one answer to what it asked, and returns all that it said.
func (c *mcpCall) again(t testing.TB, answer *sdk.ElicitResult) string {
	t.Helper()
	c.params.RequestState, c.params.InputResponses = c.res.RequestState, sdk.InputResponseMap{}
	for id := range c.res.InputRequests {
		c.params.InputResponses[id] = answer
	}
	c.call(t)
	raw, err := json.Marshal(c.res)
	mustBe(t, err)
	return string(raw)
}

// humans is humanInput with approvers.
func humans(approvers []string, more ...any) map[string]any {
	var ids []core.PersonID
	for _, who := range approvers {
		ids = append(ids, idOf(who))
	}
	out := map[string]any{"approvers": ids}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// calls are the calls that really ran.
func (s *scene) calls() []string {
	return slices.DeleteFunc(strings.Split(s.ran.String(), "\n"), func(l string) bool { return l == "" })
}
