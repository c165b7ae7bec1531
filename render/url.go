package render

import (
	"strings"

	"parley/core"
)

// url asks for a step on a web page: whose page it is, then the whole address on a line of its own.
func (w *writer) url(a *asking, in core.Input) {
	a.head = append([]block{w.title(in, "title.url", nil)}, a.head...)
	a.body = append(a.body, w.asks(in))
	a.say(in.Message)
	a.recall = in.Message
	name, ascii := host(in.URL)
	if name == ascii {
		a.body = append(a.body, w.line("url.host", args{"host": codeOf(name)}))
	} else {
		a.body = append(a.body, w.line("url.host.both", args{"host": codeOf(name), "ascii": codeOf(ascii)}))
	}
	shown, masked := address(in.URL)
	a.body = append(a.body, line(seg{link, visible(shown)}))
	main := w.w.Main
	if masked {
		a.body = append(a.body, w.line("url.masked", nil))
	} else if strings.HasPrefix(strings.ToLower(in.URL), "https://") {
		a.buttons = append(a.buttons, Button{Label: w.s.flat("button.open", args{"host": {plain, ascii}}), URL: in.URL})
	}
	a.tail = append(w.terms(in), line(join(
		w.s.say("do.url", args{"reply": w.reply(), "done": a.offer(main.Done), "no": a.offer(main.No)}),
		w.s.say("do.cancel", args{"cancel": a.offer(main.Cancel)}),
	)...))
	a.button(w.s.text["button.done"], main.Done)
	a.button(w.s.text["button.decline"], main.No)
}

// address is the address as given, except that a user name and password in it are masked.
func address(raw string) (shown string, masked bool) {
	from := strings.Index(raw, "://")
	if from < 0 {
		return raw, false
	}
	from += 3
	end := len(raw)
	if i := strings.IndexAny(raw[from:], `/?#\`); i >= 0 {
		end = from + i
	}
	at := strings.LastIndexByte(raw[from:end], '@')
	if at < 0 {
		return raw, false
	}
	return raw[:from] + maskOf(raw[from:from+at]) + raw[from+at:], true
}
