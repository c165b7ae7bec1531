package model

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawHistory makes a valid conversation, of which the last calls may have no result if open.
func drawHistory(t *rapid.T, open bool) (messages []Message) {
	text := func() string { return strings.Repeat("x", rapid.IntRange(0, 200).Draw(t, "length")) }
	n := rapid.IntRange(0, 12).Draw(t, "messages")
	id := 0
	for range n {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			messages = append(messages, Message{Role: RoleUser, Text: text(), Images: make([]Image, rapid.IntRange(0, 1).Draw(t, "images"))})
		case 1:
			messages = append(messages, Message{Role: RoleAssistant, Text: text()})
		case 2:
			a := Message{Role: RoleAssistant, Text: text()}
			var results []Message
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				id++
				c := Call{ID: fmt.Sprint(id), Name: "t", Arguments: []byte(`{}`)}
				a.Calls = append(a.Calls, c)
				results = append(results, Message{Role: RoleTool, Result: &Result{CallID: c.ID, Content: text()}})
			}
			messages = append(append(messages, a), results...)
		}
	}
	if open {
		a := Message{Role: RoleAssistant, Calls: []Call{{ID: "open", Name: "t"}}}
		messages = append(messages, a)
		if rapid.Bool().Draw(t, "then") {
			messages = append(messages, Message{Role: RoleUser, Text: text()})
		}
	}
	return messages
}

func TestCompactKeepsTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := drawHistory(t, false)
		before := fmt.Sprintf("%+v", messages)
		budget := rapid.IntRange(-10, 2*Tokens(messages...)+10).Draw(t, "budget")
		got := Compact(messages, budget)
		if fmt.Sprintf("%+v", messages) != before {
			t.Fatal("the messages given were changed")
		}
		if err := Valid(got); err != nil {
			t.Fatalf("not valid: %v", err)
		}
		parts := exchanges(messages)
		last := parts[len(parts)-1]
		if len(got) < len(last) || !reflect.DeepEqual(got[len(got)-len(last):], append([]Message{}, last...)) && len(last) > 0 {
			t.Fatalf("the last exchange is not at the end: %+v", got)
		}
		if reflect.DeepEqual(got, messages) {
			checkUntouched(t, messages, parts, budget)
			return
		}
		if got[0].Role != RoleUser || got[0].Text != LeftOut {
			t.Fatalf("no marker: %+v", got[0])
		}
		suffix := got[1:]
		if !reflect.DeepEqual(suffix, messages[len(messages)-len(suffix):]) {
			t.Fatalf("what is kept is no end of what was given: %+v", suffix)
		}
		if len(suffix) > len(last) && Tokens(got...) > budget {
			t.Fatalf("%d tokens over a budget of %d, and more could be dropped", Tokens(got...), budget)
		}
		if Tokens(messages...) <= budget {
			t.Fatal("dropped although all fits")
		}
		if again := Compact(got, budget); Tokens(again...) > Tokens(got...) {
			t.Fatal("a second compaction makes it longer")
		}
	})
}

// checkUntouched checks that messages returned as they are fit, or could not be made to fit.
func checkUntouched(t *rapid.T, messages []Message, parts [][]Message, budget int) {
	least := Tokens(parts[len(parts)-1]...) + Tokens(Message{Role: RoleUser, Text: LeftOut})
	if Tokens(messages...) > budget && least < Tokens(messages...) && len(parts) > 1 {
		t.Fatalf("%d tokens over a budget of %d, although %d can be had", Tokens(messages...), budget, least)
	}
}

func TestCompactKeepsWhatIsPending(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		got := Compact(drawHistory(t, true), rapid.IntRange(0, 200).Draw(t, "budget"))
		for _, m := range got {
			for _, c := range m.Calls {
				if c.ID == "open" {
					return
				}
			}
		}
		t.Fatalf("the call without a result was dropped: %+v", got)
	})
}

func TestCompactDropsTheOldestFirst(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100)
	messages := []Message{
		{Role: RoleAssistant, Text: "hello"},
		{Role: RoleUser, Text: "one " + long}, {Role: RoleAssistant, Text: long},
		{Role: RoleUser, Text: "two " + long}, {Role: RoleAssistant, Calls: []Call{{ID: "a", Name: "t"}}}, {Role: RoleTool, Result: &Result{CallID: "a", Content: long}},
		{Role: RoleUser, Text: "three"}, {Role: RoleAssistant, Text: "ok"},
		{Role: RoleUser, Text: "four"},
	}
	for budget, want := range map[int]string{
		10_000: "hello|one|two|three|four",
		500:    "(The|two|three|four",
		100:    "(The|three|four",
		0:      "(The|four",
	} {
		var got []string
		for _, m := range Compact(messages, budget) {
			if word, _, _ := strings.Cut(m.Text, " "); m.Role == RoleUser || word == "hello" {
				got = append(got, word)
			}
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("budget %d keeps %s, want %s", budget, s, want)
		}
	}
	if got := Compact(nil, 0); len(got) != 0 {
		t.Errorf("nothing became %+v", got)
	}
}
