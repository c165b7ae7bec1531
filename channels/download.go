package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Download is one file that a platform serves by HTTP.
type Download struct {
	// What is asked for, in words, for errors: an address may hold a secret.
	What   string
	URL    string
	Header http.Header
	// Client makes the request and follows no redirect, as HTTPClient makes it.
	Client *http.Client
	// Redact takes secrets out of what an error says.
	Redact func(string) string
	// Refuse, if set, says why an answer is not the file. It sees the headers alone.
	Refuse func(*http.Response) error
}

// Read makes the request and returns what the file holds, at most MaxFile bytes. No error of it holds an
// address.
func (d Download) Read(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return nil, d.failed(ctx, errors.New("the platform named no valid address"))
	}
	for name, values := range d.Header {
		req.Header[name] = values
	}
	resp, err := d.Client.Do(req)
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	defer resp.Body.Close()
	data, err := d.take(resp)
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	return data, nil
}

func (d Download) take(resp *http.Response) ([]byte, error) {
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone || code == http.StatusForbidden || code == http.StatusUnauthorized:
		return nil, fmt.Errorf("%d %s: %w", code, http.StatusText(code), ErrFileGone)
	case code >= 300 && code < 400:
		return nil, fmt.Errorf("%d, a redirect, which is not followed: %w", code, ErrFileGone)
	case code != http.StatusOK:
		return nil, fmt.Errorf("%d %s", code, http.StatusText(code))
	}
	if d.Refuse != nil {
		if err := d.Refuse(resp); err != nil {
			return nil, err
		}
	}
	if resp.ContentLength > MaxFile {
		return nil, ErrFileTooBig
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > MaxFile:
		return nil, ErrFileTooBig
	}
	return data, nil
}

// failed is an error with its cause kept where that is one of ours or the end of the context.
func (d Download) failed(ctx context.Context, err error) error {
	for _, known := range []error{ErrNotOpen, ErrFileGone, ErrFileTooBig} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", d.What, err)
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: no answer in time: %w", d.What, ctx.Err())
	}
	var address *url.Error
	for errors.As(err, &address) {
		err = address.Err
	}
	text := err.Error()
	if d.Redact != nil {
		text = d.Redact(text)
	}
	return fmt.Errorf("%s: %s", d.What, text)
}
