package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// maxConfig bounds the configuration file, so that a wrong path is an error and not a full memory.
const maxConfig = 4 << 20

// loadConfig reads a configuration file. What is wrong with it is a *ConfigError that lists everything at
// once. env looks up an environment variable.
func loadConfig(path string, env func(string) (string, bool)) (*Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if info.IsDir() || info.Size() > maxConfig {
		return nil, fmt.Errorf("read the configuration: %s is no file of at most 4 MB", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	cfg, ps, err := parseConfig(data, filepath.Dir(path), env)
	if err != nil {
		return nil, err
	}
	if len(ps) > 0 {
		return nil, &ConfigError{File: path, Problems: ps}
	}
	return cfg, nil
}

// parseConfig reads a configuration whose file: values are relative to dir. The configuration is to be used
// only if there are no problems.
func parseConfig(data []byte, dir string, env func(string) (string, bool)) (*Config, []Problem, error) {
	ps := &problems{}
	value, ok := parseJSON(data, ps)
	if !ok {
		return nil, ps.sorted(), nil
	}
	cfg := &Config{dir: dir, written: writtenAgents(value)}
	e := &expand{env: env, dir: dir, ps: ps, raw: map[Path]string{}}
	value = e.value("", value)
	c := &check{ps: ps, cfg: cfg, raw: e.raw}
	if err := c.schemaProblems(value); err != nil {
		return nil, nil, fmt.Errorf("check the configuration against its schema: %w", err)
	}
	// What does not fit a field has been reported with its path: decoding goes on past it, so that the
	// other checks see the rest.
	if err := decode(value, cfg); err != nil && len(ps.list) == 0 {
		ps.add("", "%v", err)
	}
	c.all()
	cfg.place(dir)
	return cfg, ps.sorted(), nil
}

// writtenAgents are the definitions of agents as they are written, before anything is put in.
func writtenAgents(value any) map[string]any {
	whole, _ := value.(map[string]any)
	agents, _ := clone(whole["agents"]).(map[string]any)
	return agents
}

func decode(value, into any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// place makes the store's path relative to the configuration and not to the working directory.
func (c *Config) place(dir string) {
	if c.Store.Path == "" {
		c.Store.Path = "parley.db"
	}
	if !filepath.IsAbs(c.Store.Path) {
		c.Store.Path = filepath.Join(dir, c.Store.Path)
	}
}
