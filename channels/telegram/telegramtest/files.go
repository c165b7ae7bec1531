package telegramtest

import (
	"fmt"
	"net/http"
)

// Download is the name under which Fail takes faults of the address that files are fetched from.
const Download = "download"

// maxDownload is what a bot may fetch.
const maxDownload = 20 << 20

// attached is a file of a message that is about to be said; size is told instead of its own where it is not 0.
type attached struct {
	field, name, kind string
	data              []byte
	size              int
}

// kept is a file that the server has.
type kept struct {
	attached
	path    string
	message *Message
}

// Photo attaches a photo in these sizes, the smallest first. The last is Claimed as that many bytes, 0 for its own.
func Photo(claimed int, sizes ...[]byte) Said {
	return func(m *Message) {
		for i, data := range sizes {
			a := attached{field: "photo", data: data}
			if i == len(sizes)-1 {
				a.size = claimed
			}
			m.attached = append(m.attached, a)
		}
	}
}

// Attach attaches a document; kind is its type.
func Attach(name, kind string, data []byte) Said {
	return func(m *Message) {
		m.attached = append(m.attached, attached{field: "document", name: name, kind: kind, data: data})
	}
}

// keep gives the files of a message their ids. s.mu is held.
func (s *Server) keep(m *Message) {
	var photo []any
	for i, a := range m.attached {
		id := fmt.Sprintf("AgAC-%d", len(s.files)+1)
		k := &kept{attached: a, path: fmt.Sprintf("%ss/file_%d.bin", a.field, len(s.files)+1), message: m}
		s.files[id] = k
		told := map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": k.length()}
		if a.field == "photo" {
			told["width"], told["height"] = 90*(i+1), 60*(i+1)
			photo = append(photo, told)
			m.Fields["photo"] = photo
			continue
		}
		told["file_name"], told["mime_type"] = a.name, a.kind
		m.Fields[a.field] = told
	}
}

func (k *kept) length() int {
	if k.size != 0 {
		return k.size
	}
	return len(k.data)
}

// Discard makes the files of a message unknown.
func (s *Server) Discard(at Where, message int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.chats[at.Chat].find(message)
	for id, k := range s.files {
		if k.message == m {
			delete(s.files, id)
		}
	}
}

// Elsewhere has the server name another path for every file, as one in local mode does.
func (s *Server) Elsewhere(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.files {
		k.path = path
	}
}

func (s *Server) getFile(p params) (any, *refusal) {
	k := s.files[p.str("file_id")]
	switch {
	case k == nil:
		return nil, bad("wrong file_id or the file is temporarily unavailable")
	case len(k.data) > maxDownload:
		return nil, bad("file is too big")
	}
	return map[string]any{"file_id": p.str("file_id"), "file_unique_id": "u", "file_size": k.length(), "file_path": k.path}, nil
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, path string) {
	s.mu.Lock()
	fault := s.faults.Take(Download)
	var found *kept
	for _, k := range s.files {
		if k.path == path {
			found = k
		}
	}
	s.mu.Unlock()
	switch {
	case fault != nil:
		fault.play(s, w, r)
	case found == nil:
		s.write(w, nil, &refusal{Code: 404, Text: "Not Found"})
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(found.data) // a client that went away
	}
}
