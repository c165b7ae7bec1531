// Package mcp is an MCP server for each agent: programs that speak the Model Context Protocol send it messages,
// and the people behind them are asked there what its turns wait on.
//
// # Words
//
// A client is a bearer token with what it may do. It is bound where it stands for one person; a client that is
// not acts as itself, mcp:NAME, where its token says so, and is refused where it does not. An ask is an input as it is put to a client. To reach means that a client may be
// asked: some inputs are for other doors alone.
//
// # A call of send_message
//
//	message ──▶ run ──▶ next stop ──┬── ended ──▶ its text
//	                 ▲              └── waits ──▶ reaches the client? ── no ──▶ a result that says what waits
//	                 │                               │ yes
//	                 └──── settled ◀── answer ◀── asked
//
// There are two generations of asking. Since 2026-07-28 the call ends as input_required, with the asks and a
// requestState; the client makes it again with both and nothing is held in between, in memory or elsewhere. The
// requestState is signed and ends; it is bound to token, person, agent, message, run and inputs. Before, the ask
// goes over the open call, and the session is held in memory for as long as it is used.
//
// # Who answers
//
// An accepted ask answers with what it says and no more: an approval and a confirmation need their own true, so
// that a client which accepts whatever it is asked approves nothing. Decline is a decline. Cancel ends the run,
// as at every door, where the client is bound: it is an act of its person. Everything else, a client that cannot
// ask, fails, is slow, goes away, or cancels for nobody, answers nothing: the input waits on, here and at every
// other door. Content that does not fit is asked for again with the reason, three times in all.
//
// These never reach a client: an approval, or the question whether a call that may have run is to be run again,
// unless the client is bound to one person and may approve; a form with a secret; a step on a web page where the
// client cannot open one; what its person may not answer.
//
// # Duties of the caller
//
// The channel Channel must be silent in the engine. Key should outlive the process. Close ends the open calls:
// call it when the server begins to shut down.
package mcp
