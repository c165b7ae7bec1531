package mcp

import (
	"context"
	"sync"
	"time"
)

// memory is a store of small values.
type memory struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (m *memory) Recall(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.kept[key]
	return v, ok, nil
}

func (m *memory) Remember(_ context.Context, key string, value []byte, _ time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string][]byte{}
	}
	m.kept[key] = value
	return nil
}
