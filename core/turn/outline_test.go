package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/core/model"
)

// outline is what a model is told, without times.
func outline(r model.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s %s", m.Role, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " [%s %s]", c.Name, c.Arguments)
		}
		if m.Result != nil {
			content := m.Result.Content
			var v map[string]any
			if json.Unmarshal([]byte(content), &v) == nil {
				content = fmt.Sprint(v["outcome"], " ", v["content"])
			}
			b.WriteString(content)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
