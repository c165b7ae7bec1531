// Package schema checks a model's arguments against a tool's JSON Schema and freezes them: what Prepare
// returns is what a person is shown and what runs.
//
// Foreign schemas are compiled without a loader: a reference to somewhere else is an error, never a
// request. Compiled checkers are kept and safe for concurrent use.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Checker is a compiled schema.
type Checker struct {
	schema   *jsonschema.Schema
	defaults *filler // nil where there are none
}

// keep is how many compiled schemas are kept: far more than one configuration has.
const keep = 1000

var cache = struct {
	sync.Mutex
	checkers map[string]*Checker
}{checkers: map[string]*Checker{}}

// Compile returns the checker of a schema, which must be a JSON object; no schema takes any object.
func Compile(schema json.RawMessage) (*Checker, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	key := string(schema)
	cache.Lock()
	c, ok := cache.checkers[key]
	cache.Unlock()
	if ok {
		return c, nil
	}
	c, err := compile(schema)
	if err != nil {
		return nil, fmt.Errorf("compile a schema: %w", err)
	}
	cache.Lock()
	defer cache.Unlock()
	if len(cache.checkers) >= keep {
		clear(cache.checkers)
	}
	cache.checkers[key] = c
	return c, nil
}

// Prepare compiles the schema and prepares the arguments; see Checker.Prepare. A schema that cannot be
// used is a problem too.
func Prepare(schema, arguments json.RawMessage) (frozen json.RawMessage, problems []string) {
	c, err := Compile(schema)
	if err != nil {
		return nil, []string{"the tool cannot be called, since its own schema is broken: " + err.Error()}
	}
	return c.Prepare(arguments)
}

func compile(schema json.RawMessage) (c *Checker, err error) {
	defer func() {
		if p := recover(); p != nil { // a foreign schema must not end the program
			c, err = nil, fmt.Errorf("the schema cannot be used: %v", p)
		}
	}()
	if err := wellFormed(schema); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, errors.New("want a JSON object")
	}
	const url = "parley:///tool.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(pattern)
	compiler.AssertFormat()
	if err := compiler.AddResource(url, doc); err != nil {
		return nil, err
	}
	s, err := compiler.Compile(url)
	if err != nil {
		return nil, err
	}
	return &Checker{schema: s, defaults: (&fillers{root: schema, byRef: map[string]*filler{}}).of(schema, 0)}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not part of the schema, and nothing is loaded", url)
}

// pattern compiles a schema's pattern. What RE2 cannot express is left to the tool itself to check.
func pattern(s string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return anything(s), nil
	}
	return re, nil
}

type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }
