package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/tool"
)

// rounds is a tool that asks twice before it acts: where to, with a page to see, and whether really.
func rounds(r *ran) handler {
	return func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r.note(req)
		p := req.Params
		switch p.RequestState {
		case "":
			return &sdk.CallToolResult{RequestState: "state-1", InputRequests: sdk.InputRequestMap{
				"form": formAsk("Where to?"),
				"page": &sdk.ElicitParams{Mode: "url", Message: "Sign in", URL: "https://login.example/x"},
			}}, nil
		case "state-1":
			form, page := p.InputResponses["form"].(*sdk.ElicitResult), p.InputResponses["page"].(*sdk.ElicitResult)
			return &sdk.CallToolResult{RequestState: fmt.Sprintf("%s %v %s", form.Action, form.Content["zone"], page.Action), InputRequests: sdk.InputRequestMap{
				"sure": &sdk.ElicitParams{Mode: "form", Message: "Really?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}},
			}}, nil
		}
		return says(p.RequestState + " " + p.InputResponses["sure"].(*sdk.ElicitResult).Action), nil
	}
}

// TestRoundsOverRestarts answers each ask in another process, over another session.
func TestRoundsOverRestarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ form, sure core.Action }{
		"accepted": {core.ActionAccept, core.ActionAccept},
		"declined": {core.ActionDecline, core.ActionDecline}, // PR-18
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r ran
			server := newServer(modern)
			add(server, "move", nil, rounds(&r))
			p := newPlace(t)
			p.serve(server)
			again := func(answers ...tool.Answered) (string, error) {
				s := ready(t, start(t, Config{URL: p.url()}))
				defer func() { _ = s.Close() }()
				return attempt(t, s, "box__move", `{"a":1}`, answers...)
			}
			_, err := again()
			first := asked(t, err)
			if first.Kind != core.KindForm || first.Message != "Where to?" || strings.Contains(first.Message+string(first.Schema), "state-1") {
				t.Fatalf("asked %+v", first)
			}
			form, err := core.ParseForm(first.Schema)
			if err != nil || form.Fields[0].Name != "zone" || form.Fields[0].Enum[0].Label != "Europe" || form.Fields[2].Enum[1].Label != "Phone" {
				t.Errorf("the form is %+v, %v", form, err)
			}
			fields := `{"zone":"eu"}`
			if c.form != core.ActionAccept {
				fields = ""
			}
			answers := []tool.Answered{answered(t, first, c.form, fields)}
			_, err = again(answers...)
			second := asked(t, err)
			if second.Kind != core.KindURL || second.URL != "https://login.example/x" {
				t.Fatalf("asked %+v", second)
			}
			if got := r.all(); len(got) != 1 {
				t.Errorf("called before all was answered: %q", got)
			}
			answers = append(answers, answered(t, second, core.ActionAccept, ""))
			_, err = again(answers...)
			third := asked(t, err)
			if third.Kind != core.KindForm || third.Schema != nil || third.Message != "Really?" {
				t.Fatalf("asked %+v", third)
			}
			answers = append(answers, answered(t, third, c.sure, ""))
			out, err := again(answers...)
			want := string(c.form) + " eu accept " + string(c.sure)
			if c.form == core.ActionDecline {
				want = "decline <nil> accept decline"
			}
			if err != nil || out != want {
				t.Errorf("%q, %v; want %q", out, err, want)
			}
			if got := r.all(); !slices.Equal(got, []string{`move {"a":1}`, `move {"a":1}`, `move {"a":1}`}) {
				t.Errorf("calls %q", got)
			}
		})
	}
}

