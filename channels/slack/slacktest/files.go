package slacktest

import (
	"net/http"
	"slices"
	"strings"
)

// Download is the name under which Fail takes faults of the address that files are fetched from.
const Download = "download"

// Attach has a person share a file with the message; kind is its type.
func Attach(name, kind string, data []byte) Said {
	return func(m *Message) {
		m.Fields["subtype"] = "file_share"
		m.Files = append(m.Files, File{Name: name, Title: name, Type: kind, Data: data})
	}
}

// keep gives the files of a message their ids, and keeps what they hold. s.mu is held.
func (s *Server) keep(m *Message) {
	for i := range m.Files {
		f := &m.Files[i]
		f.ID = "F0" + s.next()
		s.files[f.ID] = &upload{File: *f, length: len(f.Data), done: true}
	}
}

// Discard deletes the files of a message, as its sender or a retention rule would.
func (s *Server) Discard(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.mustRoom(channel).find(ts).Files {
		delete(s.files, f.ID)
	}
}

// Elsewhere has a file be told to stand at another address.
func (s *Server) Elsewhere(file, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[file].at = address
}

// fileJSON is a file as the API tells it. s.mu is held.
func (s *Server) fileJSON(f File) map[string]any {
	kind, at := f.Type, s.root()+"/files-pri/"+s.cfg.Team+"-"+f.ID+"/"+f.Name
	if kind == "" {
		kind = "text/plain"
	}
	if u := s.files[f.ID]; u != nil && u.at != "" {
		at = u.at
	}
	return map[string]any{
		"id": f.ID, "name": f.Name, "title": f.Title, "mimetype": kind, "size": len(f.Data), "mode": "hosted", "is_external": false,
		"url_private": at, "url_private_download": at,
	}
}

func (s *Server) fileInfo(p params) map[string]any {
	f := s.files[p.str("file")]
	if f == nil || !f.done {
		return refuse("file_not_found")
	}
	return ok("file", s.fileJSON(f.File), "comments", []any{})
}

// serveFile answers whoever has the bot token and the right to read; anybody else gets a page to sign in.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.faults.Take(Download)
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files-pri/"+s.cfg.Team+"-"), "/")
	f := s.files[id]
	may := r.Header.Get("Authorization") == "Bearer "+s.cfg.BotToken && slices.Contains(s.cfg.Scopes, "files:read")
	s.mu.Unlock()
	switch {
	case fault != nil:
		fault.play(s, w, r)
	case !may:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<html>Sign in</html>")) // a client that went away
	case f == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", f.Type)
		_, _ = w.Write(f.Data) // a client that went away
	}
}
