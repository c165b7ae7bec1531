package model

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// telling streams the given texts, one list a try, and fails all tries but the last.
type telling struct {
	tries [][]string
	asked int
}

func (m *telling) Generate(context.Context, Request) (Response, error) {
	return Response{}, errors.New("not asked for a stream")
}

func (m *telling) Stream(_ context.Context, _ Request, text func(string)) (Response, error) {
	try := m.tries[m.asked]
	m.asked++
	for _, s := range try {
		text(s)
	}
	if m.asked < len(m.tries) {
		return Response{}, busy(0)
	}
	return Response{Text: try[len(try)-1], Stop: StopEnd}, nil
}

func TestRetryTakesBackWhatWasShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tries [][]string
		told  string
	}{
		{[][]string{{"a", "ab"}}, "a|ab"},
		{[][]string{{"a", "ab"}, {"x", "xy"}}, "a|ab||x|xy"},
		{[][]string{{}, {"x"}}, "x"}, // nothing was shown, nothing is taken back
		{[][]string{{"a"}, {}, {"b"}}, "a||b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			r := &Retry{Model: &telling{tries: tt.tries}}
			resp, err := r.Stream(t.Context(), Request{}, func(s string) { told = append(told, s) })
			if got := strings.Join(told, "|"); err != nil || got != tt.told || resp.Text != told[len(told)-1] {
				t.Errorf("told %s, want %s (%v)", got, tt.told, err)
			}
		})
	}
}

func TestRetryOfAStreamThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		r := &Retry{Model: &telling{tries: [][]string{{"a"}, {"b"}, {"c"}}}, Tries: 2}
		_, err := r.Stream(t.Context(), Request{}, func(s string) { told = append(told, s) })
		if got := strings.Join(told, "|"); err == nil || got != "a||b|" {
			t.Errorf("told %s (%v)", got, err)
		}
	})
}

func TestStreamOfAModelThatCannot(t *testing.T) {
	t.Parallel()
	var told []string
	tell := func(s string) { told = append(told, s) }
	resp, err := Stream(t.Context(), &failing{}, Request{}, tell)
	if err != nil || resp.Text != "ok" || strings.Join(told, "|") != "ok" {
		t.Errorf("%+v, told %q (%v)", resp, told, err)
	}
	told = nil
	if _, err := Stream(t.Context(), &failing{errs: []error{busy(time.Second)}}, Request{}, tell); err == nil || told != nil {
		t.Errorf("told %q (%v)", told, err)
	}
}
