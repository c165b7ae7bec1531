package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// maxEntries is how many events a page of a run shows.
const maxEntries = 500

// runPage shows what a run did, step by step.
type runPage struct {
	frame
	Run     core.Run
	Agent   Agent
	Where   string
	Took    time.Duration // until it ended, or until now
	Entries []entry
	// Next is where more is, "" at the end.
	Next  string
	Steps []string
	// Replies are the model's, of the whole run.
	Replies []turn.Reply
}

// entry is one thing that happened. After is how long after the one before it.
type entry struct {
	At    time.Time
	After time.Duration
	Title string
	// Kind is how it is drawn: said, call, ask, end, trouble or audit.
	Kind string
	Text string
	Code string // pretty and masked
	// Facts are what else is known.
	Facts []pair
	Link  string
	// LinkText is what the link is to.
	LinkText string
}

func (e *entry) fact(label, value string) {
	if value != "" {
		e.Facts = append(e.Facts, pair{label, value})
	}
}

func (v *visit) run() error {
	p, err := v.history(core.RunID(v.r.PathValue("id")))
	if err != nil {
		return err
	}
	p.Live = "/inbox/events?run=" + string(p.Run.ID)
	if v.r.URL.Query().Get("after") != "" {
		p.Live = "" // what is older does not change
	}
	return v.show(http.StatusOK, "run", p)
}

// history is the page of a run that the session's person may see: they started it, or may answer for it.
func (v *visit) history(id core.RunID) (runPage, error) {
	t, err := v.i.c.Turns.Trace(v.r.Context(), id)
	if errors.Is(err, turn.ErrNotFound) {
		return runPage{}, errNoPage
	}
	if err != nil {
		return runPage{}, err
	}
	switch mine, err := v.mayRun(t); {
	case err != nil:
		return runPage{}, err
	case !mine:
		return runPage{}, errNoPage
	}
	after, err := strconv.ParseUint("0"+v.r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		return runPage{}, &failure{http.StatusBadRequest, "There is no such page of the run. Begin at its first."}
	}
	events, err := v.i.c.Turns.Events(v.r.Context(), id, after, maxEntries+1)
	if err != nil {
		return runPage{}, err
	}
	p := runPage{frame: v.frame("Run "+string(id), "/inbox/runs/"+string(id)), Run: t.Run, Agent: v.i.agent(agentOfRun(t.Run)), Where: place(t.Run.Conversation), Took: v.i.c.Now().Sub(t.Run.CreatedAt)}
	if !t.Run.EndedAt.IsZero() {
		p.Took = t.Run.EndedAt.Sub(t.Run.CreatedAt)
	}
	if len(events) > maxEntries {
		events = events[:maxEntries]
		p.Next = fmt.Sprintf("/inbox/runs/%s?after=%d", id, events[maxEntries-1].Seq)
	}
	p.Replies = t.Replies
	for _, s := range t.Steps {
		p.Steps = append(p.Steps, render.Visible(s.Name))
	}
	err = v.entries(&p, t, events)
	return p, err
}

func agentOfRun(run core.Run) core.AgentID {
	if run.Agent == "" {
		return run.Conversation.Agent()
	}
	return run.Agent
}

// mayRun reports whether the session's person may see a run.
func (v *visit) mayRun(t turn.Trace) (bool, error) {
	if !v.s.token.sees(agentOfRun(t.Run), t.Run.Conversation.Agent()) {
		return false, nil
	}
	if t.Run.Asker() == v.s.Person {
		return true, nil
	}
	return v.answersFor(t)
}

// answersFor reports whether the person may answer something of a run, or of the runs below a root.
func (v *visit) answersFor(t turn.Trace) (bool, error) {
	may := func(in core.Input) bool { return v.i.c.Turns.MayAnswer(in, v.s.Person) }
	if slices.ContainsFunc(t.Inputs, may) {
		return true, nil
	}
	for _, id := range t.Run.Children {
		child, err := v.i.c.Turns.Trace(v.r.Context(), id)
		if err != nil && !errors.Is(err, turn.ErrNotFound) {
			return false, err
		}
		if slices.ContainsFunc(child.Inputs, may) {
			return true, nil
		}
	}
	return false, nil
}

