package model

import (
	"fmt"
	"strings"
	"testing"
)

func TestFitImages(t *testing.T) {
	t.Parallel()
	img := func(name, kind string, size int) Image {
		return Image{Name: name, Type: kind, Data: make([]byte, size)}
	}
	say := func(images ...Image) Message { return Message{Role: RoleUser, Text: "look", Images: images} }
	for _, tt := range []struct {
		name  string
		takes bool
		in    []Message
		want  string // names of those sent, of each message
		text  string // part of the first message's text
	}{
		{"taken", true, []Message{say(img("a", "image/png", 9), img("b", "image/webp", 9))}, "a,b", "look"},
		{"not taken", false, []Message{say(img("a", "image/png", 9))}, "", "look\n(a picture that you cannot see: a, image/png, 9 bytes)"},
		{"other type", true, []Message{say(img("a", "image/svg+xml", 9), img("b", "image/gif", 9))}, "b", "a, image/svg+xml"},
		{"too large", true, []Message{say(img("a", "image/png", MaxImageBytes+1))}, "", "bytes)"},
		{"just not too large", true, []Message{say(img("a", "image/png", MaxImageBytes))}, "a", "look"},
		{"empty", true, []Message{say(img("a", "image/png", 0))}, "", "0 bytes"},
		{"no name", false, []Message{say(img("", "image/png", 1))}, "", "without a name"},
		{"newest first", true, []Message{say(img("a", "image/png", MaxImageBytes)), say(img("b", "image/png", MaxImageBytes), img("c", "image/png", MaxImageBytes)), say(img("d", "image/png", MaxImageBytes), img("e", "image/png", MaxImageBytes))}, "|b,c|d,e", "a, image/png"},
		{"none", true, []Message{say(), {Role: RoleAssistant}}, "|", "look"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := fmt.Sprint(tt.in[0].Text, len(tt.in[0].Images))
			var got []string
			out := FitImages(tt.in, tt.takes)
			for _, m := range out {
				var names []string
				for _, i := range m.Images {
					names = append(names, i.Name)
				}
				got = append(got, strings.Join(names, ","))
			}
			if s := strings.Join(got, "|"); s != tt.want || !strings.Contains(out[0].Text, tt.text) {
				t.Errorf("sent %q with %q, want %q with %q", s, out[0].Text, tt.want, tt.text)
			}
			if fmt.Sprint(tt.in[0].Text, len(tt.in[0].Images)) != before {
				t.Error("the messages given were changed")
			}
		})
	}
}

func TestImagesAreCounted(t *testing.T) {
	t.Parallel()
	var many []Message
	for range MaxImages + 3 {
		many = append(many, Message{Role: RoleUser, Images: []Image{{Type: "image/png", Data: []byte("x")}}})
	}
	out := FitImages(many, true)
	for i, m := range out {
		if want := i >= 3; (len(m.Images) == 1) != want || (m.Text == "") != want {
			t.Errorf("message %d: %d pictures, text %q", i, len(m.Images), m.Text)
		}
	}
	if err := Valid([]Message{{Role: RoleAssistant, Images: many[0].Images}}); err == nil {
		t.Error("pictures of an assistant are valid")
	}
}
