// Package core holds Parley's words and rules: what a conversation, a run, a tool call and an
// input are, who may answer one, what an answer means and what happens to a message. It does no
// I/O, starts no goroutine and has no clock: every rule takes the time it judges by. core/turn
// calls these rules inside the store's transactions, so that no store and no channel repeats one.
//
// # A run
//
//	                    ┌──────── settled, the last input ────────┐
//	                    ▼                                         │
//	(message) ──▶ running ──────── a call needs a person ──▶ input_required
//	                │                                             │
//	                ├──▶ completed   the model ended its turn     ├──▶ superseded  a new message came
//	                ├──▶ failed      model, limit or operator     ├──▶ cancelled   abort
//	                └──▶ cancelled   abort while running          └──▶ expired     nobody answered in time
//
// # An input
//
//	pending ──▶ accepted | declined | skipped            a person settles it, once
//	        └─▶ cancelled | superseded | expired         it is closed; closing never accepts
//
// # Invariants
//
// Each is checked by the store's Check or by a named test.
//
//	I1  a conversation has at most one open run
//	I2  a run is input_required iff it has a pending input
//	I3  an input is settled once; the same answer again is a no-op, another an error that says how it ended
//	I4  every call of a stopped run has exactly one result
//	I5  what the person saw is what runs
//	I6  only settling can accept, and it needs a person from an authenticated surface
//	I7  a step name occurs once in a run and replays byte for byte
//	I8  a suspended run holds no goroutine, timer or lock
//	I9  messages of one conversation are handled in order
//	I10 accepted before acknowledged, outbox before send
//	I11 a typed reply answers only a prompt that stands before it
//	I12 silence never approves
//	I13 core has no clock
//	I14 with no intake and no ask declared the steps of a turn are unchanged
package core
