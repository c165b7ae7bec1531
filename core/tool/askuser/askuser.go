// Package askuser is the two tools by which a model asks the person: ask_user, a set of multiple-choice
// questions, and ask, the same with what the model would choose picked beforehand, so that confirming is
// enough. They have no handler: the engine opens an input and its answer is the call's result.
//
// A malformed set parks nobody: Parse lists its problems and the model mends them.
package askuser

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/tool/schema"
)

const questionSchema = `{
  "type": "object",
  "properties": {
    "preamble": {"type": "string", "description": "One sentence shown before the questions."},
    "questions": {
      "type": "array", "minItems": 1, "maxItems": 4,
      "items": {
        "type": "object",
        "properties": {
          "id": {"type": "string", "description": "A short name of the question; q1, q2 ... if left out."},
          "prompt": {"type": "string", "description": "The question as the person reads it."},
          "options": {
            "type": "array", "maxItems": 20,
            "description": "2 to 20 choices that differ clearly. None only if freeText is true.",
            "items": {
              "type": "object",
              "properties": {
                "value": {"type": "string", "description": "Your own name of the choice; the label if left out."},
                "label": {"type": "string", "description": "The choice as the person reads it."}
              },
              "required": ["label"],
              "additionalProperties": false
            }
          },
          "multi": {"type": "boolean", "description": "The person may choose several."},
          "freeText": {"type": "boolean", "description": "The person may answer in their own words."},
          "defaults": {"type": "array", "items": {"type": "string"}, "description": "DEFAULTS"}
        },
        "required": [REQUIRED],
        "additionalProperties": false
      }
    }
  },
  "required": ["questions"],
  "additionalProperties": false
}`

// The schemas of the two tools, which are part of every model request.
var (
	askSchema     = schemaOf(tool.NameAsk)
	askUserSchema = schemaOf(tool.NameAskUser)
)

// schemaOf is the schema of one of the two tools.
func schemaOf(name string) json.RawMessage {
	required, defaults := `"prompt"`, "Values of the options that stand if the person just confirms."
	if name == tool.NameAsk {
		required, defaults = `"prompt", "defaults"`, "Values of the options you would choose yourself: confirming them is enough. Always given; empty for none of these."
	}
	s := strings.NewReplacer("REQUIRED", required, "DEFAULTS", defaults).Replace(questionSchema)
	return json.RawMessage(s)
}

// Specs are the asking tools that an agent offers, as the model sees them.
func Specs(askUser, ask bool) []model.ToolSpec {
	var out []model.ToolSpec
	if ask {
		out = append(out, model.ToolSpec{
			Name: tool.NameAsk, Schema: askSchema,
			Description: "Ask the user 1 to 4 multiple-choice questions with what you would choose picked beforehand in defaults, so that confirming is enough. " +
				"Use it when you could go on with an assumption that the user should see. The turn waits for the answer.",
		})
	}
	if askUser {
		out = append(out, model.ToolSpec{
			Name: tool.NameAskUser, Schema: askUserSchema,
			Description: "Ask the user 1 to 4 multiple-choice questions. Use it when you cannot go on without the user's decision. " +
				"The turn waits for the answer. Never ask for passwords or other secrets.",
		})
	}
	return out
}

// arguments is a call of either tool.
type arguments struct {
	Preamble  string     `json:"preamble"`
	Questions []question `json:"questions"`
}

type question struct {
	ID       string   `json:"id"`
	Prompt   string   `json:"prompt"`
	Options  []option `json:"options"`
	Multi    bool     `json:"multi"`
	FreeText bool     `json:"freeText"`
	Defaults []string `json:"defaults"`
}

type option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// Parse reads a call of ask or ask_user. Where problems are not nil the set must not be asked: they tell
// the model everything that is wrong. fold is the folding that replies get.
func Parse(name string, args json.RawMessage, fold func(string) string) (preamble string, qs []core.Question, problems []string) {
	if name != tool.NameAsk && name != tool.NameAskUser {
		return "", nil, []string{fmt.Sprintf("%q is no asking tool", name)}
	}
	frozen, misfits := schema.Prepare(schemaOf(name), args)
	if frozen == nil {
		return "", nil, misfits
	}
	var a arguments
	if err := json.Unmarshal(frozen, &a); err != nil {
		return "", nil, []string{err.Error()}
	}
	for _, q := range a.Questions {
		c := core.Question{ID: q.ID, Prompt: q.Prompt, Multi: q.Multi, FreeText: q.FreeText, Defaults: q.Defaults}
		for _, o := range q.Options {
			c.Options = append(c.Options, core.Option(o))
		}
		qs = append(qs, c)
	}
	qs = core.FillQuestions(qs)
	if problems := core.CheckQuestions(qs, name == tool.NameAsk, fold); len(problems) > 0 {
		return "", nil, problems
	}
	return strings.TrimSpace(a.Preamble), qs, nil
}
