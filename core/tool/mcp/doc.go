// Package mcp offers the tools of one MCP server as tools of an agent.
//
// Words. A Source is one configured server, reached over streamable HTTP or as a child process that speaks
// on its standard streams. A session is one live connection to it; a source has one that lists the tools and
// carries the calls. A call is one tools/call request. A round is what a server asks of the person before it
// goes on with a call.
//
// A source is connected, or it waits to try again, twice as long after each failure. The list of tools is
// what the server said last: a tool that it no longer lists is gone, but a server that cannot be reached takes
// nothing away. List and Lookup answer from memory.
//
//	             ┌────────── lost ─────────┐
//	waiting ── connect ──▶ listing ──▶ connected ── list changed, refresh ──▶ listing
//	   ▲          │           │
//	   └─ failed ─┴───────────┘
//
// Asking the person. Where the protocol has multi round trips (2026-07-28), a result that needs input ends
// the call: its round is kept as the state of the asks, and once they are answered the call is made again
// with the answers, by whichever process over whichever session. An older server asks inside the open call.
// If the tool is read-only or idempotent the call is dropped, and made again with the answer at hand;
// otherwise it waits on the open connection and ends as unanswered, never as declined, where that goes.
//
// What a failure means. Where the request was not sent, nothing ran: tool.ErrNotStarted. Where it was sent
// and no answer of the server came back, nobody knows: tool.ErrUnknownOutcome. Everything else is the
// server's own answer.
//
// Names. A tool is source__name, and what a model would not take in either is replaced and told apart by a
// digest, always the same way. The caller gives every source of an agent a name of its own.
//
// Reserved. What Parley says of a call stands in _meta under parley/approval, parley/actor and
// parley/idempotencyKey; arguments of such names are refused. Header values, values of the environment and
// the secrets of an address appear in no error and no log.
//
// Duties of the caller: run Run, and hand in an http.Client that refuses the addresses it must not reach.
package mcp
