package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/core/turn"
)

// tally counts what racing answers were told.
type tally struct {
	mu    sync.Mutex
	won   []string // the door
	told  int
	other []string
}

func (y *tally) add(door string, v verdict) {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch v {
	case settled:
		y.won = append(y.won, door)
	case same, conflict:
		y.told++
	default:
		y.other = append(y.other, door+": "+string(v))
	}
}

// racers is a hundred answers to one input that was asked over MCP and copied into a chat: each door has its share,
// half of them yes and half no, by the asker and an approver.
type racers struct {
	*scene
	in      core.Input
	room    telegramtest.Where
	copied  telegramtest.Message
	client  *mcpCall
	answers *sdk.CallToolResult
	pages   map[string]*browser

	mu      sync.Mutex
	claimed map[string]bool
}

// TestRacingDoors: a hundred answers to one input through every door at once. One takes effect; the others are told
// how it was settled, and in the chat, where all are read in their order, at most one note each.
func TestRacingDoors(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			raceDoors(t)
		})
	}
}

func raceDoors(t *testing.T) {
	r := newRacers(t)
	y := &tally{}
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range 100 {
		who, yes := []string{"ana", "ben"}[i/2%2], i%2 == 0
		door := []string{"rest", "go", "web", "button", "chat", "mcp"}[i%6]
		if door == "mcp" {
			who = "ana" // it asks who asked
		}
		all.Go(func() {
			<-begin
			y.add(door, r.answer(door, who, yes))
		})
	}
	close(begin)
	all.Wait()
	r.taken(r.in.Conversation)
	now, err := r.app.engine.Input(t.Context(), r.in.ID)
	mustBe(t, err)
	if len(y.won) != 1 || y.told != 99 || len(y.other) > 0 {
		t.Errorf("won at %q, %d were told, others: %q", y.won, y.told, y.other)
	}
	if len(y.won) == 1 && now.Settled.Via != y.won[0] {
		t.Errorf("won at %q and stored by %q", y.won, now.Settled.Via)
	}
	want := map[core.InputState]int{core.InputAccepted: 1, core.InputDeclined: 0}[now.State]
	if got := r.calls(); len(got) != want {
		t.Errorf("%s, and these ran: %q", now.State, got)
	}
	events, err := r.app.store.Events(t.Context(), now.Run, 0, 1000)
	mustBe(t, err)
	resolved := slices.DeleteFunc(events, func(e core.Event) bool { return e.Type != core.EventInputResolved })
	if len(resolved) != 1 {
		t.Errorf("%d events of how it ended", len(resolved))
	}
}

func newRacers(t *testing.T) *racers {
	s := newScene(t, humans([]string{"ben"}, "notify", []string{"tg:-5000"}))
	r := &racers{scene: s, room: s.bot.Supergroup(-5000), pages: map[string]*browser{}, claimed: map[string]bool{}}
	a := s.askMCP("ana", core.KindApproval)
	r.in, r.client, r.answers = a.in, a.client, a.client.res
	s.eventually("the copy stands in the chat", func() bool {
		in, err := s.app.engine.Input(t.Context(), r.in.ID)
		mustBe(t, err)
		if len(in.Prompts) == 0 || in.Prompts[0].DeliveredAt.IsZero() {
			return false
		}
		sent := s.bot.Sent(r.room)
		r.copied = sent[len(sent)-1]
		return true
	})
	for _, who := range []string{"ana", "ben"} {
		r.pages[who] = s.browse(who)
	}
	return r
}

// answer gives one answer; a verdict of the door itself, not of the store.
func (r *racers) answer(door, who string, yes bool) verdict {
	switch door {
	case "rest":
		return r.byREST(who, yes)
	case "go":
		return r.byCode(who, yes)
	case "web":
		return r.byWeb(who, yes)
	case "button":
		return r.byButton(who, yes)
	case "chat":
		return r.byChat(who, yes)
	}
	return r.byMCP(yes)
}

func (r *racers) byREST(who string, yes bool) verdict {
	a := r.api("all", "POST", "/v1/agents/ops/inputs/"+string(r.in.ID), map[string]any{"action": "accept", "content": yes, "from": idOf(who), "hash": r.in.Hash})
	switch {
	case a.status == http.StatusAccepted:
		return settled
	case a.status == http.StatusOK && strings.Contains(a.body, `"settled":{`):
		return same
	case a.status == http.StatusConflict && a.By != "":
		return conflict
	}
	return verdict(a.body)
}

func (r *racers) byCode(who string, yes bool) verdict {
	content, err := json.Marshal(yes)
	mustBe(r.t, err)
	done, err := r.app.engine.SettleAll(context.Background(), []turn.Settlement{{
		Input: r.in.ID, From: idOf(who), Via: "go", Step: -1, Hash: r.in.Hash, Submission: core.Submission{Action: core.ActionAccept, Content: content},
	}})
	var no *core.AnswerError
	switch {
	case errors.As(err, &no):
		return refusedAs(no)
	case err != nil:
		return verdict(err.Error())
	case done[0].Now:
		return settled
	}
	return same
}

func (r *racers) byWeb(who string, yes bool) verdict {
	form := url.Values{"action": {map[bool]string{true: "accept", false: "decline"}[yes]}, "hash": {r.in.Hash}}
	status, body := r.pages[who].post("/inbox/inputs/"+string(r.in.ID), form)
	switch {
	case status == http.StatusSeeOther:
		return r.stored("web", who, yes)
	case status == http.StatusConflict && strings.Contains(body, "came too late"):
		return conflict
	}
	return verdict(fmt.Sprintf("%d %s", status, body))
}

func (r *racers) byButton(who string, yes bool) verdict {
	label := map[bool]int{true: 0, false: 1}[yes]
	press := r.bot.PressData(people[who], r.room, r.copied.ID, r.copied.Buttons[0][label].Data)
	r.eventually("the press is answered", func() bool { return r.bot.Answered(press).Done })
	line := r.bot.Answered(press).Text
	switch {
	case line == "":
		return r.stored("button", who, yes)
	case strings.Contains(line, "Already closed"):
		return conflict
	}
	return verdict(line)
}

// byChat replies to the copy. What was said is known once it is taken: by how the input stands.
func (r *racers) byChat(who string, yes bool) verdict {
	r.bot.Say(people[who], r.room, map[bool]string{true: "yes", false: "no"}[yes], telegramtest.Reply(r.copied.ID))
	r.eventually("every update is taken", func() bool { return len(r.bot.Pending()) == 0 })
	return r.stored("chat", who, yes)
}

func (r *racers) byMCP(yes bool) verdict {
	c := r.mcp("ana")
	c.params, c.res = r.client.params, r.answers
	said := c.again(r.t, &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": yes}})
	if strings.Contains(said, "it is already") {
		return conflict
	}
	return r.stored("mcp", "ana", yes)
}

// stored is the verdict of an answer that was taken without a word: settled by it, or how it was before.
func (r *racers) stored(via, who string, yes bool) verdict {
	in, err := r.app.engine.Input(context.Background(), r.in.ID)
	mustBe(r.t, err)
	state := map[bool]core.InputState{true: core.InputAccepted, false: core.InputDeclined}[yes]
	switch {
	case in.Settled == nil:
		return "it still waits"
	case in.State != state:
		return conflict
	case in.Settled.Via == via && in.Settled.By == idOf(who) && r.first(via+who):
		return settled
	}
	return same
}

// first reports whether an answer of this kind is the first that may say that it was the one.
func (r *racers) first(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claimed[key] {
		return false
	}
	r.claimed[key] = true
	return true
}
