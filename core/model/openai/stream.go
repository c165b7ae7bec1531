package openai

import (
	"context"
	"io"
	"mime"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"parley/core/model"
	"parley/core/model/wire"
)

// Stream is Generate that tells the text so far.
func (c *Client) Stream(ctx context.Context, req model.Request, text func(soFar string)) (model.Response, error) {
	return c.reply(req, func(params openai.ChatCompletionNewParams) ([]byte, *failure) {
		if !c.noUsage.Load() {
			params.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		body, failed := c.stream(ctx, params, text)
		if failed != nil && failed.noStreamOptions && !c.noUsage.Swap(true) {
			params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
			body, failed = c.stream(ctx, params, text)
		}
		return body, failed
	})
}

// stream makes one request whose answer comes in pieces, and returns it as the body of one that does not.
func (c *Client) stream(ctx context.Context, params openai.ChatCompletionNewParams, text func(soFar string)) ([]byte, *failure) {
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var resp *http.Response
	_, err := c.service.New(within, params, option.WithResponseBodyInto(&resp), option.WithJSONSet("stream", true))
	if resp != nil && resp.Body != nil {
		defer resp.Body.Close()
	}
	if failed := c.failed(ctx, resp, err); failed != nil {
		return nil, failed
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		body, err := io.ReadAll(resp.Body) // of a server that does not stream
		if err != nil {
			return nil, c.broken(ctx, err)
		}
		return body, c.check(body, resp.Header)
	}
	return c.assemble(ctx, ssestream.NewDecoder(resp), text)
}

// broken is the failure of an exchange that broke off.
func (c *Client) broken(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return &failure{err: wire.Stopped(ctx.Err())}
	}
	return &failure{err: c.far.Transport(err)}
}

// assemble puts a stream together. Its end marker is the reason why the reply ended, or the word that the
// stream has ended: what comes after the reason, the usage, may be missing.
func (c *Client) assemble(ctx context.Context, events ssestream.Decoder, text func(soFar string)) ([]byte, *failure) {
	var a assembly
	for !a.done && events.Next() {
		e := events.Event()
		before := a.text()
		if err := a.add(e.Type, e.Data); err != nil {
			return nil, &failure{err: c.far.Unreadable(err.Error())}
		}
		if a.said != nil {
			return nil, c.refused(a.said.Status(), *a.said, nil)
		}
		if now := a.text(); now != before {
			text(now)
		}
	}
	switch err := events.Err(); {
	case a.done, a.finish != "":
		return a.body()
	case ctx.Err() != nil, err != nil:
		return nil, c.broken(ctx, err)
	}
	return nil, &failure{err: c.far.Cut()}
}
