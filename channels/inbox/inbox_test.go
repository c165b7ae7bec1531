package inbox_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parley/core"
	"parley/core/turn"
)

const drop = `call db__drop {"name":"staging","password":"hunter2"}`

// TestApprove from the queue to the run's history.
func TestApprove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	b := w.as("ben")
	b.get("/inbox").want(t, 200, "Approve db / drop?", "&#34;staging&#34;", "!hunter2", "Secrets are masked here", "test:ana", ">Approve</button>", ">Decline</button>", "!>Skip</button>", in.Hash)
	b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, "Approve db / drop?", "!hunter2")
	p := b.answer(in, url.Values{}).want(t, http.StatusSeeOther)
	if to := p.header.Get("Location"); to != "/inbox/inputs/"+string(in.ID) {
		t.Errorf("goes on to %q", to)
	}
	run := w.stopped(in)
	if got := w.input(in.ID); got.State != core.InputAccepted || got.Settled.By != ben || got.Settled.Via != "web" || got.Settled.Role != "approver" {
		t.Errorf("settled %+v", got.Settled)
	}
	if got := w.effects(); len(got) != 1 || got[0] != `drop {"name":"staging","password":"hunter2"}` {
		t.Errorf("effects %q", got)
	}
	b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, "Accepted by test:ben, approver, via web", "The call has run.", "!>Approve</button>", "!hunter2")
	b.get("/inbox").want(t, 200, "Nothing waits here")
	b.get("/inbox/runs/"+string(run.ID)).want(t, 200, "Message of test:ana", "Call of db__drop", "Asked: Approve db / drop?", "Accepted by test:ben, approver, via web",
		"The run ended: completed", "Waited", "Took", "tool:", "!hunter2")
	// The same again is no error and does nothing; another answer is told how it ended.
	b.answer(in, url.Values{}).want(t, http.StatusSeeOther)
	w.as("ana").answer(in, url.Values{"action": {"decline"}}).want(t, http.StatusConflict, "came too late and changed nothing", "It was accepted by test:ben at ")
	if got := w.effects(); len(got) != 1 {
		t.Errorf("effects %q", got)
	}
}

func TestDeclineWithAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	w.as("ana").answer(in, url.Values{"action": {"decline"}, "reason": {" not <b>today</b>\r\nplease "}}).want(t, http.StatusSeeOther)
	if got := w.input(in.ID); got.State != core.InputDeclined || got.Settled.Answer.Reason != "not <b>today</b>\nplease" {
		t.Errorf("settled %+v", got.Settled)
	}
	if run := w.stopped(in); !strings.Contains(run.Text, "not <b>today</b>") {
		t.Errorf("the model was told %q", run.Text)
	}
	w.as("ben").get("/inbox/inputs/"+string(in.ID)).want(t, 200, "Declined by test:ana, asker, via web", "not &lt;b&gt;today&lt;/b&gt;", "!<b>today")
	if len(w.effects()) != 0 {
		t.Errorf("effects %q", w.effects())
	}
}

func TestCancelEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	w.as("ana").answer(in, url.Values{"action": {"cancel"}}).want(t, http.StatusSeeOther)
	if got := w.input(in.ID); got.State != core.InputCancelled {
		t.Errorf("state %s", got.State)
	}
	w.as("ana").answer(in, url.Values{}).want(t, http.StatusConflict, "It was cancelled by test:ana")
}

// TestAU03TheSameVerdicts as at every other door, for the same people.
func TestAU03TheSameVerdicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		agent core.AgentID
		token string
		want  int
		says  string
	}{
		{"ops", "ana", 303, ""}, {"ops", "ben", 303, ""}, {"ops", "root", 303, ""},
		{"ops", "cleo", 404, "There is no such thing here"},
		{"strict", "ben", 303, ""}, {"strict", "ana", 403, "test:ana may not answer it. It still waits."}, {"strict", "cleo", 404, "There is no such thing here"},
		{"ops", "far", 404, "There is no such thing here"}, {"other", "far", 303, ""}, {"other", "ana", 404, "There is no such thing here"}, {"other", "root", 303, ""},
	} {
		t.Run(string(tt.agent)+" "+tt.token, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := w.begin(tt.agent, drop)[0]
			p := w.as(tt.token).answer(in, url.Values{}).want(t, tt.want, tt.says)
			if tt.want == 303 {
				w.stopped(in)
			} else if strings.Contains(p.body, "staging") && tt.token == "cleo" {
				t.Error("a stranger reads the call")
			}
			if got := len(w.effects()); got != map[bool]int{true: 1}[tt.want == 303] || w.input(in.ID).Pending() == (tt.want == 303) {
				t.Errorf("%d effects, %s", got, w.input(in.ID).State)
			}
		})
	}
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	b := w.as("ana")
	b.answer(in, url.Values{"action": {"skip"}}).want(t, 409, "only a question can be skipped", "It still waits.")
	b.answer(in, url.Values{"action": {"approve"}}).want(t, 400, "It still waits.")
	b.post("/inbox/inputs/none", url.Values{"action": {"accept"}}).want(t, 404)
}

