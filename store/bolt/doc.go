// Package bolt is the embedded store: one bbolt file, opened by one process at a time.
//
// # Words
//
// A row is what core calls it: conversation, run, step, call, input, queued message, outbox row,
// event. An index is a bucket whose entries follow from rows and can be made again from them. An
// instance is one opening of the file; its id is random. A claim belongs to an instance.
//
// # Buckets
//
// str ends in a zero byte (zero and one inside are escaped), time and seq are eight bytes in order of
// magnitude, id stands at the end as it is.
//
//	meta          "format", "version"
//	conversation  id                            row
//	run           id                            row
//	ended         time id                       ended root runs by their end, for Prune
//	journal       str(run) seq                  step
//	call          str(run) id                   row
//	input         id                            row
//	input.run     str(run) seq = id             the inputs of a run as they were opened
//	input.state   state time id                 by state, then creation
//	input.agent   str(agent) state time id     the conversation's agent, and the one that asks
//	input.who     str(person) state time id     one for each of the audience
//	input.conv    str(conversation) state time id
//	input.due     time id                       pending inputs that expire
//	prompt        str(conversation) id = input  messages that showed an input
//	queue         str(conversation) seq         messages that wait
//	out           str(conversation) seq         unsent rows
//	out.head      str(channel) time seq = conv  the oldest row of each conversation
//	seen          str(conversation) id = time   platform ids of accepted messages
//	seen.age      time str(conversation) id     the same by age, for Prune
//	event         seq                           the log
//	event.run     str(run) seq                  the log of a run; of none: str("")
//	claim         conversation                  row: who holds it, when it is due
//	due           time conversation             free conversations that are due some day
//	held          instance time conversation    held ones
//	memory        "k" key = time value           what is remembered for a while; "t" time key: when it ends
//
// # Claims
//
//	(no row) ── WakeAt ──▶ due ── Claim, TakeClaim ──▶ held ── Release(zero) ──▶ (no row)
//	                        ▲                           │
//	                        └── Release(due), or woken ─┘
//
// A waiting conversation has no claim row and is in no index of time, so that a million of them cost
// nothing to look past. WakeAt while somebody holds it is kept in the row and honoured by Release,
// whoever called it: a wake-up too many is harmless, one too few is not.
//
// The file lock proves that the instance which made a claim is dead once another opens the file: its
// claims are free at once. While the process lives its claims never time out, whatever their ttl, and
// Renew checks the fence without writing: the holder of a claim must release it.
//
// # Commits
//
// Updates wait in a queue; whoever drains it runs all that wait in one bbolt transaction, so that
// conversations share an fsync and a lone writer waits for nobody. A lazy update waits up to 100 ms
// for company, in its place in the queue. An update that failed after it wrote is taken out and the
// others run again, so a closure may run more than once.
//
// # Rows
//
// A row is a version and JSON. Rows that are read again and again are remembered as they were decoded, by
// their bytes, in a memory of fixed size: the same bytes are the same row, so that nothing remembered is out
// of date or outlives an undone transaction. A reader always gets a copy.
//
// # Duties of the caller
//
// A closure calls only its Tx or Reader, and never the store again: it would wait for itself. Close
// the store; it writes what is queued.
package bolt
