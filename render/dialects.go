package render

// TestDialects are dialects of the shapes that platforms have, for tests of what renders: a terminal, text
// with entities beside it, a small markup with escapes, and Markdown with a short limit. Each adapter
// declares its own.
func TestDialects() []Dialect {
	return []Dialect{
		{Name: "plain", Style: Plain},
		{Name: "entities", Style: Entities, Limit: 4096, MaxParts: 5, Files: true, Edits: true, Buttons: true, Slash: true},
		{Name: "mrkdwn", Style: Mrkdwn, Limit: 3900, MaxParts: 5, Files: true, Edits: true, Buttons: true},
		{Name: "markdown", Style: Markdown, Limit: 2000, Edits: true, Buttons: true},
	}
}
