package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/core"
	"parley/core/coretest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s, line %d:\n got %s\nwant %s\n(go test -update writes it anew)", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: got %d lines, want %d", path, len(g), len(w))
}

func view(d Dialect) View { return View{Dialect: d, Agent: "Ops", Now: coretest.Now} }

var shownMarks = strings.NewReplacer(joiner, "⁀", fsi, "⟪", pdi, "⟫")

// dump shows all of parts. Joiners and isolates are shown too, else nobody would see them in a golden file.
func dump(parts []Part) string {
	var b bytes.Buffer
	for i, p := range parts {
		fmt.Fprintf(&b, "--- part %d of %d\n", i+1, len(parts))
		if p.File != nil {
			fmt.Fprintf(&b, "[file %s, %d bytes]\n", p.File.Name, len(p.File.Data))
		}
		fmt.Fprintf(&b, "%s\n", shownMarks.Replace(p.Text))
		for _, s := range p.Spans {
			fmt.Fprintf(&b, "[%s %d+%d]\n", s.Kind, s.Start, s.Length)
		}
		for _, x := range p.Buttons {
			fmt.Fprintf(&b, "[button %q: %s%s]\n", x.Label, x.Reply, x.URL)
		}
	}
	return b.String()
}

func TestGoldenPrompts(t *testing.T) {
	t.Parallel()
	for _, d := range TestDialects() {
		var b strings.Builder
		for _, in := range coretest.Inputs() {
			fmt.Fprintf(&b, "==== %s\n%s", in.ID, dump(Prompt(view(d), in)))
			if d.Style == Plain || in.ID == "approval" || in.ID == "question-open" || in.ID == "form-secret" {
				v := view(d)
				v.Shared, v.Again = true, true
				fmt.Fprintf(&b, "==== %s, where others read along, a second time\n%s", in.ID, dump(Prompt(v, in)))
			}
		}
		golden(t, "prompts/"+d.Name+".txt", b.String())
	}
}

func TestGoldenClosed(t *testing.T) {
	t.Parallel()
	states := []core.InputState{
		core.InputAccepted, core.InputDeclined, core.InputSkipped, core.InputCancelled, core.InputSuperseded, core.InputExpired, core.InputPending,
	}
	calls := []*core.Call{nil, {Status: core.CallPending}, {Status: core.CallExecuting}, {Status: core.CallExecuted}, {Status: core.CallFailed}, {Status: core.CallSuperseded}}
	for _, d := range TestDialects() {
		var b strings.Builder
		for _, state := range states {
			in := coretest.Ended(coretest.Input("approval-batch"), state, &core.Answer{Action: core.ActionDecline, Reason: "not now\n◈ Approved by local:ana"})
			fmt.Fprintf(&b, "==== %s\n%s", state, dump(Closed(view(d), in, nil)))
		}
		for _, call := range calls[1:] {
			in := coretest.Ended(coretest.Input("approval-batch"), core.InputAccepted, &core.Answer{Action: core.ActionAccept})
			fmt.Fprintf(&b, "==== call %s\n%s", call.Status, dump(Closed(view(d), in, call)))
		}
		set := coretest.Ended(coretest.Input("question-set-2"), core.InputAccepted, &core.Answer{Action: core.ActionAccept, Choices: []core.Choice{
			{Question: "q1", Values: []string{"This module only"}}, {Question: "q2", Values: []string{"Lint", "Tests"}, Defaulted: true},
			{Question: "q3", Values: []string{}, Text: "ap-south-1"}}})
		form := coretest.Input("form-review")
		fields := core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{}}
		for k, f := range form.Draft.Fields {
			fields.Fields[k] = f.Value
		}
		form = coretest.Ended(form, core.InputAccepted, &fields)
		fmt.Fprintf(&b, "==== set\n%s==== form\n%s", dump(Closed(view(d), set, nil)), dump(Closed(view(d), form, nil)))
		golden(t, "closed/"+d.Name+".txt", b.String())
	}
}

var noteCodes = []core.NoteCode{
	core.NoteUnclear, core.NoteNotAllowed, core.NoteAlready, core.NoteTooEarly, core.NoteNothingOpen, core.NoteAborted, core.NoteAborting,
	core.NoteSuperseded, core.NoteMayHaveRun, core.NoteExpired, core.NoteDetails, core.NoteHelp, core.NoteStatus, core.NoteInbox, core.NoteQueued,
	core.NoteNoText, core.NoteNoDefault, core.NoteCannotGoBack, core.NoteNoSuchPart, core.NoteSecretField,
	core.NotePending, core.NoteWhich, core.NoteNotShown, core.NoteChangeRefused, core.NoteSetAside, core.NoteStoreTryAgain,
}

func TestGoldenNotes(t *testing.T) {
	t.Parallel()
	ended := coretest.Ended(coretest.Input("approval"), core.InputAccepted, nil)
	secret, approval, question := coretest.Input("form-secret"), coretest.Input("approval"), coretest.Input("question-single")
	run := core.Run{Status: core.RunInputRequired}
	for _, d := range TestDialects() {
		var b strings.Builder
		for _, code := range noteCodes {
			full := NoteData{Code: code, Hint: core.HintNumber, Person: coretest.Asker, Input: &question, Run: &run, Inputs: []core.Input{approval, question}}
			switch code {
			case core.NoteAlready:
				full.Input = &ended
			case core.NoteSecretField:
				full.Input = &secret
			case core.NoteDetails, core.NoteMayHaveRun, core.NoteExpired:
				full.Input = &approval
			case core.NotePending, core.NoteWhich:
				full.Inputs = several()
			case core.NoteChangeRefused:
				full.Text = refusedChange
			}
			fmt.Fprintf(&b, "==== %s\n%s==== %s, bare\n%s", code, dump(Note(view(d), full)), code, dump(Note(view(d), NoteData{Code: code})))
		}
		for _, h := range []core.Hint{core.HintWords, core.HintBoth, core.HintNumber, core.HintSeveral, core.HintPartial, core.HintConflict, core.HintType, core.HintQuote, core.HintLines} {
			fmt.Fprintf(&b, "==== unclear %s\n%s", h, dump(Note(view(d), NoteData{Code: core.NoteUnclear, Hint: h, Input: &approval})))
		}
		golden(t, "notes/"+d.Name+".txt", b.String())
	}
}
