package program

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed config.schema.json
var configSchema []byte

var (
	compiledSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileSchema("") })
	compiledAgent  = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileSchema("#/$defs/agent") })
)

// compileSchema makes the part of the schema at a fragment.
func compileSchema(fragment string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(configSchema))
	if err != nil {
		return nil, fmt.Errorf("read the configuration's schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.schema.json", doc); err != nil {
		return nil, fmt.Errorf("add the configuration's schema: %w", err)
	}
	return c.Compile("config.schema.json" + fragment)
}

var personPath = regexp.MustCompile(`\.(approvers|allow)\[[0-9]+\]$`)

// schemaProblems validates a parsed value and says in our words what does not fit.
func (c *check) schemaProblems(value any) error { return c.fits(compiledSchema, value) }

// agentSchema validates one agent.
func (c *check) agentSchema(value any) error { return c.fits(compiledAgent, value) }

func (c *check) fits(compiled func() (*jsonschema.Schema, error), value any) error {
	schema, err := compiled()
	if err != nil {
		return err
	}
	err = schema.Validate(value)
	var ve *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ve):
		c.schemaError(value, ve)
		return nil
	default:
		return err
	}
}

func (c *check) schemaError(value any, e *jsonschema.ValidationError) {
	at := locate(value, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, key := range k.Properties {
			c.once(at.key(key), "%s", unknownKey(key, schemaKeys(e.SchemaURL)))
		}
	case *kind.Required:
		for _, key := range k.Missing {
			c.once(at.key(key), "missing")
		}
	default:
		if text := c.sentence(at, e.ErrorKind); text != "" {
			c.once(at, "%s", text)
		}
	}
	for _, cause := range e.Causes {
		c.schemaError(value, cause)
	}
}

// sentence says what a keyword demands; "" for keywords that only group others.
func (c *check) sentence(at Path, k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		if personPath.MatchString(string(at)) {
			return `want a person as text, platform:id, such as "telegram:42", not a ` + k.Got
		}
		return fmt.Sprintf("want %s, not %s", strings.Join(slices.Sorted(slices.Values(k.Want)), " or "), k.Got)
	case *kind.Enum:
		got, isText := k.Got.(string)
		if !isText {
			return "want " + choices(k.Want)
		}
		return fmt.Sprintf("%q: want %s", c.shown(at, got), choices(k.Want))
	case *kind.Minimum:
		return "want at least " + k.Want.RatString()
	case *kind.Maximum:
		return "want at most " + k.Want.RatString()
	case *kind.MinLength:
		return "must not be empty"
	case *kind.MinItems, *kind.MinProperties:
		return "want at least one"
	case *kind.Pattern:
		if at == "locale" || strings.HasSuffix(string(at), ".locale") {
			return "want a language tag, such as en or pt-BR"
		}
		return wantName
	default:
		return ""
	}
}

func choices(want []any) string {
	out := make([]string, len(want))
	for i, w := range want {
		out[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(out, " or ")
}

const wantName = "want a name of letters, digits, dot, underscore and hyphen, at most 64"

// unknownKey says what is wrong with a key. Where none is known the keys are names that people choose.
func unknownKey(key string, known []string) string {
	if len(known) == 0 {
		return wantName
	}
	for _, k := range known {
		if strings.EqualFold(k, key) {
			return fmt.Sprintf("unknown key: keys are case-sensitive, write %q", k)
		}
	}
	return "unknown key: want one of " + strings.Join(known, ", ")
}

// schemaShape is as much of the schema as is needed to say which keys there are.
type schemaShape struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Defs       map[string]schemaShape     `json:"$defs"`
}

// schemaKeys lists the keys of the object that a schema location describes.
func schemaKeys(url string) []string {
	var shape schemaShape
	if json.Unmarshal(configSchema, &shape) != nil {
		return nil
	}
	_, fragment, _ := strings.Cut(url, "#")
	switch name, isDef := strings.CutPrefix(fragment, "/$defs/"); {
	case isDef:
		shape = shape.Defs[name]
	case fragment != "":
		return nil
	}
	return slices.Sorted(maps.Keys(shape.Properties))
}

// locate turns the validator's location into a path: only the value tells a list's index from a key.
func locate(value any, location []string) Path {
	var at Path
	for _, part := range location {
		switch v := value.(type) {
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err == nil && i < len(v) {
				at, value = at.index(i), v[i]
			}
		case map[string]any:
			at, value = at.key(part), v[part]
		}
	}
	return at
}
