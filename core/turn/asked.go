package turn

import (
	"fmt"
	"net/url"
	"strings"

	"parley/core"
	"parley/core/tool"
)

// maxURL bounds the address of a step on a page, in bytes: a chat shows all of it.
const maxURL = 8 << 10

// asked checks what a tool wants of the person. What cannot be asked is a failure of the tool.
func (d *driver) asked(a tool.Asked) ran {
	if d.run.Inputs >= d.agent.maxInputs() {
		return failed(fmt.Sprintf("This turn may ask the person at most %d times: the tool could not ask.", d.agent.maxInputs()))
	}
	switch a.Kind {
	case core.KindURL:
		u, err := url.Parse(a.URL)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" {
			return failed("The tool asked for a step on a page that has no https address: nobody was asked.")
		}
		if len(a.URL) > maxURL {
			return failed(fmt.Sprintf("The tool asked for a step on a page whose address is longer than %d bytes: nobody was asked.", maxURL))
		}
	case core.KindForm:
		if len(a.Schema) == 0 {
			break
		}
		form, err := core.ParseForm(a.Schema)
		if err != nil {
			return failed("The tool asked for a form that cannot be shown, so nobody was asked: " + err.Error())
		}
		if len(form.Fields) == 0 {
			a.Schema = nil
		}
		for _, f := range form.Fields {
			if f.Secret && d.root.shared {
				return failed(fmt.Sprintf("The tool asked for %s, which is secret and is never asked in a shared chat: ask in a direct chat.", f.Name))
			}
		}
	}
	if strings.TrimSpace(a.Message) == "" && a.Kind != core.KindURL && len(a.Schema) == 0 {
		return failed("The tool asked for a confirmation without saying of what: nobody was asked.")
	}
	return ran{Ask: &a}
}
