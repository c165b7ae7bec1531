package discordtest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Download is the name under which Fail takes faults of the address that files are fetched from.
const Download = "download"

// linkLife is how long the address of a file is good.
const linkLife = 24 * time.Hour

// attached is a file of a person's message; size is told instead of its own where it is not 0, at instead of
// its address where it is not "".
type attached struct {
	id         ID
	name, kind string
	data       []byte
	size       int
	at         string
}

// Attach attaches a file to a message; kind is its type.
func Attach(name, kind string, data []byte) Said { return Claim(name, kind, data, 0, "") }

// Claim is Attach of a file of which something else is told: its size, where that is not 0, and its address,
// where that is not "".
func Claim(name, kind string, data []byte, size int, at string) Said {
	return func(m *Message) {
		m.attached = append(m.attached, &attached{name: name, kind: kind, data: data, size: size, at: at})
	}
}

// Discard takes the files off a message.
func (s *Server) Discard(at, message ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[at].find(message).attached = nil
}

// attachments are a message's files as Discord tells them. Their addresses are good for a day from now.
func (s *Server) attachments(c *channel, m *Message) []any {
	out := []any{}
	ends := strconv.FormatInt(s.cfg.Now().Add(linkLife).Unix(), 16)
	for _, a := range m.attached {
		at, size := a.at, a.size
		if at == "" {
			at = strings.TrimSuffix(s.URL, "/api/v9") + "/attachments/" + c.id.String() + "/" + a.id.String() + "/" + a.name + "?ex=" + ends + "&hm=attachment-secret-"
		}
		if size == 0 {
			size = len(a.data)
		}
		out = append(out, map[string]any{"id": a.id, "filename": a.name, "content_type": a.kind, "size": size, "url": at, "proxy_url": at})
	}
	return out
}

// serveFile answers whoever has an address that is still good; it wants no token, and refuses one.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.faults.Take(Download)
	ends, err := strconv.ParseInt(r.URL.Query().Get("ex"), 16, 64)
	good := err == nil && s.cfg.Now().Unix() < ends && r.URL.Query().Get("hm") == "attachment-secret-"
	if r.Header.Get("Authorization") != "" {
		_ = s.complain("the bot token went to where files are") // it stands in Complaints
	}
	found := s.attached(r.URL.Path)
	s.mu.Unlock()
	switch {
	case fault != nil:
		fault.play(s, w, r)
	case !good || found == nil:
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", found.kind)
		_, _ = w.Write(found.data) // a client that went away
	}
}

func (s *Server) attached(path string) *attached {
	for _, c := range s.channels {
		for _, m := range c.messages {
			for _, a := range m.attached {
				if strings.HasPrefix(path, "/attachments/"+c.id.String()+"/"+a.id.String()+"/") {
					return a
				}
			}
		}
	}
	return nil
}
