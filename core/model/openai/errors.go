package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parley/core/model"
)

// The sentences for the person in the chat.
const (
	tellOperator = " Please tell whoever runs this bot."
	tryLater     = " Please try again in a while."

	keyRefused  = "The model's service refused this bot's key." + tellOperator
	notAllowed  = "The model's service does not allow this bot to use the model." + tellOperator
	noCredit    = "This bot's account with the model's service has no credit left." + tellOperator
	unknown     = "The model's service does not know the model that this bot asks for, or is not at the address it has." + tellOperator
	notTaken    = "The model's service did not accept the request." + tellOperator
	tooLong     = "This conversation, or what a tool returned, has become too long for the model. Please start a new conversation."
	limited     = "The model's service gets too many requests just now." + tryLater
	broken      = "The model's service has a problem of its own." + tryLater
	unreachable = "The model's service cannot be reached." + tryLater
	late        = "The model did not answer in time." + tryLater
	insecure    = "The connection to the model's service is not secure, so it was not used." + tellOperator
	unreadable  = "The model's service sent an answer that cannot be read." + tryLater
	notAModel   = "What answers at the address of the model's service is not a model." + tellOperator
	tooLarge    = "The model's service sent an answer that is far too long." + tellOperator
)

// fail is an error of this client. what is for the log and follows "HOST: ".
func (c *Client) fail(what, sentence string, retry bool, after time.Duration) *model.Error {
	return &model.Error{Sentence: sentence, Retry: retry, After: after, Err: errors.New(c.scrub("openai: " + c.host + ": " + what))}
}

// scrub takes secrets out of a text.
func (c *Client) scrub(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return s
}

// refused is the error for what a server said with a status of 400 or more, or in an answer of 200.
func (c *Client) refused(status int, s said, h http.Header) *failure {
	what := "status " + strconv.Itoa(status)
	if words := s.words(); words != "" {
		what += " (" + words + ")"
	}
	if c.log != nil {
		c.log.Debug("the model's service refused a request", "host", c.host, "status", status, "said", c.scrub(cut(s.message, 500)))
	}
	sentence, retry := judge(status, s)
	var after time.Duration
	if retry {
		after = retryAfter(h)
	}
	return &failure{err: c.fail(what, sentence, retry, after), otherTokenLimit: s.otherTokenLimit(status)}
}

// judge says what a refusal means to the person and whether another try may help.
func judge(status int, s said) (sentence string, retry bool) {
	switch {
	case s.outOfCredit() || status == http.StatusPaymentRequired:
		return noCredit, false
	case status >= 500:
		return broken, true
	case status == http.StatusTooManyRequests:
		return limited, true
	case status == http.StatusRequestTimeout:
		return late, true
	case status == http.StatusConflict:
		return broken, true
	case status == http.StatusUnauthorized, s.badKey():
		return keyRefused, false
	case status == http.StatusForbidden:
		return notAllowed, false
	case status == http.StatusNotFound:
		return unknown, false
	case status == http.StatusRequestEntityTooLarge, s.tooLong():
		return tooLong, false
	}
	return notTaken, false
}

// maxAfter keeps an absurd wait from overflowing.
const maxAfter = 24 * time.Hour

// retryAfter reads how long the server asks to wait; 0 if it does not say. A date is held against the
// server's own clock.
func retryAfter(h http.Header) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	v := h.Get("Retry-After")
	if d, ok := number(v, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxAfter)
}

func number(s string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if (err != nil && !errors.Is(err, strconv.ErrRange)) || math.IsNaN(f) {
		return 0, false
	}
	return time.Duration(min(max(f, 0), float64(maxAfter/unit)) * float64(unit)), true
}

// transport is the error for a request that got no whole answer.
func (c *Client) transport(err error) *model.Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the address, which may hold a password
	}
	var network net.Error
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, errTooLarge):
		return c.fail(errTooLarge.Error(), tooLarge, false, 0)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return c.fail("no answer in time", late, true, 0)
	case untrusted(err):
		return c.fail(fmt.Sprintf("TLS: %v", err), insecure, false, 0)
	case errors.As(err, &dns):
		return c.fail("the host is not known", unreachable, true, 0)
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.fail("connection refused", unreachable, true, 0)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return c.fail("the connection broke before the answer was complete", unreachable, true, 0)
	case errors.As(err, &op):
		return c.fail(op.Error(), unreachable, true, 0)
	}
	// The text of other errors may quote what was received.
	return c.fail(fmt.Sprintf("the exchange failed (%T)", err), unreachable, true, 0)
}

// untrusted reports whether a connection failed because its other end did not prove who it is.
func untrusted(err error) bool {
	var record tls.RecordHeaderError
	var check *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) || errors.As(err, &check) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
