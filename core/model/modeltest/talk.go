package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"parley/core/model"
)

// Ending is a way in which a call can end, as the model is told of it.
type Ending struct {
	Name    string
	Content string
	IsError bool
}

// Endings are all of them.
var Endings = []Ending{
	{Name: "approved", Content: `{"deleted":true}`},
	{Name: "declined", Content: "Declined: the call did not run. Their reason: not today", IsError: true},
	{Name: "skipped", Content: "Skipped: nobody confirmed an answer."},
	{Name: "superseded", Content: "Not answered: the user sent a new message instead", IsError: true},
	{Name: "cancelled", Content: "Cancelled: the call did not run.", IsError: true},
	{Name: "expired", Content: "Nobody answered in time: the call did not run.", IsError: true},
	{Name: "interrupted", Content: "Interrupted: the call may or may not have run.", IsError: true},
	{Name: "not run", Content: "approved by ana, not run: the user sent a new message instead", IsError: true},
	{Name: "failed", Content: "disk full", IsError: true},
	{Name: "nothing returned", Content: ""},
	{Name: "no valid UTF-8", Content: "caf\xe9 \x00 </tool>"},
}

// Talk is a conversation with a model as the engine has it: a reply is stored as JSON and read back, calls
// get their results, and each request is valid.
type Talk struct {
	Model   model.Model
	Request model.Request
	// Stream asks for streams and checks what they tell.
	Stream bool
}

// Say adds a user message.
func (k *Talk) Say(text string) {
	k.Request.Messages = append(k.Request.Messages, model.Message{Role: model.RoleUser, Text: text})
}

// Next asks for the next reply and adds it.
func (k *Talk) Next(t *testing.T) model.Response {
	t.Helper()
	if err := model.Valid(k.Request.Messages); err != nil {
		t.Fatalf("the test builds a conversation that is not valid: %v", err)
	}
	resp, err := k.Ask(t, t.Context())
	if err != nil {
		t.Fatalf("generate: %v", err)
	}
	resp = stored(t, resp)
	if (resp.Stop == model.StopTools) != (len(resp.Calls) > 0) {
		t.Errorf("stop %q with %d calls", resp.Stop, len(resp.Calls))
	}
	if resp.Usage.Requests == 0 {
		t.Errorf("usage counts no request")
	}
	k.Request.Messages = append(k.Request.Messages, model.Message{
		Role: model.RoleAssistant, Text: resp.Text, Calls: resp.Calls, Raw: resp.Raw, Provider: resp.Provider,
	})
	return resp
}

// End adds the results of the last reply's calls, which end in the given ways in turn.
func (k *Talk) End(resp model.Response, how ...Ending) {
	for i, c := range resp.Calls {
		e := how[i%len(how)]
		k.Request.Messages = append(k.Request.Messages, model.Message{
			Role: model.RoleTool, Result: &model.Result{CallID: c.ID, Name: c.Name, Content: e.Content, IsError: e.IsError},
		})
	}
}

// stored returns a reply as it is after it was stored, which must be as it was.
func stored(t *testing.T, resp model.Response) (out model.Response) {
	t.Helper()
	b, err := json.Marshal(resp)
	if err != nil {
		t.Fatalf("the reply cannot be stored: %v", err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("the reply cannot be read back: %v", err)
	}
	again, err := json.Marshal(out)
	if err != nil || !reflect.DeepEqual(b, again) {
		t.Errorf("the reply is stored as\n%s\nand after reading back as\n%s (%v)", b, again, err)
	}
	return out
}

// Ask makes the request and returns what came of it. Of a stream it checks that the text told so far only
// grows, or is taken back, and is the reply's at last.
func (k *Talk) Ask(t *testing.T, ctx context.Context) (model.Response, error) {
	t.Helper()
	if !k.Stream {
		return k.Model.Generate(ctx, k.Request)
	}
	s, ok := k.Model.(model.Streamer)
	if !ok {
		t.Fatalf("%T cannot stream", k.Model)
	}
	last := ""
	resp, err := s.Stream(ctx, k.Request, func(soFar string) {
		if soFar != "" && (!strings.HasPrefix(soFar, last) || soFar == last) {
			t.Errorf("the stream told %q after %q", soFar, last)
		}
		last = soFar
	})
	if err == nil && last != "" && last != resp.Text {
		t.Errorf("the stream told %q, the reply is %q", last, resp.Text)
	}
	return resp, err
}

// Fails asks and returns the error, which must be fit to be shown: a sentence, and no secret and nothing of
// the conversation in it or in what it wraps.
func (k *Talk) Fails(t *testing.T) *model.Error {
	t.Helper()
	resp, err := k.Ask(t, t.Context())
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %+v and error %v, want an *Error", resp, err)
	}
	CheckError(t, e, k.Request)
	return e
}

// CheckError checks that an error is fit to be shown and logged.
func CheckError(t *testing.T, e *model.Error, req model.Request) {
	t.Helper()
	first, last := []rune(e.Sentence + " ")[0], e.Sentence[max(len(e.Sentence)-1, 0):]
	if !unicode.IsUpper(first) || last != "." || strings.Contains(e.Sentence, "\n") {
		t.Errorf("%q is not a sentence for a person", e.Sentence)
	}
	secrets := []string{Key, Key[:len(Key)-1]}
	for _, m := range req.Messages {
		if len(m.Text) > 3 {
			secrets = append(secrets, m.Text)
		}
	}
	for err := error(e); err != nil; err = errors.Unwrap(err) {
		for _, s := range secrets {
			if strings.Contains(err.Error(), s) {
				t.Errorf("the error holds %q: %v", s, err)
			}
		}
	}
}
