package wire

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

	KeyRefused  = "The model's service refused this bot's key." + tellOperator
	NotAllowed  = "The model's service does not allow this bot to use the model." + tellOperator
	NoCredit    = "This bot's account with the model's service has no credit left." + tellOperator
	Unknown     = "The model's service does not know the model that this bot asks for, or is not at the address it has." + tellOperator
	NotTaken    = "The model's service did not accept the request." + tellOperator
	TooLong     = "This conversation, or what a tool returned, has become too long for the model. Please start a new conversation."
	Limited     = "The model's service gets too many requests just now." + tryLater
	Broken      = "The model's service has a problem of its own." + tryLater
	Unreachable = "The model's service cannot be reached." + tryLater
	Late        = "The model did not answer in time." + tryLater
	Insecure    = "The connection to the model's service is not secure, so it was not used." + tellOperator
	Unreadable  = "The model's service sent an answer that cannot be read." + tryLater
	NotAModel   = "What answers at the address of the model's service is not a model." + tellOperator
	TooLarge    = "The model's service sent an answer that is far too long." + tellOperator
)

// Refused is the error for what a server said with a status of 400 or more, or in an answer of 200.
func (f Far) Refused(status int, s Said, h http.Header) *model.Error {
	what := "status " + strconv.Itoa(status)
	if words := s.words(f.Secrets); words != "" {
		what += " (" + words + ")"
	}
	if f.Log != nil {
		f.Log.Debug("the model's service refused a request", "host", f.Host, "status", status, "said", f.Scrub(cut(s.message, 500)))
	}
	sentence, retry := judge(status, s)
	var after time.Duration
	if retry {
		if after = RetryAfter(h); after == 0 {
			after = s.wait
		}
	}
	return f.Fail(what, sentence, retry, after)
}

// judge says what a refusal means to the person and whether another try may help.
func judge(status int, s Said) (sentence string, retry bool) {
	switch {
	case s.outOfCredit() || status == http.StatusPaymentRequired:
		return NoCredit, false
	case status >= 500:
		return Broken, true
	case status == http.StatusTooManyRequests:
		return Limited, true
	case status == http.StatusRequestTimeout:
		return Late, true
	case status == http.StatusConflict:
		return Broken, true
	case status == http.StatusUnauthorized, s.badKey():
		return KeyRefused, false
	case status == http.StatusForbidden:
		return NotAllowed, false
	case status == http.StatusNotFound:
		return Unknown, false
	case status == http.StatusRequestEntityTooLarge, s.tooLong():
		return TooLong, false
	}
	return NotTaken, false
}

// maxAfter keeps an absurd wait from overflowing.
const maxAfter = 24 * time.Hour

// RetryAfter reads how long the server asks to wait; 0 if it does not say. A date is held against the
// server's own clock.
func RetryAfter(h http.Header) time.Duration {
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

// Transport is the error for a request that got no whole answer.
func (f Far) Transport(err error) *model.Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the address, which may hold a password
	}
	var network net.Error
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, errTooLarge):
		return f.Fail(errTooLarge.Error(), TooLarge, false, 0)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return f.Fail("no answer in time", Late, true, 0)
	case untrusted(err):
		return f.Fail(fmt.Sprintf("TLS: %v", err), Insecure, false, 0)
	case errors.As(err, &dns):
		return f.Fail("the host is not known", Unreachable, true, 0)
	case errors.Is(err, syscall.ECONNREFUSED):
		return f.Fail("connection refused", Unreachable, true, 0)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return f.Fail("the connection broke before the answer was complete", Unreachable, true, 0)
	case errors.As(err, &op):
		return f.Fail(op.Error(), Unreachable, true, 0)
	}
	// The text of other errors may quote what was received.
	return f.Fail(fmt.Sprintf("the exchange failed (%T)", err), Unreachable, true, 0)
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
