package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// definitions keep what was put, in the store. One key lists the ids, and each id has a key of its own: an id
// is listed before its definition is written, so that a crash in between leaves an id without one, which is none.
type definitions struct{ memory memory }

// memory is what definitions need of the store.
type memory interface {
	Recall(ctx context.Context, key string) (value []byte, ok bool, err error)
	Remember(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

const (
	definitionList = "agents"
	definitionKey  = "agent/"
	keepDefinition = 100 * 365 * 24 * time.Hour
)

// all are the definitions by id.
func (d definitions) all(ctx context.Context) (map[string][]byte, error) {
	ids, err := d.ids(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, id := range ids {
		raw, ok, err := d.memory.Recall(ctx, definitionKey+id)
		if err != nil {
			return nil, fmt.Errorf("read the definition of agent %s: %w", id, err)
		}
		if ok {
			out[id] = raw
		}
	}
	return out, nil
}

func (d definitions) ids(ctx context.Context) (ids []string, err error) {
	raw, ok, err := d.memory.Recall(ctx, definitionList)
	if err == nil && ok {
		err = json.Unmarshal(raw, &ids)
	}
	if err != nil {
		return nil, fmt.Errorf("list the agents that were put: %w", err)
	}
	return ids, nil
}

// put keeps a definition, and returns once that is durable. The caller puts one at a time.
func (d definitions) put(ctx context.Context, id string, raw []byte) error {
	ids, err := d.ids(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(ids, id) {
		list, err := json.Marshal(append(ids, id))
		if err = errors.Join(err, d.memory.Remember(ctx, definitionList, list, keepDefinition)); err != nil {
			return fmt.Errorf("list agent %s: %w", id, err)
		}
	}
	if err := d.memory.Remember(ctx, definitionKey+id, raw, keepDefinition); err != nil {
		return fmt.Errorf("keep the definition of agent %s: %w", id, err)
	}
	return nil
}
