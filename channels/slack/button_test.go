package slack

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"parley/core"
	"parley/render"
)

func TestValues(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"approve", "2", "a:b:c", "Ünïcode ✅", strings.Repeat("x", 1900)} {
		b := render.Button{Input: "in0001", Step: 3, Reply: reply}
		value, ok := valueOf(b, maxValue)
		if !ok {
			t.Errorf("%.20q does not fit", reply)
			continue
		}
		input, step, got, ok := parseValue(value)
		if !ok || input != b.Input || step != 3 || got != reply {
			t.Errorf("%q is read as %s %d %q %v", value, input, step, got, ok)
		}
	}
	for _, b := range []render.Button{
		{Input: "in0001", Reply: strings.Repeat("x", 2000)}, {Input: "", Reply: "yes"}, {Input: "in0001"}, {Input: "a:b", Reply: "yes"}, {Input: "in0001", Reply: "\xff"},
	} {
		if v, ok := valueOf(b, maxValue); ok {
			t.Errorf("%.20q fits", v)
		}
	}
	for _, v := range []string{"", "x", "in0001", "in0001:0", "in0001:0:", ":0:yes", "in0001:-1:yes", "in0001:01:yes", "in 1:0:yes", strings.Repeat("x", 33) + ":0:yes", "in0001:0:" + strings.Repeat("x", 9000)} {
		if _, _, _, ok := parseValue(v); ok {
			t.Errorf("%.40q is read as one of ours", v)
		}
	}
}

// How many controls there are decides their form; where they do not all fit there are none.
func TestBlocks(t *testing.T) {
	t.Parallel()
	many := func(n int, reply string) (out []render.Button) {
		for i := range n {
			out = append(out, render.Button{Label: fmt.Sprintf("Option %d", i), Input: "in0001", Reply: fmt.Sprintf("%s%d", reply, i)})
		}
		return out
	}
	for name, c := range map[string]struct {
		buttons []render.Button
		want    string // the types of the controls
	}{
		"none":              {nil, ""},
		"two":               {many(2, ""), "button button"},
		"ten":               {many(10, ""), strings.TrimSpace(strings.Repeat("button ", 10))},
		"eleven":            {many(11, ""), "static_select"},
		"a hundred":         {many(100, ""), "static_select"},
		"too many":          {many(101, ""), ""},
		"a long option":     {many(11, strings.Repeat("x", 150)), ""},
		"a long reply":      {many(1, strings.Repeat("x", 2000)), ""},
		"a link and two":    {append(many(2, ""), render.Button{Label: "Open", URL: "https://a.test"}), "button button button"},
		"a link too long":   {append(many(1, ""), render.Button{Label: "Open", URL: "https://a.test/" + strings.Repeat("x", 3000)}), "button"},
		"no label":          {[]render.Button{{Label: " ", Input: "in0001", Reply: "yes"}}, ""},
		"a link and eleven": {append(many(11, ""), render.Button{Label: "Open", URL: "https://a.test"}), "button static_select"},
	} {
		blocks := blocksOf("Which?", c.buttons)
		var shown []struct {
			Type     string
			Text     struct{ Verbatim bool }
			Expand   bool
			Elements []struct{ Type string }
		}
		if err := json.Unmarshal(raw(t, blocks), &shown); err != nil {
			t.Fatal(err)
		}
		var types []string
		if len(shown) == 2 {
			if !shown[0].Expand || !shown[0].Text.Verbatim {
				t.Errorf("%s: the text may hide behind \"see more\", or make links: %+v", name, shown[0])
			}
			for _, e := range shown[1].Elements {
				types = append(types, e.Type)
			}
		}
		if got := strings.Join(types, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if blocksOf(strings.Repeat("x", maxText+1), buttons("yes")) != nil {
		t.Error("a text too long for a section has blocks")
	}
	if got := label(strings.Repeat("é", 90)).Text; len([]rune(got)) != maxLabel || !strings.HasSuffix(got, " …") {
		t.Errorf("label %q", got)
	}
}

func TestReadPress(t *testing.T) {
	t.Parallel()
	payload := func(change map[string]any) json.RawMessage {
		p := map[string]any{
			"type": "block_actions", "team": map[string]any{"id": "T0HOME"}, "user": map[string]any{"id": "UANA", "team_id": "T0HOME"},
			"container": map[string]any{"channel_id": "C0OPS", "message_ts": "2.000001", "thread_ts": "1.000001"},
			"message":   map[string]any{"ts": "2.000001", "bot_id": "B0BOT"},
			"actions":   []any{map[string]any{"action_id": "parley:0", "type": "button", "value": "in0001:2:approve", "action_ts": "3.0"}},
		}
		maps.Copy(p, change)
		return raw(t, p)
	}
	got, why := home.readPress(payload(nil))
	want := press{user: "UANA", team: "T0HOME", channel: "C0OPS", thread: "1.000001", message: "2.000001", input: "in0001", step: 2, reply: "approve", at: "3.0"}
	if why != "" || got != want {
		t.Errorf("%+v (%s), want %+v", got, why, want)
	}
	menu := map[string]any{"actions": []any{map[string]any{"type": "static_select", "selected_option": map[string]any{"value": "in0001:0:2"}}}}
	if got, why := home.readPress(payload(menu)); why != "" || got.reply != "2" {
		t.Errorf("%+v (%s)", got, why)
	}
	away := map[string]any{"user": map[string]any{"id": "UANA", "team_id": "T0AWAY"}}
	if got, _ := home.readPress(payload(away)); personID(got.team, got.user) != core.PersonID("slack:T0AWAY/UANA") {
		t.Errorf("%+v", got)
	}
	root := map[string]any{"container": map[string]any{"channel_id": "D0ANA", "message_ts": "2.000001"}, "message": map[string]any{"ts": "2.000001", "thread_ts": "2.000001"}}
	if got, why := home.readPress(payload(root)); why != "" || got.thread != "" {
		t.Errorf("%+v (%s)", got, why)
	}
	for name, change := range map[string]map[string]any{
		"a link":          {"actions": []any{map[string]any{"type": "button", "url": "https://a.test"}}},
		"no action":       {"actions": []any{}},
		"a forged value":  {"actions": []any{map[string]any{"type": "button", "value": "yes"}}},
		"a shortcut":      {"type": "shortcut"},
		"nobody":          {"user": map[string]any{}},
		"somebody else's": {"message": map[string]any{"ts": "2.000001", "bot_id": "B1"}},
		"nowhere":         {"container": map[string]any{}, "message": map[string]any{}},
	} {
		if got, why := home.readPress(payload(change)); why == "" {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}
