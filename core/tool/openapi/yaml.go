package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// The limits of a YAML document, which can name one node many times over.
const (
	maxNodes = 5_000_000
	maxDepth = 500
)

// fromYAML reads a YAML document as JSON values: maps with string keys, lists, strings, json.Number,
// booleans and nil. Dates stay strings.
func fromYAML(data []byte) (any, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	c := yamlReader{}
	return c.value(&root, 0)
}

type yamlReader struct{ nodes int }

func (c *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if c.nodes++; c.nodes > maxNodes {
		return nil, errors.New("the document is too large, its aliases written out")
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: nested too deeply", n.Line)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return nil, errors.New("want one document")
		}
		return c.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		return c.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, e := range n.Content {
			v, err := c.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.ScalarNode:
		return scalar(n), nil
	default:
		return nil, errors.New("the document is empty")
	}
}

func (c *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		v, err := c.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch {
		case k.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("line %d: a key is no text", k.Line)
		case k.ShortTag() == "!!merge":
			merge(out, v)
		default:
			out[k.Value] = v
		}
	}
	return out, nil
}

// merge adds what a merge key names; the mapping's own keys win.
func merge(into map[string]any, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if _, own := into[k]; !own {
				into[k] = e
			}
		}
	case []any:
		for _, e := range v {
			merge(into, e)
		}
	}
}

func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return b
		}
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return json.Number(strconv.FormatInt(i, 10))
		}
	case "!!float":
		var f float64
		if n.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return n.Value
}
