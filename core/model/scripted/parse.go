package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"parley/core/model"
)

// Parse reads a script file. Unknown keys are refused.
func Parse(data []byte) (*Model, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var s Script
	if err := d.Decode(&s); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line := bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")) + 1
			return nil, fmt.Errorf("scripted: line %d: %w", line, err)
		}
		return nil, fmt.Errorf("scripted: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("scripted: something follows the script: want one JSON object")
	}
	return New(s)
}

// Func makes a model of a function, for tests. A reply that does not say why it ended gets StopTools if it
// makes calls and StopEnd if not; one without a provider gets this one.
type Func func(model.Request) (model.Response, error)

// Generate calls the function, unless ctx has ended.
func (f Func) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, stopped(err)
	}
	resp, err := f(req)
	if err != nil {
		return model.Response{}, err
	}
	if resp.Provider == "" {
		resp.Provider = Provider
	}
	switch {
	case len(resp.Calls) > 0:
		resp.Stop = model.StopTools
	case resp.Stop == "":
		resp.Stop = model.StopEnd
	}
	return resp, nil
}
