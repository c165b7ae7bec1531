package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

func scan(text string, n *int) (int, error) { return fmt.Sscanf(text, "%d", n) }

// object is a text, a control or a block, as far as limits go.
type object struct {
	Type        string
	Text        json.RawMessage
	BlockID     string `json:"block_id"`
	ActionID    string `json:"action_id"`
	Value       string
	URL         string
	Placeholder *text
	Elements    []object
	Options     []object
}

type text struct {
	Type, Text string
}

// readBody reads text, blocks and metadata, and refuses what Slack refuses.
func readBody(p params, limit int) (*Message, map[string]any) {
	m := &Message{Text: p.str("text"), Mrkdwn: p.str("mrkdwn") != "false", Fields: map[string]any{}}
	if utf8.RuneCountInString(m.Text) > limit {
		return nil, refuse("msg_too_long")
	}
	if raw := p.str("metadata"); raw != "" {
		var meta struct {
			Type    string          `json:"event_type"`
			Payload json.RawMessage `json:"event_payload"`
		}
		if json.Unmarshal([]byte(raw), &meta) != nil || meta.Type == "" || !strings.HasPrefix(string(meta.Payload), "{") {
			return nil, refuse("invalid_metadata_format")
		}
		m.Metadata = json.RawMessage(raw)
	}
	if raw := p.str("blocks"); raw != "" {
		var blocks []object
		if json.Unmarshal([]byte(raw), &blocks) != nil {
			return nil, refuse("invalid_blocks_format")
		}
		if code := m.readBlocks(blocks); code != "" {
			return nil, refuse(code)
		}
		if len(blocks) > 0 {
			m.Blocks = json.RawMessage(raw)
		}
	}
	if strings.TrimSpace(m.Text) == "" && len(m.Blocks) == 0 {
		return nil, refuse("no_text")
	}
	return m, nil
}

// readBlocks checks blocks and keeps their controls; it returns the code of a refusal.
func (m *Message) readBlocks(blocks []object) string {
	ids, total := map[string]bool{}, 0
	for _, b := range blocks {
		if b.BlockID != "" && ids[b.BlockID] || len(b.BlockID) > 255 {
			return "invalid_blocks"
		}
		ids[b.BlockID] = true
		switch b.Type {
		case "section":
			t, n := textOf(b.Text)
			total += n
			if t.Type != "mrkdwn" && t.Type != "plain_text" || n == 0 || n > 3000 {
				return "invalid_blocks"
			}
		case "actions":
			if !m.readActions(b) {
				return "invalid_blocks"
			}
		case "divider", "context", "rich_text", "header":
		default:
			return "invalid_blocks"
		}
	}
	switch {
	case len(blocks) > 50:
		return "invalid_blocks"
	case total > 13200:
		return "msg_blocks_too_long"
	}
	return ""
}

func (m *Message) readActions(b object) bool {
	if len(b.Elements) == 0 || len(b.Elements) > 25 {
		return false
	}
	for _, e := range b.Elements {
		if len(e.ActionID) > 255 || e.ActionID == "" || m.hasAction(e.ActionID) {
			return false
		}
		switch e.Type {
		case "button":
			t, n := textOf(e.Text)
			if t.Type != "plain_text" || n == 0 || n > 75 || utf8.RuneCountInString(e.Value) > 2000 || len(e.URL) > 3000 {
				return false
			}
			m.Controls = append(m.Controls, Control{Block: b.BlockID, Action: e.ActionID, Kind: "button", Label: t.Text, Value: e.Value, URL: e.URL})
		case "static_select":
			if e.Placeholder == nil || e.Placeholder.Type != "plain_text" || len(e.Placeholder.Text) > 150 || len(e.Options) == 0 || len(e.Options) > 100 {
				return false
			}
			for _, o := range e.Options {
				t, n := textOf(o.Text)
				if n == 0 || n > 75 || o.Value == "" || utf8.RuneCountInString(o.Value) > 150 {
					return false
				}
				m.Controls = append(m.Controls, Control{Block: b.BlockID, Action: e.ActionID, Kind: "static_select", Label: t.Text, Value: o.Value})
			}
		default: // multi-selects, number and text inputs are refused in an actions block
			return false
		}
	}
	return true
}

func (m *Message) hasAction(id string) bool {
	for _, c := range m.Controls {
		if c.Action == id {
			return true
		}
	}
	return false
}

func textOf(raw json.RawMessage) (text, int) {
	var t text
	if json.Unmarshal(raw, &t) != nil {
		return t, 0
	}
	return t, utf8.RuneCountInString(t.Text)
}

// upload is a file on its way.
type upload struct {
	File
	length int
	done   bool
	at     string // where it is told to stand, "" for here
}

func (s *Server) uploadURL(p params) map[string]any {
	n := 0
	if _, err := scan(p.str("length"), &n); err != nil || n <= 0 || p.str("filename") == "" {
		return refuse("invalid_arguments")
	}
	id := "F0" + s.next()
	s.files[id] = &upload{File: File{ID: id, Name: p.str("filename")}, length: n}
	return ok("upload_url", s.root()+"/upload/"+id+"?key=upload-url-secret", "file_id", id)
}

// receiveFile takes the bytes of a file.
func (s *Server) receiveFile(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/upload/")
	data, err := readFile(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[id]
	if err != nil || f == nil || len(data) != f.length {
		http.Error(w, "bad upload", http.StatusBadRequest)
		return
	}
	f.Data = data
	s.mu.Note()
	_, _ = fmt.Fprintf(w, "OK - %d", len(data)) // a client that went away
}

func readFile(r *http.Request) ([]byte, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return io.ReadAll(r.Body)
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return nil, err
		}
		if part.FormName() == "file" {
			return io.ReadAll(part)
		}
	}
}

func (s *Server) completeUpload(p params) map[string]any {
	var list []struct{ ID, Title string }
	if json.Unmarshal([]byte(p.str("files")), &list) != nil || len(list) != 1 {
		return refuse("invalid_arguments")
	}
	f := s.files[list[0].ID]
	if f == nil || f.Data == nil || f.done {
		return refuse("file_not_found")
	}
	p.values.Set("channel", p.str("channel_id"))
	r, no := s.writable(p)
	if no != nil {
		return no
	}
	f.done, f.Title = true, list[0].Title
	m := &Message{
		Where: Where{r.id, p.str("thread_ts")}, TS: s.stamp(), User: BotUser, Bot: BotID, Text: p.str("initial_comment"),
		Files: []File{f.File}, Fields: map[string]any{"subtype": "file_share"},
	}
	r.messages = append(r.messages, m)
	told := s.json(r, m)
	told["channel_type"] = r.kind
	s.event(r.id, told)
	return ok("files", []any{map[string]any{"id": f.ID, "title": f.Title}})
}
