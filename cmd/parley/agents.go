package main

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/model/openai"
	"parley/core/tool"
	"parley/core/turn"
	"parley/parse"
)

// geminiURL is where Google's models speak Chat Completions.
const geminiURL = "https://generativelanguage.googleapis.com/v1beta/openai"

// buildModel makes the model that a configuration names. Rate limits and passing failures are tried again
// inside the turn.
func buildModel(id string, m ModelConfig, log *slog.Logger) (model.Model, error) {
	log = log.With("model", id)
	cfg := openai.Config{Model: m.Model, APIKey: m.APIKey.Reveal(), BaseURL: m.BaseURL, Log: log}
	switch m.Provider {
	case "scripted":
		return scriptModel(m.Script)
	case "gemini":
		if cfg.BaseURL == "" {
			cfg.BaseURL = geminiURL
		}
	case "openai":
	default:
		return nil, fmt.Errorf("model %s: the provider %s is not built into this version", id, m.Provider)
	}
	client, err := openai.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", id, err)
	}
	return &model.Retry{Model: client, OnWait: func(try int, wait time.Duration, err *model.Error) {
		log.Warn("the model failed, it is tried again", "try", try, "after", wait, "err", err.Err)
	}}, nil
}

// buildAgents makes the agents of a configuration.
func buildAgents(cfg *Config, log *slog.Logger, now func() time.Time) (map[core.AgentID]*turn.Agent, error) {
	models := map[string]model.Model{}
	for id, m := range cfg.Models {
		built, err := buildModel(id, m, log)
		if err != nil {
			return nil, err
		}
		models[id] = built
	}
	// One recorder for all agents, since it is one file.
	e := &effects{path: cfg.Store.Path + ".effects", now: now}
	agents := map[core.AgentID]*turn.Agent{}
	for id, a := range cfg.Agents {
		built, err := buildAgent(cfg, id, a, e)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", id, err)
		}
		built.Model = models[a.Model]
		agents[built.ID] = built
	}
	return agents, nil
}

func buildAgent(cfg *Config, id string, a AgentConfig, e *effects) (*turn.Agent, error) {
	var tools []tool.Tool
	if slices.Contains(a.Builtins, "demo") {
		tools = demoTools(e)
	}
	registry, err := tool.NewRegistry(tools...)
	if err != nil {
		return nil, err
	}
	out := &turn.Agent{
		ID: core.AgentID(id), Name: a.Name, Instructions: a.Instructions, Tools: registry,
		AskUser: slices.Contains(a.Builtins, "ask_user"), Ask: a.Ask,
		MaxSteps: a.MaxSteps, MaxInputs: a.MaxInputs,
		Human: a.human(cfg, id), Redact: a.Redact, Lang: a.Locale,
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
