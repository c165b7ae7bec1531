package program

import (
	"encoding/json"
	"fmt"

	"parley/core/tool"
	"parley/core/tool/gotool"
)

// demoTools are the tools of the demo, and of agents with the builtin demo. They do nothing but say that
// they ran, in the effects file.
func demoTools(e *effects) []tool.Tool {
	return []tool.Tool{
		gotool.New("db", "drop", "Delete a database with everything in it. This cannot be undone.", e.drop, gotool.NeedsApproval(true)),
		gotool.New("people", "invite", "Invite a teammate. The person is asked for the details in a form, so call it without any.", e.invite),
		gotool.New("calendar", "connect", "Connect the person's calendar. They are sent to a page where they allow it.", e.connect),
	}
}

type dropArguments struct {
	Name string `json:"name" jsonschema:"the name of the database, such as staging"`
}

func (e *effects) drop(ctx *tool.Context, in dropArguments) (string, error) {
	if err := e.record("db__drop", in, ctx.IdempotencyKey()); err != nil {
		return "", err
	}
	return fmt.Sprintf("the database %s is gone", in.Name), nil
}

const inviteSchema = `{
  "type": "object",
  "properties": {
    "email": {"type": "string", "format": "email", "title": "Email", "description": "Where the invitation goes."},
    "role": {"type": "string", "enum": ["viewer", "editor", "admin"], "title": "Role"},
    "days": {"type": "integer", "minimum": 1, "maximum": 365, "title": "Days", "description": "How many days the invitation is valid."}
  },
  "required": ["email", "role", "days"]
}`

type invitation struct {
	Email string `json:"email"`
	Role  string `json:"role"`
	Days  int    `json:"days"`
}

func (e *effects) invite(ctx *tool.Context, _ struct{}) (string, error) {
	var in invitation
	if err := ctx.Ask("Whom do you want to invite?", json.RawMessage(inviteSchema), &in); err != nil {
		return "", err
	}
	if err := e.record("people__invite", in, ctx.IdempotencyKey()); err != nil {
		return "", err
	}
	return fmt.Sprintf("invited %s as %s for %d days", in.Email, in.Role, in.Days), nil
}

// calendarPage is nobody's: the demo has no network, and Parley never fetches a page it sends a person to.
const calendarPage = "https://calendar.example.com/connect"

func (e *effects) connect(ctx *tool.Context, _ struct{}) (string, error) {
	if err := ctx.RequireURL(calendarPage, "Allow the demo to see your calendar."); err != nil {
		return "", err
	}
	if err := e.record("calendar__connect", struct{}{}, ctx.IdempotencyKey()); err != nil {
		return "", err
	}
	return "connected the calendar", nil
}
