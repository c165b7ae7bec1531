package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/outbound"
	"parley/core/tool/schema"
)

// call sends the request of one operation once. verdict is what the policy says today: a call that needs
// approval and carries none does not go out, whatever was decided about it before.
func (s *Source) call(ctx *tool.Context, o *operation, verdict tool.Verdict, arguments json.RawMessage) (string, error) {
	return s.told(s.send(ctx, o, verdict, arguments))
}

func (s *Source) send(ctx *tool.Context, o *operation, verdict tool.Verdict, arguments json.RawMessage) (string, error) {
	if verdict.Need && ctx.Identity().Approval == nil {
		return "", fmt.Errorf("%s was not called: it needs approval by now (%s): call it again", o.name, verdict.Rule)
	}
	if _, problems := schema.Prepare(o.schema(), arguments); len(problems) > 0 {
		return "", fmt.Errorf("%s was not called, its arguments do not fit: %s", o.name, strings.Join(problems, "; "))
	}
	r, err := s.request(ctx, o, arguments)
	if err != nil {
		return "", fmt.Errorf("%s was not called: %w", o.name, err)
	}
	if err := identify(r.Header, ctx.IdempotencyKey(), ctx.Identity()); err != nil {
		return "", fmt.Errorf("%s was not called: %w", o.name, err)
	}
	client := *s.client
	client.CheckRedirect = redirects(o, s.client.CheckRedirect)
	client.Jar = nil
	resp, err := client.Do(r)
	if err != nil {
		return "", failure(o, err)
	}
	defer func() { _ = resp.Body.Close() }()
	return answer(o, resp)
}

// redirects follows those of reads within one origin; any other is the answer.
func redirects(o *operation, also func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	const most = 5
	return func(r *http.Request, via []*http.Request) error {
		if !o.read() || !outbound.SameOrigin(via[0], r) || len(via) > most {
			return http.ErrUseLastResponse
		}
		if also != nil {
			return also(r, via)
		}
		return nil
	}
}

// failure says whether a request that got no answer was sent.
func failure(o *operation, err error) error {
	var refused *outbound.RefusedError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("%s was not called: %s", o.name, refused) // trying again would change nothing
	case outbound.NotStarted(err):
		return fmt.Errorf("%s was not called: %w: %w", o.name, tool.ErrNotStarted, err)
	case o.idempotent:
		return fmt.Errorf("%s got no answer, it is safe to call it again: %w: %w", o.name, tool.ErrUnknownOutcome, err)
	default:
		return fmt.Errorf("%s got no answer: %w: %w", o.name, tool.ErrUnknownOutcome, err)
	}
}

// answer is the result of a call, or the error that the API answered with.
func answer(o *operation, resp *http.Response) (string, error) {
	b, err := io.ReadAll(io.LimitReader(resp.Body, core.MaxResult+1))
	text := body2text(resp, b)
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case err != nil && ok && o.idempotent:
		return "", failure(o, err)
	case err != nil:
		text = strings.TrimSpace(text + "\n(The answer broke off here: " + err.Error() + ")")
	}
	if ok && text != "" {
		return text, nil
	}
	head := "HTTP " + resp.Status
	for _, name := range []string{"Location", "Retry-After"} {
		if v := resp.Header.Get(name); v != "" {
			head += "\n" + name + ": " + v
		}
	}
	if ok {
		return head, nil
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		head += "\n(Redirects like this one are not followed.)"
	}
	return "", errors.New(strings.TrimSpace(o.call() + " answered " + head + "\n" + text))
}

// body2text is a body as a model can read it.
func body2text(resp *http.Response, b []byte) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	binary := strings.HasPrefix(media, "image/") || strings.HasPrefix(media, "audio/") || strings.HasPrefix(media, "video/") ||
		media == "application/octet-stream" || media == "application/pdf" || media == "application/zip" || media == "application/gzip"
	whole := len(b) <= core.MaxResult
	if len(b) > 0 && (binary || whole && !utf8.Valid(b)) {
		size := fmt.Sprintf("%d bytes", len(b))
		if !whole {
			size = fmt.Sprintf("more than %d bytes", core.MaxResult)
		}
		return fmt.Sprintf("(%s of %s: not shown)", size, media)
	}
	if !whole {
		return strings.ToValidUTF8(string(b[:core.MaxResult]), "") + fmt.Sprintf("\n(cut here: the answer is longer than %d bytes)", core.MaxResult)
	}
	return strings.TrimSpace(string(b))
}

// valid reports whether arguments fit an operation.
func (s *Source) valid(o *operation, arguments json.RawMessage) bool {
	_, problems := schema.Prepare(o.schema(), arguments)
	return len(problems) == 0
}

// judge is the verdict about an operation that is called through call_operation: its own, or that of a rule
// which demands approval of all such calls. The rule names the request, so that the person sees it.
func (s *Source) judge(o *operation) tool.Verdict {
	v := tool.Judge(s.approval, traits(o))
	if _, own := s.approval.Tools[o.name]; !own && !v.Need && s.approval.Tools[nameCall] == tool.Always {
		v = tool.Verdict{Need: true, Rule: "tools." + nameCall + ": " + tool.Always}
	}
	if v.Need {
		v.Rule += " (" + o.call() + ")"
	}
	return v
}

// plainly takes an unknown outcome off the call of a read: calling it again does no harm.
func plainly(o *operation, err error) error {
	if err != nil && o.idempotent && errors.Is(err, tool.ErrUnknownOutcome) {
		return errors.New(err.Error())
	}
	return err
}
