package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley"
	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/core/model/scripted"
)

// verdict is what a door says to an answer, in the words of no door.
type verdict string

const (
	settled   verdict = "settled"   // now, by this answer
	same      verdict = "same"      // it had been answered so
	conflict  verdict = "conflict"  // it had been answered otherwise
	tooLate   verdict = "gone"      // it had been closed without an answer
	stale     verdict = "stale"     // it is no longer what was shown
	forbidden verdict = "forbidden" // this person may not
	mismatch  verdict = "mismatch"  // an answer to another kind
	invalid   verdict = "invalid"   // it does not fit
)

// cell is one answer at one door.
type cell struct {
	*asked
	value string
}

// doors are the ways to answer. Each returns its own word, which is to be the verdict of the table.
var doors = map[string]func(c cell) verdict{
	"chat": (cell).typed, "button": (cell).pressed, "rest": (cell).posted, "web": (cell).submitted, "mcp": (cell).elicited,
}

// after is the verdict of an answer that its door took without a word against it.
func (c cell) after(before core.Input, via string) verdict {
	now := c.now()
	switch {
	case before.Pending() && !now.Pending() && now.Settled.By == idOf(c.who) && now.Settled.Via == via:
		return settled
	case !before.Pending() && now.State == before.State && now.Settled.By == before.Settled.By:
		return same
	}
	return verdict(fmt.Sprintf("taken, and the input is %s", now.State))
}

// refusedAs is the verdict of a refusal by the engine.
func refusedAs(no *core.AnswerError) verdict {
	switch no.Code {
	case core.AnswerForbidden:
		return forbidden
	case core.AnswerMismatch:
		return mismatch
	case core.AnswerInvalid:
		return invalid
	case core.AnswerConflict:
		return conflictOf(no.Current.State)
	}
	return verdict(no.Error())
}

func conflictOf(s core.InputState) verdict {
	switch {
	case s == core.InputPending:
		return stale
	case s.Settled():
		return conflict
	}
	return tooLate
}

// typedWords are replies by kind.
var typedWords = map[core.Kind]map[string]string{
	core.KindApproval: {"good": "yes", "other": "no"}, core.KindURL: {"good": "done", "other": "no"},
	core.KindQuestion: {"good": "Monday", "other": "2", "bad": "9"}, core.KindForm: {"good": "eu", "other": "us", "bad": "9"},
}

// typed answers in the chat, in reply to the prompt: a bare word is a new message once that is over.
func (c cell) typed() verdict {
	before := c.now()
	said := strings.Join(c.say(c.who, typedWords[c.kind][c.value], telegramtest.Reply(c.prompt.ID)), "\n")
	switch {
	case strings.Contains(said, "may answer this"):
		return forbidden
	case strings.Contains(said, "Already closed"):
		return conflictOf(before.State)
	case strings.Contains(said, "Or write a full sentence"):
		return invalid
	case !before.Pending() && said != "":
		return verdict("said: " + said)
	}
	return c.after(before, "chat")
}

// pressed presses the button that the prompt had when it was shown.
func (c cell) pressed() verdict {
	before := c.now()
	at := map[string]int{"good": 0, "other": 1}[c.value]
	var all []telegramtest.Button
	for _, row := range c.prompt.Buttons {
		for _, b := range row {
			if b.Data != "" {
				all = append(all, b)
			}
		}
	}
	if len(all) < 2 {
		return verdict(fmt.Sprintf("the prompt has the buttons %v", c.prompt.Buttons))
	}
	press := c.s.bot.PressData(people[c.who], c.room, c.prompt.ID, all[at].Data)
	c.s.eventually("the press is answered", func() bool { return c.s.bot.Answered(press).Done })
	c.s.taken(c.conversation())
	line := c.s.bot.Answered(press).Text
	switch {
	case line == "":
		return c.after(before, "button")
	case strings.Contains(line, "may answer this"):
		return forbidden
	case strings.Contains(line, "newest question is further down"):
		return stale
	case strings.Contains(line, "Already closed"):
		return conflictOf(before.State)
	}
	return verdict("line: " + line)
}

func (c cell) posted() verdict {
	before := c.now()
	s := structured(c.kind, c.value)
	a := c.s.api("all", "POST", "/v1/agents/ops/inputs/"+string(c.in.ID), map[string]any{
		"action": s.Action, "content": s.Content, "from": idOf(c.who), "hash": c.in.Hash,
	})
	switch {
	case a.status == http.StatusAccepted || a.status == http.StatusOK:
		v := c.after(before, "rest")
		if (v == settled) != (a.status == http.StatusAccepted) {
			return verdict(fmt.Sprintf("%s with %d", v, a.status))
		}
		return v
	case a.status == http.StatusForbidden && a.Code == "forbidden":
		return forbidden
	case a.status == http.StatusBadRequest && len(a.Fields) > 0:
		return invalid
	case a.status == http.StatusConflict && a.Code == "reply_mismatch":
		return mismatch
	case a.status == http.StatusConflict:
		return conflictOf(core.InputState(a.State))
	}
	return verdict(fmt.Sprintf("%d %s", a.status, a.body))
}

