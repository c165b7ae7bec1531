package tool_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/tool"
)

// late is a source that has its tools after a while, or never.
type late struct {
	tool.Source
	prefix string
	there  chan struct{}
	waited int
}

func (l *late) Lookup(name string) (tool.Tool, bool) {
	select {
	case <-l.there:
		return l.Source.Lookup(name)
	default:
		return nil, false
	}
}

func (l *late) Await(ctx context.Context, name string) (tool.Tool, bool) {
	if !strings.HasPrefix(name, l.prefix) {
		return nil, false
	}
	l.waited++
	select {
	case <-ctx.Done():
	case <-l.there:
	}
	return l.Lookup(name)
}

func TestSetAwaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, err := tool.NewRegistry(labelled("near"))
		if err != nil {
			t.Fatal(err)
		}
		far, err := tool.NewRegistry(labelled("far"))
		if err != nil {
			t.Fatal(err)
		}
		slow := &late{Source: far, prefix: "s__far", there: make(chan struct{})}
		s := tool.Set{near, slow}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, ok := s.Await(ctx, "s__near"); !ok {
			t.Error("a tool that is there is not found")
		}
		if _, ok := s.Await(ctx, "s__nobody"); ok || slow.waited != 0 {
			t.Error("a tool of nobody is waited for")
		}
		began := time.Now()
		if _, ok := s.Await(ctx, "s__far"); ok || time.Since(began) != time.Minute {
			t.Errorf("found %v after %v", ok, time.Since(began))
		}
		time.AfterFunc(time.Second, func() { close(slow.there) })
		began = time.Now()
		if _, ok := s.Await(t.Context(), "s__far"); !ok || time.Since(began) != time.Second {
			t.Errorf("found %v after %v", ok, time.Since(began))
		}
		if _, ok := s.Await(t.Context(), "s__far2"); ok {
			t.Error("a tool is found that its source does not have")
		}
	})
}
