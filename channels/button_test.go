package channels

import (
	"testing"

	"parley/core"
	"parley/render"
)

func TestButtonPayloadRoundTrip(t *testing.T) {
	t.Parallel()
	for _, b := range []render.Button{
		{Input: "in0001", Reply: "yes"}, {Input: "A-b_9", Step: 12, Reply: "a:b: c"}, {Input: "x", Reply: "日本"},
	} {
		payload, ok := ButtonPayload(b, b.Reply)
		input, step, reply, read := ParseButtonPayload(payload)
		if !ok || !read || input != b.Input || step != b.Step || reply != b.Reply {
			t.Errorf("%+v becomes %q (%v), read as %q %d %q (%v)", b, payload, ok, input, step, reply, read)
		}
	}
	for _, b := range []render.Button{{Reply: "yes"}, {Input: "x"}, {Input: "x:1", Reply: "yes"}, {Input: "x", Reply: "\xff"}} {
		if payload, ok := ButtonPayload(b, b.Reply); ok {
			t.Errorf("%+v becomes %q", b, payload)
		}
	}
}

func TestButtonPayloadsOfOthers(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"", "x", "x:1", ":0:yes", "x:y:yes", "x:-1:yes", "x:+1:yes", "x:01:yes", "x:99999999999999999999:yes", "a b:0:yes", "é:0:yes",
		"0123456789012345678901234567890123:0:yes"} {
		if _, _, _, ok := ParseButtonPayload(payload); ok {
			t.Errorf("%q is taken for one of ours", payload)
		}
	}
}

func FuzzParseButtonPayload(f *testing.F) {
	f.Add("in0001:0:yes")
	f.Add("a:007:")
	f.Fuzz(func(t *testing.T, payload string) {
		input, step, reply, ok := ParseButtonPayload(payload)
		if !ok || reply == "" {
			return
		}
		if again, fine := ButtonPayload(render.Button{Input: core.InputID(input), Step: step, Reply: reply}, reply); again != payload {
			t.Errorf("%q is read, and written as %q (%v)", payload, again, fine)
		}
	})
}
