package program

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/model/anthropic"
	"parley/core/model/openai"
	"parley/core/tool/mcp"
	"parley/core/turn"
	"parley/parse"
)

// buildModel makes the model that a configuration names. Rate limits and passing failures are tried again
// inside the turn.
func buildModel(id string, m ModelConfig, log *slog.Logger) (model.Model, error) {
	log = log.With("model", id)
	if m.Provider == "anthropic" {
		client, err := anthropic.New(anthropic.Config{Model: m.Model, APIKey: m.APIKey.Reveal(), BaseURL: m.BaseURL, MaxTokens: m.MaxTokens, Log: log})
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", id, err)
		}
		return retried(client, log), nil
	}
	cfg := openai.Config{Model: m.Model, APIKey: m.APIKey.Reveal(), BaseURL: m.BaseURL, MaxTokens: m.MaxTokens, Log: log}
	switch m.Provider {
	case "scripted":
		return scriptModel(m.Script)
	case "gemini":
		client, err := openai.NewGemini(cfg)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", id, err)
		}
		return retried(client, log), nil
	case "openai":
	default:
		return nil, fmt.Errorf("model %s: the provider %s is not built into this version", id, m.Provider)
	}
	client, err := openai.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", id, err)
	}
	return retried(client, log), nil
}

// retried tries again where that may help, inside the turn.
func retried(m model.Model, log *slog.Logger) model.Model {
	return &model.Retry{Model: m, OnWait: func(try int, wait time.Duration, err *model.Error) {
		log.Warn("the model failed, it is tried again", "try", try, "after", wait, "err", err.Err)
	}}
}

// buildAgents makes the agents of a configuration.
func buildAgents(cfg *Config, log *slog.Logger, now func() time.Time) (map[core.AgentID]*turn.Agent, []*mcp.Source, error) {
	models := map[string]model.Model{}
	for id, m := range cfg.Models {
		built, err := buildModel(id, m, log)
		if err != nil {
			return nil, nil, err
		}
		models[id] = built
	}
	// One recorder for all agents, since it is one file.
	e := &effects{path: cfg.Store.Path + ".effects", now: now}
	agents := map[core.AgentID]*turn.Agent{}
	client := outboundClient(cfg)
	var servers []*mcp.Source
	for id, a := range cfg.Agents {
		from, err := buildSources(cfg, id, e, client, log.With("agent", id))
		if err != nil {
			return nil, nil, fmt.Errorf("agent %s: %w", id, err)
		}
		built, err := buildAgent(cfg, id, a)
		if err != nil {
			return nil, nil, fmt.Errorf("agent %s: %w", id, err)
		}
		built.Tools = from.set
		servers = append(servers, from.run...)
		built.Model, built.ContextTokens = models[a.Model], cfg.Models[a.Model].ContextTokens
		agents[built.ID] = built
	}
	return agents, servers, nil
}

func buildAgent(cfg *Config, id string, a AgentConfig) (*turn.Agent, error) {
	var err error
	out := &turn.Agent{
		ID: core.AgentID(id), Name: a.Name, Instructions: a.Instructions,
		AskUser: slices.Contains(a.Builtins, "ask_user"), Ask: a.Ask,
		MaxSteps: a.MaxSteps, MaxInputs: a.MaxInputs,
		Human: a.human(cfg, id), Redact: a.Redact, Lang: a.Locale,
	}
	for _, other := range a.Agents {
		out.Agents = append(out.Agents, core.AgentID(other))
	}
	if out.Name == "" {
		out.Name = id
	}
	if a.Intake != nil {
		if out.Intake, err = a.Intake.build(parse.Fold); err != nil {
			return nil, fmt.Errorf("intake: %w", err)
		}
	}
	return out, nil
}
