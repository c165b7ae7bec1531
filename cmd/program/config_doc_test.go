package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var word = regexp.MustCompile(`[A-Za-z]+`)

// TestConfigurationIsDocumented: every key that the file may hold stands, as code, in the manual.
func TestConfigurationIsDocumented(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	must(t, err)
	var named []string
	for i, part := range strings.Split(string(manual), "`") {
		if i%2 == 1 {
			named = append(named, word.FindAllString(part, -1)...)
		}
	}
	var schema struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	must(t, json.Unmarshal(configSchema, &schema))
	keys := schema.Properties
	for _, def := range schema.Defs {
		for key := range def.Properties {
			keys[key] = nil
		}
	}
	for key := range keys {
		if key != "$schema" && !slices.Contains(named, key) {
			t.Errorf("docs/configuration.md does not name %s", key)
		}
	}
}

// TestConfigurationOfTheReadme loads what people copy first.
func TestConfigurationOfTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	must(t, err)
	_, rest, _ := strings.Cut(string(readme), "```json\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README shows no configuration")
	}
	cfg, problems, err := parseConfig([]byte(block), t.TempDir(), envOf("ANTHROPIC_API_KEY", "sk-1"))
	if err != nil || len(problems) > 0 || len(cfg.Agents) != 1 || len(cfg.Warnings) > 0 {
		t.Errorf("%v, %v, %+v", err, problems, cfg)
	}
}
