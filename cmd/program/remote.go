package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/core"
)

// remote is a running Parley, by its REST API.
type remote struct {
	base, token, from string
	client            *http.Client
}

func newRemote(f deskFlags) (*remote, error) {
	u, err := url.Parse(f.server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, misused(fmt.Errorf("--server %q is no address", f.server), "want one such as http://127.0.0.1:8484")
	}
	if f.token == "" {
		return nil, misused(errors.New("no token was given"), "use --token, or put it into PARLEY_TOKEN")
	}
	// A redirect would carry the token elsewhere.
	client := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &remote{base: strings.TrimRight(f.server, "/"), token: f.token, from: f.as, client: client}, nil
}

func (r *remote) Close() error { return nil }

// do sends a request and decodes its answer into out.
func (r *remote) do(ctx context.Context, method, path string, body, out any) error {
	var b io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		b = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, b)
	if err != nil {
		return failed(err, "")
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return failed(fmt.Errorf("ask the server: %w", err), "is it running, and is --server its api.listen?")
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return failed(fmt.Errorf("read the server's answer: %w", err), "ask again for what became of it")
	}
	if resp.StatusCode >= 300 {
		return refusal(resp, raw)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return failed(fmt.Errorf("read the server's answer: %w", err), "is --server the address of a Parley?")
	}
	return nil
}

// refusal is a problem document as an error.
func refusal(resp *http.Response, raw []byte) error {
	var p struct {
		Title, Detail, State, By, Code string
		At                             time.Time
		Fields                         []core.FieldError
	}
	if json.Unmarshal(raw, &p) != nil || p.Title == "" {
		return failed(fmt.Errorf("the server answers %s", resp.Status), "is --server the address of a Parley?")
	}
	text := p.Title
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if !p.At.IsZero() {
		text += " at " + p.At.Local().Format(time.DateTime)
	}
	for _, f := range p.Fields {
		text += "\n  " + strings.TrimPrefix(f.Field+": ", ": ") + f.Reason
	}
	hint := ""
	switch {
	case p.State == string(core.InputPending):
		hint = lookAgain
	case resp.StatusCode == http.StatusUnauthorized:
		hint = "use a token of api.tokens"
	case p.Code == string(core.AnswerFromRequired):
		hint = "the token does not speak for exactly one person: say who you are with --as, which it must speak for"
	case resp.StatusCode == http.StatusNotFound && strings.HasSuffix(resp.Request.URL.Path, "/inputs"):
		hint = "the agents that a token sees are in its configuration"
	case resp.StatusCode == http.StatusNotFound:
		hint = "parley inbox lists what waits"
	}
	return failed(errors.New(text), hint)
}

func (r *remote) list(ctx context.Context, agent string) (out []waiting, err error) {
	path := "/v1/inputs"
	if agent != "" {
		path = "/v1/agents/" + url.PathEscape(agent) + "/inputs"
	}
	for cursor := ""; ; {
		var page struct {
			Inputs []waiting
			Next   string
		}
		if err := r.do(ctx, http.MethodGet, path+"?limit=200&cursor="+url.QueryEscape(cursor), nil, &page); err != nil {
			return nil, err
		}
		for _, in := range page.Inputs {
			if r.from == "" || slices.Contains(in.Responders.Audience, r.from) {
				out = append(out, in)
			}
		}
		if cursor = page.Next; cursor == "" {
			return out, nil
		}
	}
}

func (r *remote) find(ctx context.Context, id string) (in waiting, err error) {
	return in, r.do(ctx, http.MethodGet, "/v1/inputs/"+url.PathEscape(id), nil, &in)
}

func (r *remote) answer(ctx context.Context, in waiting, hash string, s core.Submission) (waiting, bool, error) {
	body := map[string]any{"action": s.Action}
	if s.Content != nil {
		body["content"] = s.Content
	}
	if s.Reason != "" {
		body["reason"] = s.Reason
	}
	if hash != "" {
		body["hash"] = hash
	}
	if r.from != "" {
		body["from"] = r.from
	}
	var out struct {
		Input   waiting
		Request *struct{}
	}
	path := "/v1/agents/" + url.PathEscape(in.Agent) + "/inputs/" + url.PathEscape(in.ID)
	err := r.do(ctx, http.MethodPost, path, body, &out)
	return out.Input, out.Request != nil, err
}
