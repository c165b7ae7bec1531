package js_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/js"
)

// The test binary is its own child.
func TestMain(m *testing.M) {
	if js.IsChild() {
		js.Main()
	}
	os.Exit(m.Run())
}

// fake is a tool that notes how it was called.
type fake struct {
	tool.Spec
	do func(*tool.Context, json.RawMessage) (string, error)
}

type called struct {
	name, key, arguments string
	id                   tool.Identity
}

// world is a registry of tools that notes every call that reached one.
type world struct {
	*tool.Registry
	mu     sync.Mutex
	called []called
}

type spyTool struct {
	w *world
	f *fake
}

func (s *spyTool) Spec() tool.Spec { return s.f.Spec }

func (s *spyTool) Call(ctx *tool.Context, arguments json.RawMessage) (string, error) {
	s.w.mu.Lock()
	s.w.called = append(s.w.called, called{s.f.FullName(), ctx.IdempotencyKey(), string(arguments), ctx.Identity()})
	s.w.mu.Unlock()
	return s.f.do(ctx, arguments)
}

func (w *world) got() []called {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.called)
}

func (w *world) add(t *testing.T, source, name string, do func(*tool.Context, json.RawMessage) (string, error), change ...func(*tool.Spec)) {
	t.Helper()
	f := &fake{Spec: tool.Spec{Source: source, Name: name, Schema: json.RawMessage(`{"type":"object"}`), Type: core.ToolAction}, do: do}
	for _, c := range change {
		c(&f.Spec)
	}
	if err := w.Add(&spyTool{w, f}); err != nil {
		t.Fatal(err)
	}
}

func says(out string) func(*tool.Context, json.RawMessage) (string, error) {
	return func(*tool.Context, json.RawMessage) (string, error) { return out, nil }
}

func fails(err error) func(*tool.Context, json.RawMessage) (string, error) {
	return func(*tool.Context, json.RawMessage) (string, error) { return "", err }
}

func newWorld(t *testing.T) *world {
	t.Helper()
	r, err := tool.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Registry: r}
	w.add(t, "db", "read", func(_ *tool.Context, a json.RawMessage) (string, error) {
		return `{"rows":[1,2],"asked":` + string(a) + `}`, nil
	})
	w.add(t, "db", "text", says("12345678901234567890"))
	w.add(t, "", "plain", says("just text"))
	return w
}

// exec runs code as the engine does.
func exec(t *testing.T, c js.Config, code string) (string, error) {
	t.Helper()
	return execIn(t.Context(), c, code)
}

func execIn(ctx context.Context, c js.Config, code string) (string, error) {
	arguments, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return "", err
	}
	id := tool.Identity{Actor: "local:ana", Approval: &core.Approval{By: "local:bo"}}
	return js.New(c).Call(tool.NewContext(ctx, "run1/call1", id, nil, nil), arguments)
}

func TestResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct{ code, want string }{
		{`1+1`, "2"}, {`"a\nb"`, "a\nb"}, {`({a:[1,null,"x"]})`, `{"a":[1,null,"x"]}`}, {`true`, "true"}, {`null`, "null"}, {`10n**20n`, "100000000000000000000"},
		{``, "(no result"}, {`let x = 1`, "(no result"}, {`undefined`, "(no result"}, {`const f = () => 1; f`, "() => 1"}, {`Symbol("s")`, "Symbol(s)"},
		{`let o = {}; o.o = o; o`, "[object Object]"}, {`({toString() { throw 1 }, toJSON() { throw 2 }})`, "[a value that has no text]"}, {`"ü\u0000😀"`, "ü\x00😀"},
		{`const x = 3; return x * 2`, "6"}, {`if (true) { return "early" } "late"`, "early"}, {`await Promise.resolve(7)`, "7"}, {`Promise.resolve(8)`, "8"}, {`(async () => 9)()`, "9"},
		{`return await (async () => ({a: 1}))()`, `{"a":1}`}, {`let s = 0; for (const n of await Promise.all([1, Promise.resolve(2)])) s += n; s`, "3"},
		{`console.log("a", 1, {b: 2}, undefined); console.error("e"); "v"`, "v\n\nPrinted:\na 1 {\"b\":2} \ne"}, {`console.log("only")`, "Printed:\nonly"},
		{`tools.db.read({id: 7}).asked.id`, "7"}, {`tools["db__read"]({}).rows.length`, "2"}, {`tools.db.text()`, "12345678901234567890"}, {`tools.plain({}).toUpperCase()`, "JUST TEXT"},
		{`Object.keys(tools).join()`, "db__read,db__text,plain"}, {`"db__read" in tools && !("x" in tools)`, "true"}, {`await tools.db.read({})`, `{"rows":[1,2],"asked":{}}`},
		{`const {db} = tools; [1,2].map(id => db.read({id}).asked.id).join()`, "1,2"},
	} {
		got, err := exec(t, js.Config{Tools: w}, c.code)
		if err != nil || !strings.HasPrefix(got, c.want) || c.want != "(no result" && got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.code, got, err, c.want)
		}
	}
}

func TestErrorsAreReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(t, "db", "broken", fails(errors.New("no such table")))
	w.add(t, "db", "crashes", func(*tool.Context, json.RawMessage) (string, error) { panic("ouch") })
	w.add(t, "db", "strict", says("x"), func(s *tool.Spec) {
		s.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	})
	for _, c := range []struct{ code, want string }{
		{`throw new Error("mine")`, "the code failed: Error: mine"}, {`throw "text"`, "text"}, {`throw {a: 1}`, `{"a":1}`}, {`await Promise.reject({a: 1})`, `{"a":1}`}, {`null.x`, "TypeError"},
		{`let let = 1`, "SyntaxError"}, {`return return`, "SyntaxError"}, {`nothing`, "nothing' is not defined"}, {`await Promise.reject(new TypeError("later"))`, "TypeError: later"},
		{"1\n2\nthrow new Error('where')", ":3"}, {`await new Promise(() => {})`, "nothing will settle"},
		{`tools.db.broken({})`, "Error: no such table (db__broken)"}, {`tools.db.crashes({})`, "the tool crashed"}, {`tools.db.none({})`, `there is no tool "db__none"`},
		{`tools.db.strict({})`, "the arguments do not fit the tool's schema, and nothing ran"}, {`tools.db.strict({n: 1, m: 2})`, "do not fit"}, {`tools.db.read([])`, "do not fit"}, {`tools.db.read("x")`, "do not fit"},
		{`tools.db.read(() => 1)`, "must be an object"}, {`tools.js_exec({code: "1"})`, "cannot call itself"}, {`tools.db({})`, `there is no tool "db"`},
	} {
		got, err := exec(t, js.Config{Tools: w}, c.code)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %q", c.code, got, err, c.want)
		}
	}
	_, err := exec(t, js.Config{Tools: w}, `console.log("so far"); tools.plain(); tools.db.broken()`)
	if err == nil || !strings.Contains(err.Error(), "Printed:\nso far") || !strings.Contains(err.Error(), "Tools that ran before: plain, db__broken (failed)") {
		t.Errorf("%v", err)
	}
	got, err := exec(t, js.Config{Tools: w}, `try { tools.db.broken() } catch (e) { e.message + "|" + e.tool }`)
	if err != nil || got != "no such table|db__broken" {
		t.Errorf("%q, %v", got, err)
	}
}

// What would have to wait for a person fails with the one sentence, and does not reach the tool unless the
// tool itself asks.
func TestCallsThatWouldAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policy := func(p tool.Policy) func(*tool.Spec) { return func(s *tool.Spec) { s.Policy = p } }
	w.add(t, "db", "drop", says("dropped"), policy(func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{Need: true}, nil }))
	w.add(t, "db", "some", says("done"), policy(func(a json.RawMessage) (tool.Verdict, error) {
		return tool.Verdict{Need: strings.Contains(string(a), "all")}, nil
	}))
	w.add(t, "db", "unsure", says("x"), policy(func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{}, errors.New("down") }))
	w.add(t, "db", "panics", says("x"), policy(func(json.RawMessage) (tool.Verdict, error) { panic("x") }))
	w.add(t, "db", "confirms", func(ctx *tool.Context, _ json.RawMessage) (string, error) {
		_, err := ctx.Confirm("Sure?")
		return "", err
	})
	w.add(t, "db", "waits", func(ctx *tool.Context, _ json.RawMessage) (string, error) {
		_, err := ctx.Wait(tool.Asked{Kind: core.KindForm, Message: "Sure?"})
		return "", fmt.Errorf("wrapped: %w", err)
	})
	w.add(t, "", "helper", says("x"), func(s *tool.Spec) { s.Type = core.ToolAgent })
	for _, code := range []string{`tools.db.drop({})`, `tools.db.some({scope: "all"})`, `tools.db.unsure({})`, `tools.db.panics({})`, `tools.db.confirms({})`, `tools.db.waits({})`,
		`tools.helper({})`, `tools.ask({})`, `tools.ask_user({})`, `tools["agent__researcher"]({})`} {
		before := len(w.got())
		got, err := exec(t, js.Config{Tools: w}, `try { `+code+`; "ran" } catch (e) { e.message }`)
		if err != nil || got != js.NeedsUser {
			t.Errorf("%s: %q, %v", code, got, err)
		}
		if _, err := exec(t, js.Config{Tools: w}, code); err == nil || !strings.Contains(err.Error(), js.NeedsUser) {
			t.Errorf("%s: %v", code, err)
		}
		if ran := w.got()[before:]; len(ran) > 0 && !strings.Contains(code, "confirms") && !strings.Contains(code, "waits") {
			t.Errorf("%s: %+v", code, ran)
		}
	}
	if got, err := exec(t, js.Config{Tools: w}, `tools.db.some({scope: "one"})`); err != nil || got != "done" {
		t.Errorf("%q, %v", got, err)
	}
}

// Each call has a key of its own, the asker's rights, and no approval: that one was for another call.
func TestKeysAndIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := exec(t, js.Config{Tools: w}, `tools.plain(); try { tools.none() } catch {}; tools.plain({a: 1})`); err != nil {
		t.Fatal(err)
	}
	got := w.got()
	want := []called{{"plain", "run1/call1/js/1", "{}", tool.Identity{Actor: "local:ana"}}, {"plain", "run1/call1/js/3", `{"a":1}`, tool.Identity{Actor: "local:ana"}}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Code cannot go on after an action of which nobody knows whether it ran; after one that did not, it can.
func TestUnknownOutcomesEndTheCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broke := fmt.Errorf("cut: %w", tool.ErrUnknownOutcome)
	w.add(t, "net", "post", fails(broke))
	w.add(t, "net", "get", fails(broke), func(s *tool.Spec) { s.Type = core.ToolRead })
	w.add(t, "net", "put", fails(broke), func(s *tool.Spec) { s.Idempotent = true })
	w.add(t, "net", "refused", fails(fmt.Errorf("refused: %w", tool.ErrNotStarted)))
	_, err := exec(t, js.Config{Tools: w}, `tools.plain(); try { tools.net.post() } catch {}; tools.plain()`)
	if !errors.Is(err, tool.ErrUnknownOutcome) || len(w.got()) != 2 || !strings.Contains(err.Error(), "Tools that ran before: plain, net__post (nobody knows whether it ran)") {
		t.Errorf("%v, %+v", err, w.got())
	}
	for _, name := range []string{"get", "put", "refused"} {
		got, err := exec(t, js.Config{Tools: w}, `try { tools.net.`+name+`() } catch { "went on" }`)
		if err != nil || got != "went on" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		_, err = exec(t, js.Config{Tools: w}, `tools.net.`+name+`()`)
		if err == nil || errors.Is(err, tool.ErrNotStarted) || errors.Is(err, tool.ErrUnknownOutcome) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.add(t, "db", "slow", func(in *tool.Context, _ json.RawMessage) (string, error) {
		cancel()
		<-in.Done()
		return "", in.Err()
	})
	if _, err := execIn(ctx, js.Config{Tools: w}, `tools.db.slow(); while (true) {}`); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := execIn(ctx, js.Config{Tools: w}, `1`); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := exec(t, js.Config{Program: "/nonexistent"}, `1`); !errors.Is(err, tool.ErrNotStarted) {
		t.Error(err)
	}
	if _, err := exec(t, js.Config{Program: "/bin/false"}, `1`); err == nil || errors.Is(err, tool.ErrNotStarted) {
		t.Error(err)
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	spec := js.New(js.Config{}).Spec()
	if spec.FullName() != "js_exec" || spec.Type != core.ToolAction || spec.Idempotent || tool.Decide(spec.Policy, nil).Need {
		t.Errorf("%+v", spec)
	}
	if _, err := tool.NewRegistry(js.New(js.Config{})); err != nil {
		t.Error(err)
	}
	if js.IsChild() {
		t.Error("this is no child")
	}
	if got, err := exec(t, js.Config{Stretch: time.Minute}, `Object.keys(tools).length`); err != nil || got != "0" {
		t.Errorf("without tools: %q, %v", got, err)
	}
}

// A child whose parent is gone ends, whatever its code does.
func TestTheChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	cmd := osexec.CommandContext(t.Context(), os.Args[0], "js-exec-child")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"code":"console.log('on'); while (true) {}","most":100,"names":[]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != `{"print":"on"}`+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended as if all was well")
	}
}
