package parse

import (
	"fmt"
	"testing"

	"parley/core"
)

// BenchmarkRead is one reply against a question of 20 options, on a reader that is kept.
func BenchmarkRead(b *testing.B) {
	q := core.Question{ID: "q", Prompt: "Which?"}
	for i := range 20 {
		l := fmt.Sprintf("Region number %c, in the %dth zone", 'a'+i, i+40)
		q.Options = append(q.Options, core.Option{Value: l, Label: l})
	}
	question := core.Input{Kind: core.KindQuestion, Questions: []core.Question{q}}
	approval := core.Input{Kind: core.KindApproval}
	for _, c := range []struct {
		name, lang, text string
		in               core.Input
	}{
		{"position", "en", "12", question},
		{"label", "en", q.Options[13].Label, question},
		{"ordinal", "en", "the third one, please", question},
		{"typo", "en", "Region number c, in the 42th zona", question},
		{"other", "en", "what is the difference between the two of them?", question},
		{"yes", "en", "Yes, please.", approval},
		{"ok", "en", "sounds good", approval},
		{"sentence", "en", "yes, but only in the staging cluster", approval},
		{"ja", "ja", "はい、お願いします", approval},
		{"ru", "ru", "Да, спасибо.", approval},
		{"zh", "zh", "第二个", question},
	} {
		r := Compile(Prompt{Input: c.in, Lang: c.lang})
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Read(c.text)
			}
		})
	}
}
