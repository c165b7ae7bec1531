package tool_test

import (
	"encoding/json"
	"errors"
	"testing"

	"parley/core"
	"parley/core/tool"
)

// asked runs a tool's asks and returns the one that stopped it.
func asked(t *testing.T, err error) tool.Asked {
	t.Helper()
	var ask *tool.AskError
	if !errors.As(err, &ask) {
		t.Fatalf("error %v, want an AskError", err)
	}
	return ask.Asked
}

func TestAsksEachGetTheirOwnAnswer(t *testing.T) {
	t.Parallel()
	var answers []tool.Answered
	attempt := func() *tool.Context { return tool.NewContext(t.Context(), "r/c", tool.Identity{}, answers, nil) }
	accept, decline := core.Answer{Action: core.ActionAccept}, core.Answer{Action: core.ActionDecline, Reason: "no"}

	_, err := attempt().Confirm("Sure?")
	first := asked(t, err)
	answers = append(answers, tool.Answered{Key: first.Key, Answer: accept})

	ctx := attempt()
	if ok, err := ctx.Confirm("Sure?"); !ok || err != nil {
		t.Fatalf("first: %v, %v", ok, err)
	}
	_, err = ctx.Confirm("Sure?")
	second := asked(t, err)
	if second.Key == first.Key {
		t.Fatal("two asks of the same words share a key")
	}
	answers = append(answers, tool.Answered{Key: second.Key, Answer: decline})

	ctx = attempt()
	if ok, _ := ctx.Confirm("Sure?"); !ok {
		t.Error("the first answer changed")
	}
	if ok, err := ctx.Confirm("Sure?"); ok || err != nil {
		t.Errorf("second: %v, %v", ok, err)
	}
	if _, err := attempt().Confirm("Other?"); asked(t, err).Key == first.Key {
		t.Error("an ask of other words took the answer")
	}
}

func TestAskDecodesFieldsAndDeclines(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"wipe":{"type":"boolean"},"n":{"type":"integer"}}}`)
	var into struct {
		Wipe bool
		N    int
	}
	err := tool.NewContext(t.Context(), "k", tool.Identity{}, nil, nil).Ask("Fill in", schema, &into)
	a := asked(t, err)
	if a.Kind != core.KindForm || string(a.Schema) != string(schema) {
		t.Errorf("asked %+v", a)
	}
	fields := map[string]json.RawMessage{"wipe": json.RawMessage("true"), "n": json.RawMessage("7")}
	given := tool.Answered{Key: a.Key, Answer: core.Answer{Action: core.ActionAccept, Fields: fields}}
	ctx := tool.NewContext(t.Context(), "k", tool.Identity{Actor: "local:ana"}, []tool.Answered{given}, nil)
	if err := ctx.Ask("Fill in", schema, &into); err != nil || !into.Wipe || into.N != 7 {
		t.Errorf("%+v, %v", into, err)
	}
	if ctx.IdempotencyKey() != "k" || ctx.Identity().Actor != "local:ana" {
		t.Error("the context lost its key or identity")
	}
	given.Answer, given.By = core.Answer{Action: core.ActionDecline, Reason: "why"}, "local:ana"
	err = tool.NewContext(t.Context(), "k", tool.Identity{}, []tool.Answered{given}, nil).Ask("Fill in", schema, &into)
	var declined *tool.ErrDeclined
	if !errors.As(err, &declined) || declined.By != "local:ana" || declined.Error() != "declined by local:ana: why" {
		t.Errorf("declined: %v", err)
	}
}

func TestRequireURL(t *testing.T) {
	t.Parallel()
	a := asked(t, tool.NewContext(t.Context(), "k", tool.Identity{}, nil, nil).RequireURL("https://x.test/a", "Connect"))
	if a.Kind != core.KindURL || a.URL != "https://x.test/a" || a.Message != "Connect" {
		t.Errorf("asked %+v", a)
	}
	done := []tool.Answered{{Key: a.Key, Answer: core.Answer{Action: core.ActionAccept}}}
	if err := tool.NewContext(t.Context(), "k", tool.Identity{}, done, nil).RequireURL("https://x.test/a", "Connect"); err != nil {
		t.Error(err)
	}
	if err := tool.NewContext(t.Context(), "k", tool.Identity{}, done, nil).RequireURL("https://x.test/b", "Connect"); err == nil {
		t.Error("another address took the answer")
	}
	done[0].Answer.Action = core.ActionDecline
	var declined *tool.ErrDeclined
	if err := tool.NewContext(t.Context(), "k", tool.Identity{}, done, nil).RequireURL("https://x.test/a", "Connect"); !errors.As(err, &declined) {
		t.Errorf("declined: %v", err)
	}
}
