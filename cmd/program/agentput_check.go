package program

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"parley/core"
)

// agentName is how the id of an agent is written; the schema has the same for the file.
var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// The greatest nesting of a definition that is put.
const maxPutDepth = 64

// placeholder is what the configuration file would take from elsewhere.
var placeholder = regexp.MustCompile(`\$\{|^file:`)

// readDefinition checks a definition that is put as the configuration file checks its agents, each problem at
// its path within the definition. agents are those that it may delegate to. The value is the definition as parsed.
func readDefinition(cfg *Config, id string, body []byte, before any, agents map[string]AgentConfig) (AgentConfig, any, []Problem, error) {
	ps := &problems{}
	if deep(body) {
		ps.add("", "it is nested deeper than %d", maxPutDepth)
		return AgentConfig{}, nil, ps.list, nil
	}
	value, ok := parseJSON(body, ps)
	if _, object := value.(map[string]any); ok && !object {
		ps.add("", "want a JSON object: one entry of agents in the configuration file")
		ok = false
	}
	if !ok {
		return AgentConfig{}, nil, ps.sorted(), nil
	}
	unmask(ps, value, before)
	around := *cfg
	around.Agents, around.Warnings = map[string]AgentConfig{}, nil
	for other, a := range agents {
		around.Agents[other] = a
	}
	c := &check{ps: ps, cfg: &around, raw: map[Path]string{}}
	if err := c.agentSchema(value); err != nil {
		return AgentConfig{}, nil, nil, fmt.Errorf("check a definition against the schema: %w", err)
	}
	var a AgentConfig
	if err := decode(value, &a); err != nil && len(ps.list) == 0 {
		ps.add("", "%v", err)
	}
	around.Agents[id] = a
	c.agent("", id, a)
	c.put(a)
	return a, value, ps.sorted(), nil
}

// put checks what only the configuration file may hold: it is read by whoever may start programs here.
func (c *check) put(a AgentConfig) {
	for i, m := range a.MCPServers {
		at := Path("mcpServers").index(i)
		if m.Command != nil {
			c.once(at.key("command"), "only the configuration file may start programs: want url")
		}
		if m.Env != nil {
			c.once(at.key("env"), "it is for servers that are started, and only the configuration file may start programs")
		}
		c.literal(at.key("url"), m.URL)
		c.literals(at.key("headers"), m.Headers)
		if m.OAuth != nil {
			c.once(at.key("oauth"), "only the configuration file may hold it: parley login reads it there")
		}
	}
	for i, o := range a.OpenAPI {
		at := Path("openapi").index(i)
		c.literals(at.key("headers"), o.Headers)
		u, err := url.Parse(o.Spec)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			c.once(at.key("spec"), "want the address of the document, such as https://example.com/openapi.json: no file is read for a definition that is put")
		}
		c.literal(at.key("spec"), o.Spec)
		if strings.HasSuffix(o.Spec, maskedQuery) {
			c.once(at.key("spec"), "its query is masked: write the address, since there is none of a source with this name and path")
		}
		c.literal(at.key("baseURL"), o.BaseURL)
	}
}

// literal refuses a value that was meant to be put in and would be sent as it is written.
func (c *check) literal(at Path, s string) {
	if placeholder.MatchString(s) {
		c.once(at, "write the value itself: nothing is taken from the environment or from files here")
	}
}

func (c *check) literals(at Path, headers map[string]Secret) {
	for name, s := range headers {
		c.literal(at.key(name), s.Reveal())
	}
}

// deep reports whether JSON is nested deeper than a definition may be.
func deep(body []byte) bool {
	depth, text, escaped := 0, false, false
	for _, b := range body {
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = b == '\\', b != '"'
		case b == '"':
			text = true
		case b == '{', b == '[':
			if depth++; depth > maxPutDepth {
				return true
			}
		case b == '}', b == ']':
			depth--
		}
	}
	return false
}

// eachSource calls f with each source of a parsed definition and its path.
func eachSource(definition any, f func(at Path, source map[string]any)) {
	whole, _ := definition.(map[string]any)
	for _, kind := range []string{"mcpServers", "openapi"} {
		list, _ := whole[kind].([]any)
		for i, v := range list {
			if source, ok := v.(map[string]any); ok {
				f(Path(kind).index(i), source)
			}
		}
	}
}

// eachSecret calls f with each map of a parsed source whose values are secret.
func eachSecret(source map[string]any, f func(key string, values map[string]any)) {
	for _, key := range []string{"headers", "env"} {
		if values, ok := source[key].(map[string]any); ok {
			f(key, values)
		}
	}
}

// unmask puts in the secrets that an answer masked and that came back: those of a source of the same name and
// addresses, so that no secret is sent anywhere else than before.
func unmask(ps *problems, definition, before any) {
	eachSource(definition, func(at Path, source map[string]any) {
		if address, ok := source["spec"].(string); ok && strings.HasSuffix(address, maskedQuery) {
			source["spec"] = specOf(before, source, address)
		}
		eachSecret(source, func(key string, values map[string]any) {
			for name, v := range values {
				if v != masked {
					continue
				}
				if old, ok := secretOf(before, source, at, key, name); ok {
					values[name] = old
				} else {
					ps.add(at.key(key).key(name), "it is masked: write the value, since there is none of a source with this name and address")
				}
			}
		})
	})
}

// secretOf is the value that a definition had at the same place of the same source.
func secretOf(before any, source map[string]any, at Path, key, name string) (value any, ok bool) {
	kind, _, _ := strings.Cut(string(at), "[")
	eachSource(before, func(other Path, old map[string]any) {
		same := func(key string) bool { return reflect.DeepEqual(old[key], source[key]) }
		if k, _, _ := strings.Cut(string(other), "["); k != kind || !same("name") || !same("url") || !same("spec") || !same("baseURL") {
			return
		}
		if values, is := old[key].(map[string]any); is && !ok {
			value, ok = values[name]
		}
	})
	return value, ok
}

// maskedQuery stands for what follows the path of a document's address, which often is a key.
const maskedQuery = "?" + masked

// specOf is the address of the document of the same source, whose query was masked; address itself where there is none.
func specOf(before any, source map[string]any, address string) (found string) {
	found = address
	eachSource(before, func(_ Path, old map[string]any) {
		spec, _ := old["spec"].(string)
		if path, _, query := strings.Cut(spec, "?"); query && path+maskedQuery == address && reflect.DeepEqual(old["name"], source["name"]) {
			found = spec
		}
	})
	return found
}

// mask is a copy of a parsed definition as an answer shows it.
func mask(definition any) any {
	out := clone(definition)
	eachSource(out, func(_ Path, source map[string]any) {
		eachSecret(source, func(_ string, values map[string]any) {
			for name := range values {
				values[name] = masked
			}
		})
		if spec, ok := source["spec"].(string); ok {
			if path, _, query := strings.Cut(spec, "?"); query {
				source["spec"] = path + maskedQuery
			}
		}
		if command, ok := source["command"].([]any); ok {
			for i := 1; i < len(command); i++ {
				command[i] = masked
			}
		}
	})
	return out
}

// clone copies a parsed JSON value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = clone(out[i])
		}
		return out
	}
	return v
}

// fields are problems as the API lists them.
func fields(ps []Problem) (detail string, out []core.FieldError) {
	detail = "the definition does not fit"
	for _, p := range ps {
		if p.Path == "" {
			detail += ": " + p.Text
			continue
		}
		out = append(out, core.FieldError{Field: string(p.Path), Reason: p.Text})
	}
	return detail, out
}
