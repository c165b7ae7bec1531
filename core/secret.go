package core

import (
	"encoding/json"
	"slices"
)

// SecretNames lists the properties that a JSON Schema marks as secret, by writeOnly or format password, at
// any depth, sorted. They are masked when a call is shown.
func SecretNames(schema json.RawMessage) []string {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	var names []string
	collectSecrets(root, &names)
	slices.Sort(names)
	return slices.Compact(names)
}

func collectSecrets(v any, names *[]string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			collectSecrets(x, names)
		}
	case map[string]any:
		if props, ok := v["properties"].(map[string]any); ok {
			for name, p := range props {
				if m, ok := p.(map[string]any); ok && (m["writeOnly"] == true || m["format"] == "password") {
					*names = append(*names, name)
				}
			}
		}
		for _, x := range v {
			collectSecrets(x, names)
		}
	}
}