// TestOrderOfAsks asks in the order the server wrote them, with the fields in theirs.
func TestOrderOfAsks(t *testing.T) {
	t.Parallel()
	raw := `{"inputRequests":{"zz":{"method":"elicitation/create","params":{"message":"first","requestedSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}}},"aa":{"method":"elicitation/create","params":{"mode":"url","message":"second","url":"https://x.example/"}}},"requestState":"s","resultType":"input_required","_meta":{"parley/inputRequests":"{}","other":1}}`
	var res sdk.CallToolResult
	if err := json.Unmarshal(annotateResult(json.RawMessage(raw)), &res); err != nil {
		t.Fatal(err)
	}
	ids := ordered(&res)
	if !slices.Equal(ids, []string{"zz", "aa"}) || res.Meta["other"] != float64(1) {
		t.Errorf("order %q, meta %v", ids, res.Meta)
	}
	q, err := requestOf(res.InputRequests["zz"].(*sdk.ElicitParams))
	if err != nil || !strings.Contains(string(q.Schema), `"z":{"type":"string"},"a"`) {
		t.Errorf("schema %s, %v", q.Schema, err)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, g generation) {
		var asks sdk.InputRequestMap
		var mu sync.Mutex
		server := newServer(g)
		add(server, "ask", nil, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if r.Params.RequestState == "s" {
				return says("went on"), nil
			}
			return &sdk.CallToolResult{RequestState: "s", InputRequests: asks}, nil
		})
		p := newPlace(t)
		p.serve(server)
		s := ready(t, start(t, Config{URL: p.url()}))
		for name, ask := range map[string]sdk.InputRequest{
			"nested": &sdk.ElicitParams{Mode: "form", Message: "m", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"o":{"type":"object"}}}`)},
			"http":   &sdk.ElicitParams{Mode: "url", Message: "m", URL: "http://x.example/"},
			"script": &sdk.ElicitParams{Mode: "url", Message: "m", URL: "javascript:alert(1)"},
			"empty":  &sdk.ElicitParams{Mode: "form"},
			"mode":   &sdk.ElicitParams{Mode: "voice", Message: "m"},
		} {
			mu.Lock()
			asks = sdk.InputRequestMap{"x": ask}
			mu.Unlock()
			out, err := attempt(t, s, "box__ask", `{}`)
			var a *tool.AskError
			var declined *tool.ErrDeclined
			if err == nil || errors.As(err, &a) || errors.As(err, &declined) || isUnknown(err) || out != "" {
				t.Errorf("%s: %q, %v", name, out, err)
			}
		}
	})
}

// TestWhatIsNotOffered: a model and folders are no person's to give.
func TestWhatIsNotOffered(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"roots/list", "sampling/createMessage"} {
		var res sdk.CallToolResult
		raw := `{"resultType":"input_required","inputRequests":{"a":{"method":"` + method + `","params":{"messages":[]}}}}`
		if err := json.Unmarshal(annotateResult(json.RawMessage(raw)), &res); err != nil {
			t.Fatal(err)
		}
		err := (&call{tool: "box__a"}).next(&res, 1)
		var ask *tool.AskError
		if err == nil || errors.As(err, &ask) || !strings.Contains(err.Error(), "not offered") {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestBusyServer(t *testing.T) {
	t.Parallel()
	var r ran
	server := newServer(modern)
	add(server, "busy", nil, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r.note(req)
		if req.Params.RequestState == "" {
			return &sdk.CallToolResult{RequestState: "later", InputRequests: sdk.InputRequestMap{}}, nil
		}
		return says("done " + req.Params.RequestState), nil
	})
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	if out, err := attempt(t, s, "box__busy", `{}`); err != nil || out != "done later" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestStepsFirst does the pages without which a server does not begin, and then calls again.
func TestStepsFirst(t *testing.T) {
	t.Parallel()
	for _, done := range []core.Action{core.ActionAccept, core.ActionDecline} {
		t.Run(string(done), func(t *testing.T) {
			t.Parallel()
			n := 0
			server := newServer(older)
			add(server, "mail", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				if n++; n == 1 {
					return nil, sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "Sign in", URL: "https://login.example/", ElicitationID: "e1"}})
				}
				return says("sent"), nil
			})
			p := newPlace(t)
			p.serve(server)
			s := ready(t, start(t, Config{URL: p.url()}))
			_, err := attempt(t, s, "box__mail", `{}`)
			a := asked(t, err)
			if a.Kind != core.KindURL || a.URL != "https://login.example/" {
				t.Fatalf("asked %+v", a)
			}
			out, err := attempt(t, s, "box__mail", `{}`, answered(t, a, done, ""))
			var declined *tool.ErrDeclined
			if done == core.ActionAccept && (err != nil || out != "sent") || done == core.ActionDecline && (!errors.As(err, &declined) || n != 1) {
				t.Errorf("%q, %v, called %d times", out, err, n)
			}
		})
	}
}

// TestStepThatWasNotDone: the person's word is no proof, and a server that still misses the step has them asked again.
func TestStepThatWasNotDone(t *testing.T) {
	t.Parallel()
	n := 0
	server := newServer(older)
	add(server, "mail", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if n++; n < 4 {
			return nil, sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "Sign in", URL: "https://login.example/", ElicitationID: "e1"}})
		}
		return says("sent"), nil
	})
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	var answers []tool.Answered
	for range 3 {
		_, err := attempt(t, s, "box__mail", `{}`, answers...)
		answers = append(answers, answered(t, asked(t, err), core.ActionAccept, ""))
	}
	if out, err := attempt(t, s, "box__mail", `{}`, answers...); err != nil || out != "sent" || n != 4 {
		t.Errorf("%q, %v, called %d times", out, err, n)
	}
}

// TestBlockingAskIsDropped asks by ending the call where it may be made again, and answers from the record.
func TestBlockingAskIsDropped(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]*sdk.ToolAnnotations{"read": {ReadOnlyHint: true}, "idempotent": {IdempotentHint: true}} {
		for _, c := range []struct {
			action core.Action
			fields string
			want   string
		}{
			{core.ActionAccept, `{"zone":"eu","age":12345678901234567}`, `accept {"age":12345678901234567,"zone":"eu"}; accept null`},
			{core.ActionDecline, "", `decline null; accept null`}, // PR-18
		} {
			t.Run(name+" "+string(c.action), func(t *testing.T) {
				t.Parallel()
				var r ran
				server := newServer(older)
				add(server, "ask", hints, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					r.note(req)
					first, err := elicit(ctx, req, formAsk("Where to?"))
					if err != nil {
						return nil, err
					}
					second, err := elicit(ctx, req, &sdk.ElicitParams{Mode: "url", Message: "Sign in", URL: "https://login.example/"})
					if err != nil {
						return nil, err
					}
					return says(first.Content[0].(*sdk.TextContent).Text + "; " + second.Content[0].(*sdk.TextContent).Text), nil
				})
				p := newPlace(t)
				p.serve(server)
				s := ready(t, start(t, Config{URL: p.url()}))
				_, err := attempt(t, s, "box__ask", `{}`)
				first := asked(t, err)
				if !strings.Contains(string(first.Schema), `"zone"`) || strings.Index(string(first.Schema), `"zone":`) > strings.Index(string(first.Schema), `"age":`) {
					t.Errorf("the fields are not in the server's order: %s", first.Schema)
				}
				one := answered(t, first, c.action, c.fields)
				_, err = attempt(t, s, "box__ask", `{}`, one)
				two := answered(t, asked(t, err), core.ActionAccept, "")
				out, err := attempt(t, s, "box__ask", `{}`, one, two)
				if err != nil || strings.ReplaceAll(out, "12345678901234568", "12345678901234567") != c.want {
					t.Errorf("%q, %v; want %q", out, err, c.want)
				}
				if n := len(r.all()); n != 3 {
					t.Errorf("called %d times", n)
				}
			})
		}
	}
}

// waiting calls a tool whose asks wait on the open connection, and answers them with f.
func waiting(t *testing.T, s *Source, name string, f func(tool.Asked) (tool.Answered, error)) (string, error) {
	t.Helper()
	return find(t, s, name).Call(tool.NewContext(t.Context(), "k1", ana, nil, f), json.RawMessage(`{}`))
}

// asker is a server with one tool that asks once inside the call and cannot be made again.
func asker(t *testing.T, r *ran) *place {
	server := newServer(older)
	p := newPlace(t)
	add(server, "ask", nil, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r.note(req)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(p.alive(), cancel)()
		return elicit(ctx, req, formAsk("Where to?"))
	})
	p.serve(server)
	return p
}

func TestBlockingAskWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  tool.Answered
		err     error
		out     string
		failure string
	}{
		{"accept", tool.Answered{Answer: core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"zone": json.RawMessage(`"us"`)}}}, nil, `accept {"zone":"us"}`, ""},
		{"decline", tool.Answered{Answer: core.Answer{Action: core.ActionDecline}}, nil, `decline null`, ""},
		{"nobody", tool.Answered{}, tool.ErrUnanswered, "", "cancel null"},
		{"the turn may not ask", tool.Answered{}, errors.New("at most 20 times"), "", "at most 20 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r ran
			p := asker(t, &r)
			s := ready(t, start(t, Config{URL: p.url()}))
			out, err := waiting(t, s, "box__ask", func(a tool.Asked) (tool.Answered, error) {
				if a.Message != "Where to?" || a.Kind != core.KindForm || a.Until == nil {
					t.Errorf("asked %+v", a)
				}
				return c.answer, c.err
			})
			if out != c.out || (c.failure == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.failure) {
				t.Errorf("%q, %v", out, err)
			}
			var declined *tool.ErrDeclined
			if err != nil && (!errors.Is(err, tool.ErrUnanswered) || errors.As(err, &declined) || isUnknown(err)) {
				t.Errorf("it ended as %v", err)
			}
			if n := len(r.all()); n != 1 {
				t.Errorf("called %d times", n)
			}
		})
	}
}

// TestBlockingAskEndsWithTheConnection kills the server while the person is asked.
func TestBlockingAskEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	var r ran
	p := asker(t, &r)
	s := ready(t, start(t, Config{URL: p.url()}))
	_, err := waiting(t, s, "box__ask", func(a tool.Asked) (tool.Answered, error) {
		p.kill()
		<-a.Until
		return tool.Answered{}, tool.ErrUnanswered
	})
	var declined *tool.ErrDeclined
	if !errors.Is(err, tool.ErrUnanswered) || errors.As(err, &declined) || isNotStarted(err) || !strings.Contains(err.Error(), "connection") {
		t.Errorf("it ended as %v", err)
	}
}

// TestServerLosesPatience is a server that takes its question back.
func TestServerLosesPatience(t *testing.T) {
	t.Parallel()
	server := newServer(older)
	open := make(chan struct{})
	add(server, "ask", nil, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		go func() { <-open; cancel() }()
		_, err := req.Session.Elicit(ctx, formAsk("Where to?"))
		return says(fmt.Sprint("gave up: ", err != nil)), nil
	})
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	_, err := waiting(t, s, "box__ask", func(a tool.Asked) (tool.Answered, error) {
		close(open)
		<-a.Until
		return tool.Answered{}, tool.ErrUnanswered
	})
	if !errors.Is(err, tool.ErrUnanswered) || !strings.Contains(err.Error(), "gave up: true") {
		t.Errorf("it ended as %v", err)
	}
}

// TestAskThatDiffersEachTime is never answered from a record, so that it waits where it stands.
func TestAskThatDiffersEachTime(t *testing.T) {
	t.Parallel()
	var n int
	server := newServer(older)
	add(server, "ask", &sdk.ToolAnnotations{ReadOnlyHint: true}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		n++
		return elicit(ctx, req, formAsk(fmt.Sprint("Question ", n)))
	})
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	_, err := attempt(t, s, "box__ask", `{}`)
	first := answered(t, asked(t, err), core.ActionAccept, `{"zone":"eu"}`)
	wait := func(a tool.Asked) (tool.Answered, error) {
		return tool.Answered{Answer: core.Answer{Action: core.ActionDecline}}, nil
	}
	out, err := find(t, s, "box__ask").Call(tool.NewContext(t.Context(), "k1", ana, []tool.Answered{first}, wait), json.RawMessage(`{}`))
	if err != nil || out != "decline null" {
		t.Errorf("%q, %v: an answer to another question was given", out, err)
	}
}

// TestAnswersReachTheirOwnCall asks in many calls at once, over one connection.
func TestAnswersReachTheirOwnCall(t *testing.T) {
	t.Parallel()
	server := newServer(older)
	add(server, "ask", nil, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := req.Session.Elicit(ctx, formAsk("Sure?")) // the same words in each
		if err != nil {
			return nil, err
		}
		return says(fmt.Sprintf("%s %v", req.Params.Arguments, res.Content["age"])), nil
	})
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	const many = 20
	var open, over sync.WaitGroup
	open.Add(many)
	for i := range many {
		over.Go(func() {
			wait := func(tool.Asked) (tool.Answered, error) {
				open.Done()
				open.Wait() // all of them wait at once
				return tool.Answered{Answer: core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"zone": json.RawMessage(`"eu"`), "age": fmt.Appendf(nil, "%d", i)}}}, nil
			}
			args := fmt.Sprintf(`{"n":%d}`, i)
			out, err := find(t, s, "box__ask").Call(tool.NewContext(t.Context(), "k", ana, nil, wait), json.RawMessage(args))
			if want := fmt.Sprintf("%s %d", args, i); err != nil || out != want {
				t.Errorf("%q, %v; want %q", out, err, want)
			}
		})
	}
	over.Wait()
}
