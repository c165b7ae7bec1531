package program

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
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
		client, err := anthropic.New(anthropic.Config{Model: m.Model, APIKey: m.APIKey.Reveal(), BaseURL: m.BaseURL, MaxTokens: m.MaxTokens, Images: m.Images, Log: log})
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", id, err)
		}
		return retried(client, log), nil
	}
	cfg := openai.Config{Model: m.Model, APIKey: m.APIKey.Reveal(), BaseURL: m.BaseURL, MaxTokens: m.MaxTokens, Images: m.Images, Log: log}
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

// workshop makes agents of definitions. Its models and its outbound client are shared by all of them.
type workshop struct {
	cfg    *Config
	models map[string]model.Model
	// effects is one recorder for all agents, since it is one file.
	effects *effects
	client  *http.Client
	log     *slog.Logger
}

func newWorkshop(cfg *Config, log *slog.Logger, now func() time.Time) (*workshop, error) {
	w := &workshop{
		cfg: cfg, models: map[string]model.Model{}, client: outboundClient(cfg), log: log,
		effects: &effects{path: cfg.Store.Path + ".effects", now: now},
	}
	for id, m := range cfg.Models {
		built, err := buildModel(id, m, log)
		if err != nil {
			return nil, err
		}
		w.models[id] = built
	}
	return w, nil
}

// fileAgents makes the agents of the configuration file, with the MCP servers that must run.
func (w *workshop) fileAgents() (map[core.AgentID]*turn.Agent, []*mcp.Source, error) {
	agents := map[core.AgentID]*turn.Agent{}
	var servers []*mcp.Source
	for id, a := range w.cfg.Agents {
		built, err := w.agent(id, a)
		if err != nil {
			return nil, nil, fmt.Errorf("agent %s: %w", id, err)
		}
		from, err := w.sources(context.Background(), id, a)
		if err != nil {
			return nil, nil, fmt.Errorf("agent %s: %w", id, err)
		}
		built.Tools = from.set
		servers = append(servers, from.run...)
		agents[built.ID] = built
	}
	return agents, servers, nil
}

// agent makes an agent without its tools.
func (w *workshop) agent(id string, a AgentConfig) (*turn.Agent, error) {
	built, err := buildAgent(w.cfg, id, a)
	if err != nil {
		return nil, err
	}
	using := w.cfg.Models[a.Model]
	built.Model, built.ContextTokens, built.Images, built.ModelName = w.models[a.Model], using.ContextTokens, using.Images, using.Model
	return built, nil
}

// sources makes what an agent has its tools from; ctx bounds fetching their documents.
func (w *workshop) sources(ctx context.Context, id string, a AgentConfig) (sources, error) {
	return buildSources(ctx, w.cfg, id, a, w.effects, w.client, w.log.With("agent", id))
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