func (c cell) submitted() verdict {
	before := c.now()
	form := url.Values{"action": {"accept"}, "hash": {c.in.Hash}}
	switch {
	case c.kind == core.KindQuestion:
		form.Set("q0", map[string]string{"good": "o0", "other": "o1", "bad": "o9"}[c.value])
	case c.kind == core.KindForm:
		form.Set("f0", map[string]string{"good": "o0", "other": "o1", "bad": "o9"}[c.value])
	case c.value == "other":
		form.Set("action", "decline")
	}
	status, body := c.s.browse(c.who).post("/inbox/inputs/"+string(c.in.ID), form)
	switch status {
	case http.StatusSeeOther:
		return c.after(before, "web")
	case http.StatusForbidden, http.StatusNotFound: // who may not see it either is told of nothing
		return forbidden
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return invalid
	case http.StatusConflict:
		return conflictOf(c.now().State)
	}
	return verdict(fmt.Sprintf("%d %s", status, body))
}

// elicited answers what the client was asked; one that is not asked for it may not answer it.
func (c cell) elicited() verdict {
	if len(c.client.res.InputRequests) == 0 {
		return forbidden
	}
	before := c.now()
	content := map[core.Kind]map[string]any{
		core.KindApproval: {"approve": c.value == "good"}, core.KindURL: {"done": c.value == "good"},
		core.KindQuestion: {"when": map[string]string{"good": "mon", "other": "tue", "bad": "fri"}[c.value]},
		core.KindForm:     {"zone": map[string]string{"good": "eu", "other": "us", "bad": "mars"}[c.value]},
	}[c.kind]
	answer := &sdk.ElicitResult{Action: "accept", Content: content}
	if c.kind == core.KindURL && c.value == "other" {
		answer = &sdk.ElicitResult{Action: "decline"} // that it is not done yet is no answer
	}
	said := c.client.again(c.s.t, answer)
	switch {
	case strings.Contains(said, "must be answered elsewhere"):
		return forbidden
	case len(c.client.res.InputRequests) > 0 && c.now().Pending():
		return invalid
	case strings.Contains(said, "it is already"):
		return conflictOf(before.State)
	}
	return c.after(before, "mcp")
}

// byGo answers by the Go API, over the store of the house, whose program has stopped.
func (c cell) byGo(rt *parley.Runtime) verdict {
	ctx := context.Background()
	var found *parley.Input
	for _, state := range []parley.State{core.InputPending, core.InputAccepted, core.InputDeclined, core.InputSuperseded, core.InputExpired} {
		all, err := rt.Inbox(ctx, state)
		mustBe(c.s.t, err)
		for i := range all {
			if all[i].ID == c.in.ID {
				found = &all[i]
			}
		}
	}
	if found == nil {
		return "not in the inbox"
	}
	before := found.Input
	found.Hash = c.in.Hash // of what was shown
	var value any
	mustBe(c.s.t, json.Unmarshal(structured(c.kind, c.value).Content, &value))
	_, err := found.Answer(ctx, value, parley.From(string(idOf(c.who))))
	var no *core.AnswerError
	switch {
	case errors.As(err, &no):
		return refusedAs(no)
	case err != nil:
		return verdict(err.Error())
	case before.Pending():
		return settled
	}
	return same
}

// row is one line of the table: who answers what, on which ground.
type row struct {
	name   string
	human  map[string]any // as it was asked
	who    string
	value  string
	ground func(a *asked)
	// today, if set, is humanInput when it is answered, after a new start.
	today map[string]any
	want  verdict
	// kinds and doors by which this can come about; nil: all. Over MCP a person answers only what they asked.
	kinds []core.Kind
	doors []string
}

var (
	allDoors = []string{"chat", "button", "rest", "web", "mcp", "go"}
	notMCP   = []string{"chat", "button", "rest", "web", "go"}
	open     = humans([]string{"ben", "dora"})
	strict   = humans([]string{"ben", "dora"}, "responders", "approvers")
)

