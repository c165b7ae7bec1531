package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"parley/core"
	"parley/core/turn"
)

// maxAnswers bounds how many inputs one request settles.
const maxAnswers = 100

type answerBody struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
	Reason  string          `json:"reason"`
	From    *string         `json:"from"`
	// Hash is that of the call as it was shown.
	Hash string `json:"hash"`
}

// answered is what became of an answer. Request is the run that it resumed, null while others wait and
// where nothing happened now.
type answered struct {
	Input   inputView `json:"input"`
	Request *runView  `json:"request"`
}

// action reads the action of an answer, which is never left out.
func readAction(s string) (core.Action, error) {
	switch a := core.Action(s); a {
	case core.ActionAccept, core.ActionDecline, core.ActionSkip, core.ActionCancel:
		return a, nil
	}
	return "", badFields("the action does not fit", fieldOf("action", "want accept, decline, skip or cancel"))
}

func (c *call) answerOne() (reply, error) {
	agent, err := c.agent()
	if err != nil {
		return reply{}, err
	}
	in, err := c.input(core.InputID(c.r.PathValue("input")), agent)
	if err != nil {
		return reply{}, err
	}
	var b answerBody
	if err := decode(c.body, &b); err != nil {
		return reply{}, err
	}
	action, err := readAction(b.Action)
	if err != nil {
		return reply{}, err
	}
	return c.settleOne(in.ID, b.From, b.Hash, core.Submission{Action: action, Content: b.Content, Reason: b.Reason})
}

// settleOne settles one input that the token sees.
func (c *call) settleOne(id core.InputID, from *string, hash string, s core.Submission) (reply, error) {
	who, err := c.person(from, id)
	if err != nil {
		return reply{}, err
	}
	done, err := c.a.c.Turns.SettleAll(c.ctx, []turn.Settlement{{Input: id, From: who, Via: via, Submission: s, Step: -1, Hash: hash}})
	if err != nil {
		return reply{}, err
	}
	out, err := c.answered(done[0])
	status := http.StatusAccepted
	if !done[0].Now {
		status = http.StatusOK
	}
	return reply{status: status, body: out}, err
}

func (c *call) answered(s turn.Settling) (answered, error) {
	out := answered{Input: viewInput(s.Input)}
	if s.Resumed == "" {
		return out, nil
	}
	v, err := c.view(s.Run)
	out.Request = &v
	return out, err
}

type severalBody struct {
	Answers []json.RawMessage `json:"answers"`
	From    *string           `json:"from"`
}

type oneOfSeveral struct {
	Input   string          `json:"input"`
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
	Reason  string          `json:"reason"`
	From    *string         `json:"from"`
	Hash    string          `json:"hash"`
}

type severalView struct {
	Answers []answered `json:"answers"`
}

// answerSeveral settles several inputs, all or none.
func (c *call) answerSeveral() (reply, error) {
	agent, err := c.agent()
	if err != nil {
		return reply{}, err
	}
	var b severalBody
	if err := decode(c.body, &b); err != nil {
		return reply{}, err
	}
	if len(b.Answers) < 1 || len(b.Answers) > maxAnswers {
		return reply{}, badFields("the answers do not fit", fieldOf("answers", "want 1 to "+strconv.Itoa(maxAnswers)))
	}
	var all []turn.Settlement
	seen := map[core.InputID]bool{}
	for i, raw := range b.Answers {
		s, err := c.settlement(agent, raw, b.From)
		if err == nil && seen[s.Input] {
			err = badFields("an input is answered twice", fieldOf("input", "is there twice"))
		}
		if err != nil {
			return reply{}, numbered(err, i)
		}
		seen[s.Input] = true
		all = append(all, s)
	}
	return c.settleSeveral(all)
}

func (c *call) settlement(agent core.AgentID, raw json.RawMessage, from *string) (turn.Settlement, error) {
	var b oneOfSeveral
	if err := decode(raw, &b); err != nil {
		return turn.Settlement{}, err
	}
	in, err := c.input(core.InputID(b.Input), agent)
	if err != nil {
		return turn.Settlement{}, err
	}
	action, err := readAction(b.Action)
	if err != nil {
		return turn.Settlement{}, err
	}
	if b.From != nil {
		from = b.From
	}
	who, err := c.person(from, in.ID)
	s := core.Submission{Action: action, Content: b.Content, Reason: b.Reason}
	return turn.Settlement{Input: in.ID, From: who, Via: via, Submission: s, Step: -1, Hash: b.Hash}, err
}

func (c *call) settleSeveral(all []turn.Settlement) (reply, error) {
	done, err := c.a.c.Turns.SettleAll(c.ctx, all)
	var no *turn.Unsettled
	if errors.As(err, &no) {
		p := numbered(no, no.At)
		for _, s := range no.Done {
			p.Done = append(p.Done, answered{Input: viewInput(s.Input)})
		}
		return reply{}, p
	}
	if err != nil {
		return reply{}, err
	}
	out, status := severalView{Answers: []answered{}}, http.StatusOK
	for _, s := range done {
		one, err := c.answered(s)
		if err != nil {
			return reply{}, err
		}
		if s.Now {
			status = http.StatusAccepted
		}
		out.Answers = append(out.Answers, one)
	}
	return reply{status: status, body: out}, nil
}

// numbered says which answer of several was refused.
func numbered(err error, i int) *Problem {
	p := problemOf(err)
	p.Answer = &i
	return p
}
