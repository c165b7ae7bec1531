// Package metrics counts for Prometheus what happens to turns and inputs, and serves it.
//
// # Words
//
// A cell is how many inputs of one agent and kind began to wait in one minute. An input is tracked while it
// waits and its id is kept to find its cell again.
//
// # Where the numbers come from
//
// Turns, answers and what waits come from the store's log, which is followed from its end when the program
// starts; counters begin at zero then. What waits already is listed once at the start, page by page, behind
// that place in the log, so that nothing is missed or counted twice. A scrape reads memory alone. Beyond Most
// tracked inputs no more are counted, and parley_inputs_waiting_capped says so. Deliveries, readings and
// webhooks are told by those who do them.
//
// Labels are agents, channels, kinds and the like: things of a configuration. No label names a conversation,
// a person, a run or a tool.
//
// # Duties of the caller
//
// Run follows the log until its context ends. The handler tells how busy the agents are to whoever can reach
// it, and asks for no token: serve it where only the operator's monitor does.
package metrics
