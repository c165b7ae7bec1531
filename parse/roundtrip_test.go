package parse_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/core"
	"parley/core/coretest"
	"parley/core/words"
	"parley/parse"
	"parley/render"
)

// shown is a prompt as it was shown, with the readers of what is typed below it.
type shown struct {
	v    render.View
	in   core.Input
	text string
	read func(string) []core.Reading
}

// TestPromptsAreReadAsTheySay shows every fixture in every language, as three dialects do and with others who read
// along, and reads whatever it offers.
func TestPromptsAreReadAsTheySay(t *testing.T) {
	t.Parallel()
	all := render.TestDialects()
	for _, tag := range words.Tags() {
		t.Run(tag, func(t *testing.T) {
			t.Parallel()
			for _, d := range []render.Dialect{all[0], all[2], all[3]} {
				v := render.View{Dialect: d, Lang: tag, Agent: "Ops", Now: coretest.Now, Shared: d.Style == render.Markdown}
				for _, in := range append(coretest.Inputs(), named()...) {
					if _, f, _ := in.Shown(); f != nil && f.Secret && v.Shared || len(in.Arguments) > 1000 {
						continue
					}
					text := render.PlainText(render.Prompt(v, in))
					s := shown{v, in, text, readers(v, in, text)}
					s.replies(t)
					s.options(t)
					s.lastLook(t)
				}
			}
		})
	}
}

// named are questions whose options are numbers, words for numbers, positions or words of ours.
func named() []core.Input {
	var out []core.Input
	for i, labels := range [][]string{{"3", "5", "10"}, {"Second", "First"}, {"Ok", "Yes", "All"}, {"2.", "(1)"}, {"Skip", "Back", "None"}, {"Zwei", "два", "二", "dos"}} {
		for _, multi := range []bool{false, true} {
			in := coretest.Input("question-multi")
			in.ID = core.InputID("named-" + strconv.Itoa(i) + strconv.FormatBool(multi))
			q := core.Question{ID: "q", Prompt: "Which?", Multi: multi, Defaults: []string{"v0"}}
			for k, l := range labels {
				q.Options = append(q.Options, core.Option{Value: "v" + strconv.Itoa(k), Label: l})
			}
			in.Questions = []core.Question{q}
			out = append(out, in)
		}
	}
	return out
}

// readers read a text as it stands and where only the words that are named count, as the platform hands it over.
func readers(v render.View, in core.Input, text string) func(string) []core.Reading {
	p := parse.Prompt{Input: in, Text: text, Lang: v.Lang, Listing: !v.Dialect.Slash}
	if v.Dialect.Style == render.Mrkdwn {
		p.Markup = parse.Markup{Entities: true, AngleLinks: true, Shortcodes: true}
	}
	loose := parse.Compile(p)
	p.Exact = true
	exact := parse.Compile(p)
	return func(s string) []core.Reading {
		if p.Markup.Entities {
			s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
		}
		return []core.Reading{loose.Read(s), exact.Read(s)}
	}
}

// replies: every reply that a prompt names is in its text, is read, and can be done.
func (s shown) replies(t *testing.T) {
	v, in, text, read := s.v, s.in, s.text, s.read
	main := words.For(v.Lang).Main
	for _, reply := range render.Replies(v, in) {
		if !strings.Contains(text, reply) {
			t.Errorf("%s %s: %q is offered and not shown", in.ID, v.Dialect.Name, reply)
		}
		for mode, got := range read(reply) {
			if got.Kind == core.ReadCancel {
				continue
			}
			if got.Kind != core.ReadAnswer && got.Kind != core.ReadCommand {
				t.Errorf("%s %s, mode %d: %q is %s %s", in.ID, v.Dialect.Name, mode, reply, got.Kind, got.Hint)
				continue
			}
			if applied, err := core.Apply(in, got, coretest.Asker, reply); err != nil || applied.Note != "" {
				t.Errorf("%s %s, mode %d: %q does not apply: %v, note %q", in.ID, v.Dialect.Name, mode, reply, err, applied.Note)
			}
			if q, f, review := in.Shown(); q != nil || f != nil && !review {
				continue
			}
			if want := reply == main.Approve || reply == main.Yes || reply == main.Done; got.Kind == core.ReadAnswer && got.Yes != want {
				t.Errorf("%s %s, mode %d: %q is %v", in.ID, v.Dialect.Name, mode, reply, got.Yes)
			}
		}
	}
}

// shownOptions are the options of the question or field shown, with their labels as a prompt has them.
func shownOptions(in core.Input, lang string) (options []core.Option, multi bool) {
	q, f, review := in.Shown()
	switch {
	case q != nil:
		options, multi = slices.Clone(q.Options), q.Multi
	case f != nil && !review:
		options, multi = slices.Clone(f.Enum), f.Type == core.FieldMultiEnum
	}
	if in.Purpose == core.PurposeUnknown {
		for i := range options {
			options[i].Label = words.Outcome(options[i].Label, lang)
		}
	}
	return options, multi
}

