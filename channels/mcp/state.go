package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core"
)

// Memory keeps what must outlive the process.
type Memory interface {
	Recall(ctx context.Context, key string) (value []byte, ok bool, err error)
	Remember(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// LoadKey returns the Key that a store keeps, and keeps fresh where it has none, so that what clients were
// handed counts across restarts.
func LoadKey(ctx context.Context, m Memory, fresh []byte) ([]byte, error) {
	const name, keep = "mcp/key", 20 * 365 * 24 * time.Hour
	key, ok, err := m.Recall(ctx, name)
	if err == nil && (!ok || len(key) < 32) {
		key = fresh
		err = m.Remember(ctx, name, key, keep)
	}
	if err != nil {
		return nil, fmt.Errorf("load the key of the MCP endpoint: %w", err)
	}
	return key, nil
}

// held is what a client hands back to go on with a call: the run, and what it was asked.
type held struct {
	Token  string        `json:"t"`
	Person core.PersonID `json:"p"`
	Agent  core.AgentID  `json:"a"`
	// Message is a digest of the arguments that the call was made with.
	Message string     `json:"m"`
	Run     core.RunID `json:"r"`
	Until   int64      `json:"u"` // seconds since 1970
	Asks    []ask      `json:"i"`
}

// ask is an input as it was put to a client.
type ask struct {
	Input core.InputID `json:"i"`
	// Hash is that of the call as it was shown.
	Hash string `json:"h,omitempty"`
	// Tries counts how often what came did not fit; Reason says why the last time.
	Tries  int    `json:"n,omitempty"`
	Reason string `json:"w,omitempty"`
	// Opened says that the person opened the web page of the step.
	Opened bool `json:"o,omitempty"`
}

// errState refuses whatever cannot be gone on with; it tells nothing of why to who made it up.
var errState = errors.New("this requestState does not belong to this call, or its time is over: nothing was changed")

// stateLabel keeps signatures of this purpose apart from any other of the same key.
const stateLabel = "parley mcp requestState 1\n"

func (e *Endpoint) mac(payload string) []byte {
	h := hmac.New(sha256.New, e.c.Key)
	h.Write([]byte(stateLabel + payload))
	return h.Sum(nil)
}

// seal writes and signs what is held.
func (e *Endpoint) seal(s held) (string, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write the requestState of run %s: %w", s.Run, err)
	}
	payload := base64.RawURLEncoding.EncodeToString(raw)
	return payload + "." + base64.RawURLEncoding.EncodeToString(e.mac(payload)), nil
}

// unseal reads what was sealed for the same visitor and message. No error says more than errState.
func (e *Endpoint) unseal(state string, v visitor, message string) (held, error) {
	payload, mac, ok := strings.Cut(state, ".")
	given, err := base64.RawURLEncoding.Strict().DecodeString(mac)
	if !ok || err != nil || !hmac.Equal(given, e.mac(payload)) {
		return held{}, errState
	}
	var s held
	raw, err := base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return held{}, errState
	}
	mine := s.Token == v.client.Name && s.Person == v.client.person() && s.Agent == v.agent && s.Message == message
	if !mine || e.c.Now().Unix() >= s.Until {
		return held{}, errState
	}
	return s, nil
}
