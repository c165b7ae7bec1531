package openai

import "github.com/openai/openai-go/v3"

// GeminiBaseURL is where Google's models speak Chat Completions.
const GeminiBaseURL = "https://generativelanguage.googleapis.com/v1beta/openai"

// NewGemini returns a client for Google's models. They sign their thoughts within each step's first call,
// and refuse a call of their own without its signature; that goes back with the message as it came. A call
// that they did not make, of another model or of the bot's own, goes with the word that says so.
func NewGemini(cfg Config) (*Client, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = GeminiBaseURL
	}
	c, err := New(cfg)
	if err != nil {
		return nil, err
	}
	c.signs = true
	return c, nil
}

// unsigned is what Google's models take in the place of a signature.
const unsigned = "skip_thought_signature_validator"

// sign marks the first of a step's calls as one that the model did not make.
func sign(call *openai.ChatCompletionMessageFunctionToolCallParam) {
	call.SetExtraFields(map[string]any{
		"extra_content": map[string]any{"google": map[string]any{"thought_signature": unsigned}},
	})
}
