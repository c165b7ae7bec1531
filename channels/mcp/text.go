package mcp

import (
	"fmt"
	"net/url"
	"strings"

	"parley/core"
	"parley/render"
)

// clean is text of a model, a tool or a person as it may stand in a sentence: what could not be seen is made
// visible.
func clean(s string) string {
	if s == "" {
		return ""
	}
	return strings.TrimSpace(render.PlainText(render.Reply(render.View{}, s)))
}

// message is what a person reads above the fields of an ask. It stands on its own, and cuts nothing.
func message(in core.Input, a ask, agent string) string {
	var b strings.Builder
	if a.Reason != "" {
		fmt.Fprintf(&b, "That did not fit: %s.\n\n", a.Reason)
	}
	switch {
	case in.Kind == core.KindApproval:
		fmt.Fprintf(&b, "%s asks to approve a call of %s.\n", clean(agent), clean(toolName(in)))
	case in.Tool != "":
		fmt.Fprintf(&b, "%s asks, for %s:\n", clean(agent), clean(toolName(in)))
	default:
		fmt.Fprintf(&b, "%s asks:\n", clean(agent))
	}
	if in.Message != "" {
		fmt.Fprintf(&b, "%s\n", clean(in.Message))
	}
	for _, q := range in.Questions {
		switch prompt := clean(q.Prompt); {
		case prompt == clean(in.Message):
		case len(in.Questions) > 1:
			fmt.Fprintf(&b, "- %s\n", prompt)
		default:
			fmt.Fprintf(&b, "%s\n", prompt)
		}
	}
	if in.Kind == core.KindApproval {
		shown, masked := render.Masked(in.Arguments, in.Redact)
		fmt.Fprintf(&b, "\nArguments:\n%s\n", shown)
		if masked > 0 {
			fmt.Fprintf(&b, "(%d masked; the call runs with the real values)\n", masked)
		}
		fmt.Fprintf(&b, "Hash: %s\n", in.Hash)
	}
	if in.Of > 1 {
		fmt.Fprintf(&b, "\n%d of %d: they run when all are answered.\n", in.Nth, in.Of)
	}
	if in.Kind == core.KindURL && a.Opened {
		fmt.Fprintf(&b, "\nThe page of %s was opened. Is the step there done?\n", hostOf(in.URL))
	}
	if !in.ExpiresAt.IsZero() {
		fmt.Fprintf(&b, "\nIt can be answered until %s.\n", in.ExpiresAt.UTC().Format("2006-01-02 15:04 MST"))
	}
	return strings.TrimSpace(b.String())
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the step"
	}
	return clean(u.Host)
}

func toolName(in core.Input) string {
	if in.Source == "" {
		return in.Tool
	}
	return in.Source + "__" + in.Tool
}

// waits names an input in one line, for a result; nothing of a call's arguments is in it.
func waits(in core.Input) string {
	what := map[core.Kind]string{
		core.KindApproval: "an approval", core.KindQuestion: "an answer", core.KindForm: "a form", core.KindURL: "a step on a web page",
	}[in.Kind]
	if in.Confirmation() {
		what = "a confirmation"
	}
	if in.Tool != "" {
		what += " for " + clean(toolName(in))
	}
	var who []string
	for _, p := range in.Responders.Audience {
		who = append(who, string(p))
	}
	return fmt.Sprintf("%s (%s), by %s", what, in.ID, strings.Join(who, " or "))
}
