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
	decline, skip, cancel bool
	reason, hash          string
}

func (p *program) answerCommand() *cobra.Command {
	var f deskFlags
	var a answerFlags
	cmd := &cobra.Command{
		Use:   "answer (--server URL | --config FILE --as local:NAME) INPUT [VALUE]",
		Short: "Answer what waits",
		Long: `Answers one input of parley inbox. VALUE depends on its kind:

  approval, confirmation, step on a web page   yes or no
  question                                     a label or text; for several {"<question id>": answer}
  form                                         the fields as a JSON object

or one of --decline, --skip (a question only) and --cancel, which ends its turn.

Name with --hash what parley inbox showed of a call: if its arguments were edited since, it is not answered.
A call that was edited is approved only with it.

With --config, where no server runs, it settles the input only: the turn goes on when Parley runs.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return p.answer(cmd.Context(), f, a, args) },
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&a.decline, "decline", false, "decline it")
	cmd.Flags().BoolVar(&a.skip, "skip", false, "skip the question")
	cmd.Flags().BoolVar(&a.cancel, "cancel", false, "end its turn")
	cmd.Flags().StringVar(&a.reason, "reason", "", "why it is declined: the model is told")
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
	if action == core.ActionAccept {
		if s.Content, err = value(in, args[1]); err != nil {
			return err
		}
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
	}{{value, core.ActionAccept}, {a.decline, core.ActionDecline}, {a.skip, core.ActionSkip}, {a.cancel, core.ActionCancel}} {
		if x.set {
			all = append(all, x.action)
		}
	}
	if len(all) != 1 {
		return "", misused(errors.New("want either a VALUE or one of --decline, --skip and --cancel"), "see parley answer --help")
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
		return nil, misused(fmt.Errorf("%q is neither yes nor no", s), "answer with yes or no")
	case t != "" && strings.Contains(`{["`, t[:1]):
		if !json.Valid([]byte(t)) {
			return nil, misused(fmt.Errorf("%q is no JSON", s), "write a text without brackets, or valid JSON")
		}
		return json.RawMessage(t), nil
	case in.Kind == core.KindForm:
		return nil, misused(errors.New("a form is answered with its fields"), `write them as JSON, such as {"days": 3}`)
	default:
		return json.Marshal(s)
	}
}
