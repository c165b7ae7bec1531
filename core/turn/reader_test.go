package turn_test

import (
	"encoding/json"
	"strconv"
	"strings"

	"parley/core"
)

// read is a reader of a few words, enough for the engine's tests; the real one is tested in parse.
func read(in core.Input, m core.Message, _ core.HumanInput) core.Reading {
	text := strings.ToLower(strings.TrimSpace(m.Text))
	switch text {
	case "cancel":
		return core.Reading{Kind: core.ReadCancel}
	case "ok":
		return core.Reading{Kind: core.ReadUnclear, Hint: core.HintWords}
	case "skip":
		if in.Kind == core.KindQuestion {
			return core.Reading{Kind: core.ReadCommand, Verb: core.VerbSkip}
		}
	}
	switch in.Kind {
	case core.KindApproval, core.KindURL:
		if text == "yes" || text == "no" || text == "done" {
			return core.Reading{Kind: core.ReadAnswer, Yes: text != "no"}
		}
	case core.KindForm:
		return readForm(in, text)
	case core.KindQuestion:
		n, err := strconv.Atoi(text)
		if q := in.Questions[in.Draft.At]; err == nil && n >= 1 && n <= len(q.Options) {
			return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Values: []string{q.Options[n-1].Value}}}
		}
	}
	return core.Reading{}
}

func readForm(in core.Input, text string) core.Reading {
	if in.Confirmation() || in.Draft.Review {
		if text == "yes" || text == "no" {
			return core.Reading{Kind: core.ReadAnswer, Yes: text == "yes"}
		}
		return core.Reading{}
	}
	if json.Valid([]byte(text)) {
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Field: json.RawMessage(text)}}
	}
	return core.Reading{}
}
