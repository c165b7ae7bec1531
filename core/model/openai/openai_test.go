package openai

import (
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
)

func open(t *testing.T, s *modeltest.Server) model.Model {
	t.Helper()
	c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Chat, open)
}

func TestConformanceOfGemini(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Gemini, func(t *testing.T, s *modeltest.Server) model.Model {
		c, err := NewGemini(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL, Images: true})
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
