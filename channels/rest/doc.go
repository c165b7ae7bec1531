// Package rest is the HTTP interface: programs start turns, list what waits, answer it, and follow events.
//
// # Words
//
// A token is a client's secret with what it may do: the agents it sees, the channels whose conversations it
// may write to, the people it speaks for, and whether it is an administrator's. A token bound to one person
// speaks for exactly one, named exactly. A frame is an event as it is streamed.
//
// # A request
//
//	route ── 404, 405
//	  └─▶ token ── 401
//	        └─▶ body: size, type, JSON without unknown or doubled keys ── 413, 415, 400
//	              └─▶ Idempotency-Key: seen with another body 422, seen with this one: the answer again
//	                    └─▶ agent, run, input: one that the token may not see is 404, like one that is not there
//	                          └─▶ from: needed 400, not spoken for 403
//	                                └─▶ the engine, whose refusals become a status in one table (problem.go)
//
// Every answer goes through the engine's one function, so that the same person gets the same verdict here as
// in a chat. A token that may speak for nobody reads and settles nothing: such a one is for agents and
// dashboards.
//
// # Streams
//
// The id of a frame is its event's place in the store's log. A stream begins after Last-Event-ID, or at the
// beginning of its run, or now where it is an agent's. The log is read once for all streams: the newest
// frames are kept, and a stream that is behind them reads the store until it has caught up. A stream keeps
// nothing but its place, so that a slow reader costs nothing until a write takes too long: then it is dropped
// and may come back with its Last-Event-ID. The stream of a run ends with the run.
//
// # Duties of the caller
//
// The channel Channel must be silent in the engine: what happens in its conversations is asked for, not sent.
// The handler's Close ends the streams; call it when the server begins to shut down.
package rest
