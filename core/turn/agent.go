package turn

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
)

// Agent is one agent as configured today.
type Agent struct {
	ID           core.AgentID
	Name         string
	Instructions string
	Model        model.Model
	// ModelName is how its service calls the model, for traces.
	ModelName string
	// Images says that the model sees pictures: those that come with messages are read and shown to it.
	Images bool
	// Tools may be nil.
	Tools Tools
	// AskUser and Ask offer the asking tools ask_user and ask.
	AskUser, Ask bool
	// Agents are offered to the model as tools that delegate to them.
	Agents []core.AgentID
	Intake *Intake
	// MaxSteps bounds the model requests of a run, MaxInputs its inputs; 0 is 30 and 20.
	MaxSteps, MaxInputs int
	// ContextTokens bounds what a model request holds; 0 is 100,000. The oldest exchanges go first.
	ContextTokens int
	Human         core.HumanInput
	// Redact are further names of values that are masked on display.
	Redact []string
	// Lang is the agent's language as a BCP 47 tag, "" to follow the person's.
	Lang string
}

// Tools are the tools an agent may call today.
type Tools interface {
	List() []tool.Spec
	// Lookup finds a tool by its full name. It must not block.
	Lookup(name string) (tool.Tool, bool)
}

// Intake is the question set an author wrote, asked before the first model request.
type Intake struct {
	Preamble  string
	Questions []core.Question
	// EveryTurn asks before each turn, not only before the first of a conversation.
	EveryTurn bool
}

// Limits of an agent that sets none.
const (
	DefaultMaxSteps  = 30
	DefaultMaxInputs = 20
	DefaultContext   = 100_000 // tokens
)

func (a *Agent) maxSteps() int {
	if a.MaxSteps > 0 {
		return a.MaxSteps
	}
	return DefaultMaxSteps
}

func (a *Agent) maxInputs() int {
	if a.MaxInputs > 0 {
		return a.MaxInputs
	}
	return DefaultMaxInputs
}

func (a *Agent) context() int {
	if a.ContextTokens > 0 {
		return a.ContextTokens
	}
	return DefaultContext
}

func (a *Agent) lookup(name string) (tool.Tool, bool) {
	if a.Tools == nil {
		return nil, false
	}
	return a.Tools.Lookup(name)
}

// agentTool begins the name of a tool that delegates.
const agentTool = "agent__"

// delegates returns the agent that a tool name delegates to.
func (a *Agent) delegates(name string) (core.AgentID, bool) {
	id, ok := strings.CutPrefix(name, agentTool)
	return core.AgentID(id), ok && slices.Contains(a.Agents, core.AgentID(id))
}

// asks reports whether name is an asking tool that the agent offers.
func (a *Agent) asks(name string) bool {
	return name == "ask_user" && a.AskUser || name == "ask" && a.Ask
}

// Deps are what the engine needs of packages it must not import.
type Deps struct {
	// Read reads a typed message against an input; see package parse.
	Read func(in core.Input, m core.Message, h core.HumanInput) core.Reading
	// Prepare validates a model's arguments against a tool's schema and freezes them with its defaults;
	// problems are told to the model.
	Prepare func(schema, arguments json.RawMessage) (frozen json.RawMessage, problems []string)
	// AskSpecs are the asking tools as offered to the model; ParseAsk reads a call of one.
	AskSpecs func(askUser, ask bool) []model.ToolSpec
	ParseAsk func(name string, arguments json.RawMessage) (preamble string, qs []core.Question, problems []string)
}
