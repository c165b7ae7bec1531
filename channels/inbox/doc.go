// Package inbox is the web page: a person sees what waits for them across all agents, answers it, and reads what
// a run did.
//
// # Words
//
// A session is one person's, signed in by an API token bound to them or by a link that a token made for them. A
// card is an input as it is shown; its version tells whether it changed since. A control is one question or field
// as HTML asks for it.
//
// # A session
//
//	token ──────────────▶ POST /inbox/session ──▶ cookie, 12 h ──▶ POST /inbox/logout, or a restart, or its end
//	token ──▶ POST /inbox/link ──▶ link, 10 min ──▶ (GET shows who) ──▶ POST /inbox/session, once
//
// The cookie names token and person and is signed with a key that the process made. It opens what both may: the
// token's agents, and of those what the person may answer or has started.
//
// # A request
//
//	GET, HEAD ── changes nothing, whoever asks
//	POST ─────── from our own page (Sec-Fetch-Site and Origin) ── 403
//	               └─▶ session ── 401 ─▶ its form's token ── 403
//	                     └─▶ the engine's one function, with the door "web": its refusals become a sentence
//	                         above the card, with the status that REST has for them
//
// # What is shown
//
// Every text of others is escaped, its hidden characters are made visible, and its secrets are masked; who may
// answer an input can have the masked values of its call shown, and the log keeps that they looked. An approval
// names the hash of the call that was shown, so that a call which changed meanwhile is not approved unseen.
//
// # Live
//
// A page names its version, and a stream of events says when another one is to be had; the one small script then
// fetches the page and puts the cards in place that changed. Without script the page works by reloading.
//
// # Duties of the caller
//
// The handler serves /inbox and everything below it. Close ends the streams: call it when the server begins to
// shut down.
package inbox
