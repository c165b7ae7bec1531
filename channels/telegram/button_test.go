package telegram

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"parley/channels"
	"parley/core"
	"parley/render"
)

func buttons(replies ...string) []render.Button {
	var out []render.Button
	for _, r := range replies {
		out = append(out, render.Button{Label: strings.ToUpper(r), Input: "in0001", Reply: r, Step: 3})
	}
	return out
}

// A press comes back as what its button said, is settled, and only then answered with the outcome.
func TestPress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(dm, render.Part{Text: "Delete?", Buttons: buttons("yes", "no")})
		m := r.srv.Sent(dm)[0]
		r.sink.OnPress(func(_ context.Context, p channels.Press) (channels.PressOutcome, error) {
			if r.srv.Answered(p.ID).Done {
				t.Error("answered before it was settled")
			}
			return channels.PressOutcome{Line: "Only the people who may answer can press this: Ben."}, nil
		})
		id, err := r.srv.Press(ana, dm, m.ID, "YES")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := channels.Press{Input: "in0001", Reply: "yes", Step: 3, From: "telegram:42", Conversation: conversation(dm), ID: id, Lang: "de"}
		if got := r.sink.Pressed(); len(got) != 1 || got[0] != want {
			t.Errorf("pressed %+v, want %+v", got, want)
		}
		if a := r.srv.Answered(id); !a.Done || !strings.Contains(a.Text, "Ben") || a.Alert {
			t.Errorf("answer %+v", a)
		}
	})
}

// TR-07: a press that could not be stored is told so, never confirmed, and can be repeated.
func TestPressNotStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(dm, render.Part{Text: "Delete?", Buttons: buttons("yes")})
		m := r.srv.Sent(dm)[0]
		for line, want := range map[string]string{"": unstored, "Das ging nicht.": "Das ging nicht."} {
			r.sink.OnPress(func(context.Context, channels.Press) (channels.PressOutcome, error) {
				return channels.PressOutcome{Line: line}, errors.New("disk full")
			})
			id, err := r.srv.Press(ana, dm, m.ID, "YES")
			if err != nil {
				t.Fatal(err)
			}
			after(time.Second)
			if a := r.srv.Answered(id); !a.Done || a.Text != want {
				t.Errorf("answer %+v, want %q", a, want)
			}
		}
		if p := r.srv.Pending(); len(p) != 0 {
			t.Errorf("updates %v are not confirmed", p)
		}
	})
}

// Old, forged and foreign presses never panic, and their spinner ends.
func TestPressOddities(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(dm, render.Part{Text: "Delete?", Buttons: buttons("yes")})
		m := r.srv.Sent(dm)[0]
		for _, data := range []string{"approve", "in0001", "in0001:yes", "in0001:-1:yes", "in0001:01:yes", "in0001:x:yes", ":0:yes", "in0001:0:", "in 1:0:yes", "in0001:99999999999999999999:yes", strings.Repeat("i", 33) + ":0:yes"} {
			id := r.srv.PressData(ana, dm, m.ID, data)
			synctest.Wait()
			if a := r.srv.Answered(id); !a.Done || a.Text != "" {
				t.Errorf("%q: answer %+v", data, a)
			}
		}
		if n := len(r.sink.Pressed()); n != 0 {
			t.Errorf("%d forged presses got through", n)
		}
		late := r.srv.PressData(ana, dm, 9999, "in0001:0:yes") // of a message too old to be told
		r.srv.Outlive(late)
		synctest.Wait()
		if got := r.sink.Pressed(); len(got) != 1 || got[0].Input != "in0001" {
			t.Errorf("pressed %+v", got)
		}
		r.srv.Say(ana, dm, "goes on")
		synctest.Wait()
		if got := r.sink.Texts(); got != "goes on" {
			t.Errorf("handed over %q", got)
		}
	})
}

// At a graceful stop a press that was not stored is left for the next process.
func TestPressAtShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(dm, render.Part{Text: "Delete?", Buttons: buttons("yes")})
		r.sink.OnPress(func(context.Context, channels.Press) (channels.PressOutcome, error) {
			r.Cancel()
			return channels.PressOutcome{}, context.Canceled
		})
		id, err := r.srv.Press(ana, dm, r.srv.Sent(dm)[0].ID, "YES")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r.srv.Answered(id).Done || len(r.srv.Pending()) != 1 {
			t.Error("the press was lost")
		}
	})
}

func TestKeyboard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.send(dm, render.Part{Text: "?", Buttons: append(buttons("a", "b", "a label that is long", "c", "d", "e"), render.Button{Label: "Open", URL: "https://example.test"})})
		m := r.srv.Sent(dm)[0]
		var rows []string
		for _, row := range m.Buttons {
			var labels []string
			for _, b := range row {
				labels = append(labels, b.Text)
			}
			rows = append(rows, strings.Join(labels, "+"))
		}
		if got := strings.Join(rows, " "); got != "A+B A LABEL THAT IS LONG C+D E+Open" {
			t.Errorf("rows %s", got)
		}
		if b, _ := m.Button("Open"); b.URL != "https://example.test" || b.Data != "" {
			t.Errorf("link button %+v", b)
		}
	})
}

// A payload has 64 bytes: where one reply does not fit none is offered, and nothing is ever cut.
func TestKeyboardLimits(t *testing.T) {
	t.Parallel()
	fit := strings.Repeat("я", 27) // 54 bytes
	tests := map[string]struct {
		buttons []render.Button
		none    bool
	}{
		"fits to the byte":   {[]render.Button{{Label: "a", Input: "in00001", Reply: fit}}, false},
		"a byte too long":    {[]render.Button{{Label: "a", Input: "in00001", Reply: fit + "x"}}, true},
		"one of two too big": {append(buttons("yes"), render.Button{Label: "b", Input: "in00001", Reply: fit + "x"}), true},
		"longest input id":   {[]render.Button{{Label: "a", Input: core.InputID(strings.Repeat("a", 32)), Reply: "12", Step: 99}}, false},
		"blank label":        {[]render.Button{{Label: " ", Input: "i", Reply: "1"}}, true},
		"broken text":        {[]render.Button{{Label: "a", Input: "i", Reply: "\xff"}}, true},
		"no reply":           {[]render.Button{{Label: "a", Input: "i"}}, true},
		"too many":           {buttons(strings.Split(strings.Repeat("x ", 101), " ")[:101]...), true},
		"none":               {nil, true},
	}
	for name, tt := range tests {
		raw, err := keyboard(tt.buttons)
		if err != nil || (raw == "") != tt.none {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
}

// What a button submits reads back as the same, or is not offered.
func FuzzButton(f *testing.F) {
	f.Add("in0001", 3, "yes")
	f.Add("in0001", 0, "a:b")
	f.Add("", -1, "")
	f.Fuzz(func(t *testing.T, input string, step int, reply string) {
		parseButton(reply)
		data, ok := buttonData(render.Button{Input: core.InputID(input), Step: step, Reply: reply})
		if !ok || step < 0 || len(input) > channels.MaxInputID {
			return
		}
		if len(data) > maxData || !utf8.ValidString(data) {
			t.Fatalf("payload %q", data)
		}
		gotInput, gotStep, gotReply, ok := parseButton(data)
		if ok && (string(gotInput) != input || gotStep != step || gotReply != reply) {
			t.Errorf("%q reads as %q %d %q", data, gotInput, gotStep, gotReply)
		}
	})
}
