package program

import (
	"slices"
	"strings"
	"testing"

	"parley/core"
)

// What notify may name: chats, channels and people of any channel of the configuration.
func TestNotifyPlaces(t *testing.T) {
	t.Parallel()
	cfg := &Config{
		Agents: map[string]AgentConfig{"ops": {}, "desk": {}},
		Channels: []ChannelConfig{
			{Name: "tg", Type: "telegram", Agent: "ops"}, {Name: "work", Type: "slack", Agent: "desk"},
			{Name: "one", Type: "discord", Agent: "ops"}, {Name: "two", Type: "discord", Agent: "desk"}, {Name: "three", Type: "discord", Agent: "desk"},
		},
	}
	for _, c := range []struct{ agent, s, want, problem string }{
		{"ops", "telegram:42", "ops|tg|42", ""},
		{"ops", "tg:-1001/7", "ops|tg|-1001/7", ""},
		{"desk", "tg:42", "ops|tg|42", ""},
		{"ops", "slack:C0456", "desk|work|C0456", ""},
		{"desk", "work:C0456/1764000000.000100", "desk|work|C0456/1764000000.000100", ""},
		{"ops", "slack:U0123", "desk|work|slack:U0123", ""},
		{"desk", "work:T01/U0123", "desk|work|slack:T01/U0123", ""},
		{"ops", "discord:8142", "ops|one|discord:8142", ""},
		{"ops", "two:8142", "desk|two|discord:8142", ""},
		{"desk", "discord:8142", "", "several channels"},
		{"ops", "slack:@ana", "", "want the platform's own id"},
		{"ops", "slack:general", "", "want the platform's own id"},
		{"ops", "discord:ana", "", "want the platform's own id"},
		{"ops", "matrix:1", "", "no channel with the name or type"},
		{"ops", "tg", "", "want CHANNEL:PLACE"},
	} {
		got, err := cfg.notifyPlace(c.agent, c.s)
		if string(got) != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s of %s is %q, %v, want %q %s", c.s, c.agent, got, err, c.want, c.problem)
		}
	}
}

// Who approves for an agent is let in where its prompts are copied to.
func TestApproversAreLetInWhereCopiesGo(t *testing.T) {
	t.Parallel()
	var ops, desk AgentConfig
	ops.HumanInput.Approvers, ops.HumanInput.Notify = []string{"slack:U1"}, []string{"slack:C1", "slack:U2"}
	desk.HumanInput.Approvers = []string{"slack:U3"}
	cfg := &Config{
		Agents:   map[string]AgentConfig{"ops": ops, "desk": desk, "other": {HumanInput: HumanInput{Approvers: []string{"slack:U4"}}}},
		Channels: []ChannelConfig{{Name: "tg", Type: "telegram", Agent: "ops"}, {Name: "work", Type: "slack", Agent: "desk"}},
	}
	if got := cfg.access(cfg.Channels[1]).Allow; !slices.Equal(got, []core.PersonID{"slack:U3", "slack:U1"}) {
		t.Errorf("let in are %q", got)
	}
	if got := (&app{cfg: cfg}).placesOn(cfg.Channels[1]); !slices.Equal(got, []core.Place{"C1", "slack:U2"}) {
		t.Errorf("places %q", got)
	}
}