// chosen are the values that a reading chooses.
func chosen(got core.Reading) []string {
	switch {
	case got.Kind != core.ReadAnswer || got.Part == nil || got.Part.Default:
		return nil
	case got.Part.Field != nil:
		s := strings.Trim(string(got.Part.Field), "[]")
		var out []string
		for _, one := range strings.Split(s, ",") {
			if u, err := strconv.Unquote(one); err == nil {
				out = append(out, u)
			}
		}
		return out
	}
	return got.Part.Values
}

// options are read by their position, their label, and their line as it is shown.
func (s shown) options(t *testing.T) {
	v, in, text, read := s.v, s.in, s.text, s.read
	options, _ := shownOptions(in, v.Lang)
	lettered := parse.Lettered(options, v.Lang)
	for i, o := range options {
		place := words.Position(i, lettered)
		if !strings.Contains(text, place+") ") {
			t.Errorf("%s %s: %q does not stand there", in.ID, v.Dialect.Name, place)
		}
		ways := []string{place, place + ".", place + ")", "(" + place + ")"}
		alike := slices.ContainsFunc(options, func(x core.Option) bool { return x.Label != o.Label && parse.Fold(x.Label) == parse.Fold(o.Label) })
		if !alike && strings.Contains(text, o.Label) {
			ways = append(ways, o.Label, place+") "+o.Label)
		}
		for k, way := range ways {
			for mode, got := range read(way) {
				if mode == 1 && k != 0 && k != 4 {
					continue // a number or a label, nothing else
				}
				if !slices.Equal(chosen(got), []string{o.Value}) {
					t.Errorf("%s %s, mode %d: %q is %s %s %q, want %q", in.ID, v.Dialect.Name, mode, way, got.Kind, got.Hint, chosen(got), o.Value)
				}
			}
		}
	}
}

// TestWholeSelectionsAreRead: all, none and all but one, by the main words of each language.
func TestWholeSelectionsAreRead(t *testing.T) {
	t.Parallel()
	for _, tag := range words.Tags() {
		l := words.For(tag)
		in := coretest.Input("question-multi")
		q := core.Question{ID: "q", Prompt: "Which?", Multi: true}
		for _, label := range []string{"Xerxes", "Quincy", "Zoltan"} {
			q.Options = append(q.Options, core.Option{Value: label, Label: label})
		}
		in.Questions, in.Draft = []core.Question{q}, core.Draft{}
		cases := map[string][]string{l.Main.All: {"Xerxes", "Quincy", "Zoltan"}, l.Main.None: {}, "all": {"Xerxes", "Quincy", "Zoltan"}, "none": {}}
		for _, but := range l.Except {
			for _, all := range []string{l.Main.All, l.All[0]} {
				if all == "all" || !slices.Contains([]string{"ja", "ko", "zh", "tr", "hi"}, tag) { // these put it behind
					cases[all+" "+but+" 2"] = []string{"Xerxes", "Zoltan"}
					cases[all+", "+but+" Quincy"] = []string{"Xerxes", "Zoltan"}
				}
			}
		}
		for _, end := range l.ExceptEnd {
			cases["2 "+end] = []string{"Xerxes", "Zoltan"}
		}
		for _, and := range l.And {
			cases["1 "+and+" 3"] = []string{"Xerxes", "Zoltan"}
			cases["Xerxes "+and+" Zoltan"] = []string{"Xerxes", "Zoltan"}
		}
		for _, to := range l.To {
			cases["1 "+to+" 3"] = []string{"Xerxes", "Quincy", "Zoltan"}
			for _, from := range l.From {
				cases[from+" 1 "+to+" 3"] = []string{"Xerxes", "Quincy", "Zoltan"}
			}
		}
		r := parse.Compile(parse.Prompt{Input: in, Lang: tag})
		for text, want := range cases {
			got := r.Read(text)
			if got.Kind != core.ReadAnswer || !slices.Equal(chosen(got), want) {
				t.Errorf("%s: %q is %s %s %q", tag, text, got.Kind, got.Hint, chosen(got))
			}
		}
	}
}

// lastLook: "edit N" for each field, yes, no and details.
func (s shown) lastLook(t *testing.T) {
	v, in, read := s.v, s.in, s.read
	main := words.For(v.Lang).Main
	if !in.Draft.Review {
		return
	}
	for n := 1; n <= 3; n++ {
		for _, edit := range []string{main.Edit, "edit", strings.ToUpper(main.Edit)} {
			for mode, got := range read(edit + " " + strconv.Itoa(n)) {
				if got.Kind != core.ReadCommand || got.Verb != core.VerbEdit || got.N != n {
					t.Errorf("%s, mode %d: %q %d is %s", v.Lang, mode, edit, n, got.Kind)
				}
			}
		}
	}
	for reply, yes := range map[string]bool{main.Yes: true, main.No: false} {
		for mode, got := range read(reply) {
			if got.Kind != core.ReadAnswer || got.Yes != yes {
				t.Errorf("%s, mode %d: %q is %s", v.Lang, mode, reply, got.Kind)
			}
		}
	}
	for mode, got := range read(main.Details) {
		if got.Kind != core.ReadCommand || got.Verb != core.VerbDetails {
			t.Errorf("%s, mode %d: %q is %s", v.Lang, mode, main.Details, got.Kind)
		}
	}
}
