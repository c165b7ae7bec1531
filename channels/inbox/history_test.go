package inbox_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/turn"
)

// chat has ana send a message in a chat whose prompts are sent by nobody, and returns what the run waits on.
func (w *world) chat(id, text string) core.Input {
	w.t.Helper()
	c := core.NewConversation("ops", "chat", "room")
	_, err := w.engine.Accept(w.t.Context(), core.Message{ID: id, Conversation: c, From: ana, Text: text, SentAt: w.now(), Addressed: true})
	if err != nil {
		w.t.Fatal(err)
	}
	run, err := w.engine.Started(w.t.Context(), c, id)
	if err == nil {
		_, err = w.engine.Stopped(w.t.Context(), run.ID)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	waiting, err := w.engine.Waiting(w.t.Context(), c)
	if err != nil || len(waiting) == 0 {
		w.t.Fatalf("nothing waits: %v", err)
	}
	return waiting[0]
}

// TestHistoryTellsHowLong each call ran, and what the model took.
func TestHistoryTellsHowLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	b := w.as("ben")
	b.get("/inbox/runs/"+string(in.Run)).want(t, 200, "What the model took (1)", "!Ran for")
	b.answer(in, url.Values{}).want(t, 303)
	w.stopped(in)
	p := b.get("/inbox/runs/"+string(in.Run)).want(t, 200, "Ran for", "What the model took (2)", "Tokens in, out")
	if !regexp.MustCompile(`Ran for</bdi></dt><dd[^>]*>[0-9.]+ m?s<`).MatchString(p.body) {
		t.Errorf("how long it ran is not said\n%s", p.body)
	}
}

// TestPartsAreToldAsRead: what was answered in a chat so far stands on the card, and in the history as typed and as read.
func TestPartsAreToldAsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", oneLine(ask))[0]
	secret := w.begin("ops", `call team__form {"type":"object","required":["pin","day"],"properties":{"pin":{"type":"string","format":"password"},"day":{"type":"string"}}}`)[0]
	for id, typed := range map[core.InputID]string{in.ID: "1", secret.ID: "hunter2"} {
		if _, err := w.engine.Settle(t.Context(), turn.Settlement{Input: id, From: ana, Via: "button", Typed: typed, Step: -1}); err != nil {
			t.Fatal(err)
		}
	}
	b := w.as("ben")
	b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, "Answered so far, in the chat", "Which day?", "<dd class=\"theirs\" dir=\"auto\">Monday</dd>")
	b.get("/inbox/runs/"+string(in.Run)).want(t, 200, "test:ana answered a part, via button", "As typed", "Read as", "Which day?: Monday")
	for _, path := range []string{"/inbox", "/inbox/inputs/" + string(secret.ID), "/inbox/runs/" + string(secret.Run)} {
		b.get(path).want(t, 200, "!hunter2")
	}
	b.get("/inbox/inputs/"+string(secret.ID)).want(t, 200, "Answered so far", "masked: 7 characters")
}

// TestNotDelivered lists what chats would not take, to those whose runs they are of, newest first and live.
func TestNotDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ben, cleo := w.as("ben"), w.as("cleo")
	ben.get("/inbox?show=lost").want(t, 200, "Everything was delivered lately.", `aria-current="page">Not delivered</a>`)
	versions := ben.listen("/inbox/events?show=lost")
	first := next(t, versions)
	in := w.chat("m1", drop)
	w.undeliverable("chat", "the bot was <b>removed</b>")
	for v := first; v == first; {
		v = next(t, versions)
	}
	said := "could not be shown at chat:room: the bot was &lt;b&gt;removed&lt;/b&gt;"
	for _, path := range []string{"/inbox?show=lost", "/inbox?show=lost&agent=ops&person=test%3Aana"} {
		ben.get(path).want(t, 200, said, "/inbox/inputs/"+string(in.ID), "/inbox/runs/"+string(in.Run))
		w.as("ana").get(path).want(t, 200, said)
		cleo.get(path).want(t, 200, "!"+said, "Everything was delivered lately.")
		w.as("far").get(path).want(t, 200, "!"+said)
	}
	ben.get("/inbox?show=lost&agent=strict").want(t, 200, "!"+said)
	ben.get("/inbox?show=lost&person=test%3Aben").want(t, 200, "!"+said)

	// It stays listed when the input has ended, and a later one stands above it.
	ben.answer(in, url.Values{"action": {"decline"}}).want(t, 303)
	w.stopped(in)
	w.advance(time.Minute)
	w.undeliverable("chat", "still gone")
	p := ben.get("/inbox?show=lost").want(t, 200, said, "still gone")
	if strings.Index(p.body, "still gone") > strings.Index(p.body, said) {
		t.Error("the older one stands first")
	}
}