// entries draws the events of a run, and notes the version of what they show.
func (v *visit) entries(p *runPage, t turn.Trace, events []core.Event) error {
	parts := []string{string(t.Run.Status), t.Run.SetAside, fmt.Sprint(len(t.Steps))}
	for _, c := range t.Calls {
		parts = append(parts, string(c.Status))
	}
	for _, e := range events {
		parts = append(parts, fmt.Sprint(e.Seq))
		out, ok, err := v.entry(t, e)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		out.At = e.At
		if len(p.Entries) > 0 {
			out.After = e.At.Sub(p.Entries[len(p.Entries)-1].At)
		}
		p.Entries = append(p.Entries, out)
	}
	p.Version = core.Digest(parts...)
	return nil
}

// entry draws one event; false: another one says the same.
func (v *visit) entry(t turn.Trace, e core.Event) (entry, bool, error) {
	switch e.Type {
	case core.EventRunStarted:
		out := entry{Title: "Message of " + render.Visible(string(t.Run.Asker())), Kind: "said", Text: render.Hidden(t.Run.Message.Text)}
		for _, f := range t.Run.Message.Files {
			out.fact("File", render.Visible(fmt.Sprintf("%s, %s, %d bytes", f.Name, f.Type, f.Size)))
		}
		return out, true, nil
	case core.EventText:
		return entry{Title: "The agent said", Kind: "said", Text: render.Hidden(datum(e, "text"))}, true, nil
	case core.EventToolCall:
		out, err := v.callEntry(t, e)
		return out, err == nil, err
	case core.EventRunFinished:
		out := entry{Title: "The run ended: " + string(t.Run.Status), Kind: "end", Text: render.Hidden(t.Run.Reason)}
		out.fact("Took", lasting(t.Run.EndedAt.Sub(t.Run.CreatedAt)))
		return out, true, nil
	case core.EventSetAside:
		return entry{Title: "The run was set aside for the operator", Kind: "trouble", Text: render.Hidden(datum(e, "cause"))}, true, nil
	case core.EventUndeliverable:
		return entry{Title: "Undeliverable", Kind: "trouble", Text: trouble(e)}, true, nil
	case core.EventInputRequired:
		return entry{}, false, nil
	}
	at := slices.IndexFunc(t.Inputs, func(in core.Input) bool { return in.ID == e.Input })
	if at < 0 {
		return entry{Title: string(e.Type), Kind: "audit"}, true, nil
	}
	return inputEntry(t.Inputs[at], e), true, nil
}

// datum is one string of an event's data.
func datum(e core.Event, name string) string {
	var d map[string]json.RawMessage
	if json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	return text(d[name])
}

// callEntry draws a call of the model, with what became of it.
func (v *visit) callEntry(t turn.Trace, e core.Event) (entry, error) {
	c, redact, err := v.i.c.Turns.CallOf(v.r.Context(), t.Run.ID, e.Call)
	if errors.Is(err, turn.ErrNotFound) {
		return entry{Title: "A call that is gone", Kind: "call"}, nil
	}
	if err != nil {
		return entry{}, err
	}
	out := entry{Title: "Call of " + render.Visible(c.Tool), Kind: "call"}
	out.Code, _ = render.Masked(c.Arguments, redact)
	out.fact("Type", string(c.Type))
	out.fact("Status", string(c.Status))
	out.fact("Rule", render.Visible(c.Rule))
	out.fact("Hash", c.Hash)
	if c.Changed {
		out.fact("Arguments", "a person changed them")
	}
	took, ended := c.Took()
	switch {
	case c.StartedAt.IsZero():
	case ended:
		out.fact("Began", stamp(c.StartedAt))
		out.fact("Ran for", lasting(took))
	case c.Status == core.CallExecuting:
		out.fact("Began", stamp(c.StartedAt)+", and runs")
	default:
		out.fact("Began", stamp(c.StartedAt)+"; when it ended is not known")
	}
	if c.Approval != nil {
		out.fact("Approved by", render.Visible(string(c.Approval.By)))
	}
	if r := c.Result; r != nil {
		out.fact("Result", string(r.Outcome))
		out.fact("What the model was told", told(r.Content, redact))
		out.fact("Answered by", render.Visible(string(r.By)))
		if r.Waited != nil {
			out.fact("Waited", lasting(time.Duration(*r.Waited)*time.Second))
		}
	}
	if c.Child != "" {
		out.Link, out.LinkText = "/inbox/runs/"+string(c.Child), "The run of the other agent"
	}
	return out, nil
}

// told is a result without its secrets.
func told(content string, redact []string) string {
	if json.Valid([]byte(content)) && len(content) > 0 && (content[0] == '{' || content[0] == '[') {
		shown, _ := render.Masked(json.RawMessage(content), redact)
		return shown
	}
	return render.Hidden(content)
}
