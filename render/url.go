package render

import (
	"strings"

	"parley/core"
)

// url asks for a step on a web page: whose page it is, then the whole address on a line of its own, unless that
// went to the asker alone.
func (w *writer) url(a *asking, in core.Input) {
	a.head = append([]block{w.title(in, "title.url", nil)}, a.head...)
	a.body = append(a.body, w.asks(in))
	a.recall = w.said(in)
	a.say(a.recall)
	a.body = append(a.body, w.site(in.URL))
	if w.Apart {
		a.body = append(a.body, w.line("url.apart", args{"asker": {plain, w.person(in.Responders.Asker)}}))
	} else {
		w.link(a, in.URL)
	}
	main := w.w.Main
	a.tail = append(w.terms(in), line(join(
		w.s.say("do.url", args{"reply": w.reply(), "done": a.offer(main.Done), "no": a.offer(main.No)}),
		w.s.say("do.cancel", args{"cancel": a.offer(main.Cancel)}),
	)...))
	a.button(w.s.text["button.done"], main.Done)
	a.button(w.s.text["button.decline"], main.No)
}

// Link renders the link of a URL step for its asker alone, beside a prompt with View.Apart. It takes no answer.
func Link(v View, in core.Input) []Part {
	w := newWriter(v)
	a := asking{typed: w.typed, hide: w.hide}
	a.body = append(a.body, w.title(in, "title.url", nil), w.asks(in))
	a.say(in.Message)
	a.body = append(a.body, w.site(in.URL))
	w.link(&a, in.URL)
	a.tail = one(w.line("url.back", nil))
	parts := w.draw(w.pack(&a), nil)
	parts[len(parts)-1].Buttons = w.buttons(in, a)
	return parts
}

// said is the sentence of whoever asks. Where others read along the address in it gives way to its host.
func (w *writer) said(in core.Input) string {
	if in.Kind != core.KindURL || in.URL == "" || !w.Shared {
		return in.Message
	}
	_, ascii := host(in.URL)
	return strings.ReplaceAll(in.Message, in.URL, ascii)
}

// site names whose page it is, in both ways of writing where they differ.
func (w *writer) site(url string) block {
	name, ascii := host(url)
	if name == ascii {
		return w.line("url.host", args{"host": codeOf(name)})
	}
	return w.line("url.host.both", args{"host": codeOf(name), "ascii": codeOf(ascii)})
}

// link writes an address, with a button that opens it.
func (w *writer) link(a *asking, url string) {
	shown, masked := address(url, w.mask)
	a.body = append(a.body, line(seg{link, visible(shown)}))
	if masked {
		a.body = append(a.body, w.line("url.masked", nil))
	} else if strings.HasPrefix(strings.ToLower(url), "https://") {
		_, ascii := host(url)
		a.buttons = append(a.buttons, Button{Label: w.s.flat("button.open", args{"host": {plain, ascii}}), URL: url})
	}
}

// address is the address as given, except that a user name and password in it are masked.
func address(raw string, mask func(string) string) (shown string, masked bool) {
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
	return raw[:from] + mask(raw[from:from+at]) + raw[from+at:], true
}