// TestWhatAPersonSees: what they may answer or started, of the agents of their token.
func TestWhatAPersonSees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops, strict, other := w.begin("ops", drop)[0], w.begin("strict", drop)[0], w.begin("other", drop)[0]
	for _, tt := range []struct {
		token, path string
		see         []bool // ops, strict, other
	}{
		{"ana", "", []bool{true, false, false}}, {"ana", "?show=started", []bool{true, true, false}}, {"ben", "", []bool{true, true, false}}, {"ben", "?show=started", []bool{false, false, false}},
		{"cleo", "", []bool{false, false, false}}, {"cleo", "?show=started", []bool{false, false, false}}, {"root", "", []bool{true, false, true}}, {"far", "", []bool{false, false, true}},
		{"ben", "?agent=ops", []bool{true, false, false}}, {"ben", "?person=test:ana", []bool{true, true, false}}, {"ben", "?person=test:ben", []bool{false, false, false}},
		{"ben", "?agent=other", []bool{false, false, false}},
	} {
		b := w.as(tt.token)
		p := b.get("/inbox" + tt.path)
		for i, in := range []core.Input{ops, strict, other} {
			if got := strings.Contains(p.body, "in-"+string(in.ID)); got != tt.see[i] {
				t.Errorf("%s at %s sees %s: %v", tt.token, tt.path, in.Conversation.Agent(), got)
			}
		}
	}
	w.as("cleo").get("/inbox/inputs/"+string(ops.ID)).want(t, 404, "!staging")
	w.as("cleo").get("/inbox/runs/"+string(ops.Run)).want(t, 404, "!staging")
	w.as("far").get("/inbox/runs/"+string(ops.Run)).want(t, 404)
	w.as("ana").get("/inbox/runs/"+string(strict.Run)).want(t, 200, "staging")
	w.as("ana").get("/inbox/inputs/"+string(strict.ID)).want(t, 200, "Others answer this", "test:ben", "!>Approve</button>", "!Show what is masked</button>")
}

// TestMore goes through a long queue, oldest first, each once.
func TestMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []core.InputID
	for range 45 {
		want = append(want, w.begin("ops", drop)[0].ID)
		w.begin("other", drop)
	}
	b := w.as("ben")
	for _, start := range []string{"/inbox", "/inbox?agent=ops&person=test%3Aana"} {
		at, path, pages := 0, start, 0
		for ; path != ""; pages++ {
			p := b.get(path).want(t, 200)
			for _, part := range strings.Split(p.body, `<article class="card`)[1:] {
				if at == len(want) || !strings.Contains(part, `id="in-`+string(want[at])+`"`) {
					t.Fatalf("%s: card %d of %d is another", path, at, len(want))
				}
				at++
			}
			_, rest, _ := strings.Cut(p.body, `rel="next" href="`)
			path, _, _ = strings.Cut(rest, `"`)
			path = strings.ReplaceAll(path, "&amp;", "&")
		}
		if at != len(want) || pages != 3 {
			t.Errorf("%s: %d cards on %d pages", start, at, pages)
		}
	}
	b.get("/inbox?after=zz").want(t, 400)
}

