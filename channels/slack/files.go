package slack

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	slackapi "github.com/slack-go/slack"

	"parley/channels"
	"parley/core"
)

var _ channels.FileReader = (*Adapter)(nil)

// validFile is the form of a file's id: what a core.File is found by again.
var validFile = regexp.MustCompile(`^F[A-Z0-9]{1,63}$`)

// ReadFile asks where a file is, and fetches it from there with the bot token. It needs the scope files:read.
func (a *Adapter) ReadFile(ctx context.Context, _ core.Message, f core.File) ([]byte, error) {
	if !validFile.MatchString(f.Ref) {
		return nil, fmt.Errorf("slack: no file: %w", channels.ErrNotOpen)
	}
	ctx, cancel := context.WithTimeout(ctx, channels.FileTimeout)
	defer cancel()
	info, err := a.api.fileInfo(ctx, f.Ref)
	if err != nil {
		return nil, fileError(err)
	}
	switch {
	case info.Size > channels.MaxFile:
		return nil, fmt.Errorf("slack file %s: %w", f.Ref, channels.ErrFileTooBig)
	case info.Mode == "tombstone" || info.Mode == "hidden_by_limit":
		return nil, fmt.Errorf("slack file %s: %w", f.Ref, channels.ErrFileGone)
	case info.IsExternal:
		return nil, fmt.Errorf("slack file %s is kept outside Slack: %w", f.Ref, channels.ErrNotOpen)
	}
	at := info.URLPrivateDownload
	if at == "" {
		at = info.URLPrivate
	}
	if !a.api.serves(at) {
		return nil, fmt.Errorf("slack file %s is at an address that is not Slack's: %w", f.Ref, channels.ErrNotOpen)
	}
	return channels.Download{
		What: "slack file " + f.Ref, URL: at, Client: a.api.http, Redact: a.api.redact, Refuse: notAPage(info.Mimetype),
		Header: http.Header{"Authorization": {"Bearer " + a.api.secrets().bot}},
	}.Read(ctx)
}

// notAPage refuses the page by which Slack asks whoever has no right to a file to sign in.
func notAPage(want string) func(*http.Response) error {
	return func(r *http.Response) error {
		got, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if got == "text/html" && want != got {
			return fmt.Errorf("a page came instead: %s: %w", scopeHint("files:read", botSide), channels.ErrFileGone)
		}
		return nil
	}
}

// fileError says what a failure to find a file means.
func fileError(err error) error {
	var e *callError
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case "file_not_found", "file_deleted", "access_denied":
		return fmt.Errorf("%w: %w", e, channels.ErrFileGone)
	case "missing_scope":
		return fmt.Errorf("%w: %s: %w", e, scopeHint("files:read", botSide), channels.ErrFileGone)
	}
	return e
}

// serves reports whether the token may go to an address: https at Slack's own, or where the Web API is.
func (c *client) serves(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	if api, err := url.Parse(c.base); err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, ours := range []string{"slack.com", "slack-gov.com"} {
		if u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") && (host == ours || strings.HasSuffix(host, "."+ours)) {
			return true
		}
	}
	return false
}

func (c *client) fileInfo(ctx context.Context, id string) (info *slackapi.File, err error) {
	err = c.do(ctx, callTimeout, "files.info", func(ctx context.Context) (err error) {
		info, _, _, err = c.api.GetFileInfoContext(ctx, id, 0, 0)
		return err
	})
	return info, err
}