func table() []row {
	return []row{
		{name: "the asker", human: open, who: "ana", value: "good", want: settled},
		{name: "the asker says no", human: open, who: "ana", value: "other", want: settled},
		{name: "an approver", human: open, who: "ben", value: "good", want: settled, doors: notMCP},
		{name: "a stranger", human: open, who: "mallory", value: "good", want: forbidden, doors: notMCP},
		{name: "the asker where approvers answer", human: strict, who: "ana", value: "good", want: forbidden},
		{name: "an approver where approvers answer", human: strict, who: "ben", value: "good", want: settled},
		{name: "an approver of yesterday", human: strict, today: humans([]string{"ben"}, "responders", "approvers"), who: "dora", value: "good", want: forbidden},
		{name: "an approver since today", human: humans([]string{"ben"}), today: open, who: "dora", value: "good", want: forbidden, doors: notMCP},
		{name: "the same again", human: open, who: "ana", value: "good", ground: func(a *asked) { a.settle("ben", "good") }, want: same},
		{name: "another answer", human: open, who: "ana", value: "other", ground: func(a *asked) { a.settle("ben", "good") }, want: conflict},
		{name: "a stranger afterwards", human: open, who: "mallory", value: "good", ground: func(a *asked) { a.settle("ben", "good") }, want: forbidden, doors: []string{"button", "rest", "web", "go"}},
		{name: "too late", human: humans([]string{"ben"}, "expiresInSeconds", 1), who: "ana", value: "good", ground: (*asked).expire, want: tooLate},
		{name: "superseded", human: open, who: "ben", value: "good", ground: func(a *asked) { a.say("ana", "@relay_bot What else is there to do today?") }, want: tooLate, doors: notMCP},
		{name: "what does not fit", human: open, who: "ana", value: "bad", want: invalid, kinds: []core.Kind{core.KindQuestion, core.KindForm}, doors: []string{"chat", "rest", "web", "mcp", "go"}},
		{name: "another shape", human: open, who: "ana", value: "shape", want: mismatch, kinds: []core.Kind{core.KindApproval}, doors: []string{"rest", "go"}},
		{name: "what was shown before an edit", human: open, who: "ben", value: "good", ground: func(a *asked) { a.say("ana", "@relay_bot edit name=production") }, want: stale, kinds: []core.Kind{core.KindApproval}, doors: []string{"button", "rest", "web", "go"}},
	}
}

// expire waits until the input's time is over.
func (a *asked) expire() {
	a.s.eventually("it expires", func() bool { return a.now().State == core.InputExpired })
	if a.client == nil {
		a.s.taken(a.conversation())
	}
}

// TestEveryDoorSaysTheSame tries each row of the table for each kind of input at each door.
func TestEveryDoorSaysTheSame(t *testing.T) {
	t.Parallel()
	for _, r := range table() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.test(t)
		})
	}
}

func (r row) test(t *testing.T) {
	s := newScene(t, r.human)
	kinds, through := r.kinds, r.doors
	if kinds == nil {
		kinds = slices.Sorted(maps.Keys(asking))
	}
	if through == nil {
		through = allDoors
	}
	cells := map[string]cell{}
	for _, kind := range kinds {
		for _, door := range through {
			a := &asked{}
			if door == "mcp" {
				a = s.askMCP(r.who, kind)
			} else {
				a = s.ask(kind)
			}
			a.who = r.who
			cells[door+" "+string(kind)] = cell{a, r.value}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		if r.ground != nil {
			r.ground(cells[name].asked)
		}
	}
	if r.today != nil {
		s.doc["agents"].(map[string]any)["ops"].(map[string]any)["humanInput"] = r.today
		s.restart()
	}
	var last []string // by Go, once the program has stopped
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		door, _, _ := strings.Cut(name, " ")
		if door == "go" {
			last = append(last, name)
			continue
		}
		r.judge(t, name, cells[name], doors[door](cells[name]), cells[name].now)
	}
	s.end()
	rt := s.runtime(r)
	for _, name := range last {
		c := cells[name]
		r.judge(t, name, c, c.byGo(rt), func() core.Input {
			all, err := rt.Inbox(t.Context(), parley.Pending)
			mustBe(t, err)
			for _, in := range all {
				if in.ID == c.in.ID {
					return in.Input
				}
			}
			return core.Input{}
		})
	}
	mustBe(t, rt.Close())
}

// judge holds a cell against its row: the verdict, and whether the input still waits.
func (r row) judge(t *testing.T, name string, c cell, got verdict, now func() core.Input) {
	t.Helper()
	if got != r.want {
		t.Errorf("%s: %q, want %q", name, got, r.want)
	}
	waits := slices.Contains([]verdict{forbidden, mismatch, invalid, stale}, r.want) && r.ground == nil || r.want == stale
	if in := now(); in.Pending() != waits {
		t.Errorf("%s: the input is %q", name, in.State)
	}
}

// runtime is the Go API over the store of the house, with the same agent.
func (s *scene) runtime(r row) *parley.Runtime {
	s.t.Helper()
	rt, err := parley.Open(s.store(), parley.Options{})
	mustBe(s.t, err)
	human := r.human
	if r.today != nil {
		human = r.today
	}
	d := parley.Definition{ID: "ops", AskUser: true, Tools: s.tools(), ApproversOnly: human["responders"] == "approvers"}
	for _, id := range human["approvers"].([]core.PersonID) {
		d.Approvers = append(d.Approvers, string(id))
	}
	d.Model, err = scripted.Parse([]byte(sceneScript))
	mustBe(s.t, err)
	_, err = rt.Agent(d)
	mustBe(s.t, err)
	return rt
}