// TestReveal: only who may answer, by POST alone, and the log keeps it.
func TestReveal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("strict", `call db__drop {"password":"hunter2","note":"a\u202eb","ssn":1234}`)[0]
	path := "/inbox/inputs/" + string(in.ID) + "/reveal"
	w.as("ben").post(path, url.Values{}).want(t, 200, "hunter2", "1234", `a\u{202E}b`, "Nothing is masked now", ">Approve</button>")
	w.as("ana").post(path, url.Values{}).want(t, 403, "!hunter2")
	w.as("cleo").post(path, url.Values{}).want(t, 404, "!hunter2")
	w.as("far").post(path, url.Values{}).want(t, 404, "!hunter2")
	w.as("ben").get(path).want(t, 405, "!hunter2")
	w.as("ben").get("/inbox/inputs/"+string(in.ID)).want(t, 200, "!hunter2", "!1234", "digest")
	w.as("ben").get("/inbox/runs/"+string(in.Run)).want(t, 200, "test:ben looked at what is masked, via web", "test:ana, who may not, tried", "test:cleo, who may not", "!hunter2")
}

// TestChangedMeanwhile: a call that is no longer the one that was shown is not approved.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", `call db__drop {"name":"staging"}`)[0]
	b := w.as("ben")
	if _, err := w.engine.Settle(t.Context(), turn.Settlement{Input: in.ID, From: ana, Via: "button", Typed: "edit name=production", Step: -1}); err != nil {
		t.Fatal(err)
	}
	now := w.input(in.ID)
	if now.Hash == in.Hash {
		t.Fatalf("the call did not change: %s", now.Arguments)
	}
	b.answer(in, url.Values{}).want(t, 409, "the call was changed since it was shown", "production", "It still waits.")
	b.answer(in, url.Values{"hash": {"unknown"}}).want(t, 409)
	if len(w.effects()) != 0 || !w.input(in.ID).Pending() {
		t.Fatalf("effects %q", w.effects())
	}
	b.get("/inbox/runs/"+string(in.Run)).want(t, 200, "test:ana changed the arguments", "staging", "production")
	b.answer(now, url.Values{}).want(t, 303)
	w.stopped(in)
	if got := w.effects(); len(got) != 1 || !strings.Contains(got[0], "production") {
		t.Errorf("effects %q", got)
	}
}

// TestSubAgent: what another agent asks is answered as its own, and both runs lead to each other.
func TestSubAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", `call agent__child {"message":"call db__drop {\"name\":\"staging\"}"}`)[0]
	if in.Agent != "child" {
		t.Fatalf("asked by %s", in.Agent)
	}
	b := w.as("ben")
	b.get("/inbox?agent=child").want(t, 200, "Approve db / drop?", "<bdi>Child</bdi>")
	b.get("/inbox/runs/"+string(in.Run)).want(t, 200, "Part of", "Asked: Approve db / drop?")
	run, err := w.engine.RunByID(t.Context(), in.Run)
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []*browser{b, w.as("ana")} {
		who.get("/inbox/runs/"+string(run.Parent)).want(t, 200, "Call of agent__child", "/inbox/runs/"+string(in.Run))
	}
	w.as("cleo").get("/inbox/runs/"+string(run.Parent)).want(t, 404)
	b.answer(in, url.Values{}).want(t, 303)
	if _, err := w.engine.Stopped(t.Context(), run.Parent); err != nil || len(w.effects()) != 1 {
		t.Errorf("effects %q, %v", w.effects(), err)
	}
}

// TestExpired: who comes too late is told, and nothing runs.
func TestExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["ops"].Human.Expires = 1e9 * 3600
	in := w.begin("ops", drop)[0]
	w.advance(2e9 * 3600)
	b := w.as("ben")
	b.answer(in, url.Values{}).want(t, 409, "It is expired.")
	if len(w.effects()) != 0 {
		t.Errorf("effects %q", w.effects())
	}
}

// TestURLStep: the link cannot tell where it was opened from, and opens nothing of ours.
func TestURLStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", `call cal__connect {"url":"https://calendar.example.com/connect?a=1"}`)[0]
	b := w.as("ana")
	b.get("/inbox").want(t, 200, `href="https://calendar.example.com/connect?a=1" rel="noopener noreferrer" referrerpolicy="no-referrer"`, "calendar.example.com</bdi>", ">I have done it</button>")
	b.answer(in, url.Values{}).want(t, 303)
	w.stopped(in)
	if got := w.effects(); len(got) != 1 || got[0] != "connect" {
		t.Errorf("effects %q", got)
	}
	in = w.begin("ops", `call cal__connect {"url":"https://ana:hunter2@ex\u0430mple.com/"}`)[0]
	b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, "!hunter2", "xn--", `!class="step"`)
	b.post("/inbox/inputs/"+string(in.ID)+"/reveal", url.Values{}).want(t, 200, "hunter2")
}
