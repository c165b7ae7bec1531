package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley/core"
)

// answerFlags say what becomes of the input.
type answerFlags struct {
	decline, skip, cancel, defaults bool
	reason, hash                    string
}

func (p *program) answerCommand() *cobra.Command {
	var f deskFlags
	var a answerFlags
	cmd := &cobra.Command{
		Use:   "answer (--server URL | --config FILE --as local:NAME) INPUT [VALUE]",
		Short: "Answer what waits",
		Long: `Answers one input of parley inbox. VALUE depends on its kind:

  approval, confirmation   yes or no
  step on a web page       yes or done, no
  question                 a label or text; ["one", "another"] where several may be chosen;
                           for several questions {"<question id>": answer}: one left out takes its defaults
  form                     the fields as a JSON object, such as {"email": "ana@example.com", "days": 3}

or one of --decline, --defaults and --skip (questions only) and --cancel, which ends its turn. --defaults answers
every question with its defaults; --skip does too, and tells the model that nobody confirmed them.

Name with --hash what parley inbox showed of a call: if its arguments were edited since, it is not answered.
A call that was edited is approved only with it.

With --config, where no server runs, it settles the input only: the turn goes on when Parley runs.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("want INPUT, as parley inbox names it, and one VALUE; quote a value with spaces")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.answer(cmd.Context(), f, a, args) },
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&a.decline, "decline", false, "decline it")
	cmd.Flags().BoolVar(&a.defaults, "defaults", false, "answer every question with its defaults")
	cmd.Flags().BoolVar(&a.skip, "skip", false, "skip the question")
	cmd.Flags().BoolVar(&a.cancel, "cancel", false, "end its turn")
	cmd.Flags().StringVar(&a.reason, "reason", "", "why it is declined or skipped: the model is told")
	cmd.Flags().StringVar(&a.hash, "hash", "", "the hash of the call as it was shown")
	return cmd
}

func (p *program) answer(ctx context.Context, f deskFlags, a answerFlags, args []string) (err error) {
	action, err := a.action(len(args) == 2)
	if err != nil {
		return err
	}
	d, err := p.desk(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	in, err := d.find(ctx, args[0])
	if err != nil {
		return err
	}
	s := core.Submission{Action: action, Reason: a.reason}
	switch {
	case a.defaults && in.Kind != core.KindQuestion:
		return misused(fmt.Errorf("only questions have defaults, and this is of the kind %s", in.Kind), "give a VALUE: see parley answer --help")
	case action == core.ActionAccept && !a.defaults:
		if s.Content, err = value(in, args[1]); err != nil {
			return err
		}
	}
	if a.reason != "" && action == core.ActionAccept && string(s.Content) != "false" {
		return misused(errors.New("--reason says why something is declined or skipped, and this answers it"), "take it out, or use --decline")
	}
	after, resumed, err := d.answer(ctx, in, a.hash, s)
	if err != nil {
		return err
	}
	return p.tell(d, after, resumed)
}

// tell says what became of an input, once it is stored.
func (p *program) tell(d desk, in waiting, resumed bool) error {
	text := fmt.Sprintf("%s: %s", in.ID, in.State)
	if in.Settled != nil && in.Settled.By != "" {
		text += " by " + in.Settled.By
	}
	if _, file := d.(*local); file && resumed {
		text += ". The turn goes on when Parley runs."
	} else if resumed {
		text += ". The turn goes on."
	}
	_, err := fmt.Fprintln(p.stdout, text)
	return err
}

func (a answerFlags) action(value bool) (core.Action, error) {
	var all []core.Action
	for _, x := range []struct {
		set    bool
		action core.Action
	}{{value, core.ActionAccept}, {a.defaults, core.ActionAccept}, {a.decline, core.ActionDecline}, {a.skip, core.ActionSkip}, {a.cancel, core.ActionCancel}} {
		if x.set {
			all = append(all, x.action)
		}
	}
	if len(all) != 1 {
		return "", misused(errors.New("want either a VALUE or one of --decline, --defaults, --skip and --cancel"), "see parley answer --help")
	}
	return all[0], nil
}

// value reads what was typed as the content of an answer.
func value(in waiting, s string) (json.RawMessage, error) {
	confirmation := in.Kind == core.KindForm && len(in.Schema) == 0
	switch t := strings.TrimSpace(s); {
	case in.Kind == core.KindApproval, in.Kind == core.KindURL, confirmation:
		switch strings.ToLower(t) {
		case "yes", "true":
			return json.RawMessage("true"), nil
		case "no", "false":
			return json.RawMessage("false"), nil
		}
		if in.Kind == core.KindURL && strings.EqualFold(t, "done") {
			return json.RawMessage("true"), nil
		}
		return nil, misused(fmt.Errorf("%q is neither yes nor no", s), "answer with yes or no")
	case t != "" && strings.Contains(`{["`, t[:1]):
		if !json.Valid([]byte(t)) {
			return nil, misused(fmt.Errorf("%q is no JSON", s), "write a text without brackets, or valid JSON")
		}
		return json.RawMessage(t), nil
	case in.Kind == core.KindForm:
		return nil, misused(errors.New("a form is answered with its fields"), `write them as JSON, such as {"days": 3}, or use --decline`)
	default:
		return json.Marshal(s)
	}
}
