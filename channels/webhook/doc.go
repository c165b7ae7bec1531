// Package webhook tells other programs what is asked of people and how it ended.
//
// # Words
//
// A hook is an address of the configuration with its secrets. A message is one event on its way to one hook:
// its id and its body never change, whatever happens. A letter is a message as an operator sees it; a dead
// one was tried ten times in vain.
//
// # A message
//
//	log ── taken in: the body, then its place in the hook's state ──▶ pending ── 2xx ──▶ gone
//	                                                                  │   ▲
//	                                                     anything else└───┘ 5 s … 5 h
//	                                                                  │ tenth time ──▶ dead, kept 90 days
//	                                                                  │ 410 ──▶ the hook is disabled, its messages wait
//
// Each hook follows the store's log with a cursor of its own, so that nothing is lost over a crash, and has a
// goroutine of its own, so that a slow one holds up no other. Delivery is at least once: a message whose 2xx
// was not stored before a crash is sent again with the same id and body. Order is not promised, since a
// message that waits for its next try holds back none behind it; a body's sequence and timestamp order them. A hook that
// is new to the store begins at the end of the log.
//
// Messages are signed as Standard Webhooks: HMAC-SHA256 over id, time of the attempt and body, once for each
// secret, so that a key is changed without a gap. Secrets in arguments, messages and answers are masked as in
// a chat.
//
// # Duties of the caller
//
// One process at a time runs the hooks of a store. The client guards against private addresses: make it with
// the package outbound. Redirects are never followed.
package webhook
