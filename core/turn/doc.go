// Package turn is the engine: it takes messages and answers, advances runs step by step, suspends them
// when a person is needed and goes on when the person has answered, in whichever process.
//
// # One message, one transaction
//
// Accept stores a message and does what it means in one transaction: it settles an input, supersedes what
// waits, starts a run or queues. The decision is core.Route's. A channel acknowledges the message once
// Accept returned.
//
// # One run
//
// The loop of a run is ordinary code over a journal (core/journal). The names of its steps are:
//
//	intake:ask               the intake's verdict and frame, on agents that have one
//	intake:answers           its answers, on turns that ask
//	model:<n>                the n-th reply of the model
//	persist:toolcall:<call>  a call's kind and policy, decided once; its row is in the same commit
//	stream:elicitation:<call> the frame of a question set
//	tool:<run>:<call>        the answer of a call's first wait, …#n of its n-th
//	result:<call>            how running the call ended, …#n the n-th time it ran
//	unknown:<call>#n         the n-th wait is on what to do about a call that may have run
//	changed:<call>#n         the n-th wait is on a call whose tool changed after it was approved
//
// # Commits
//
// A turn that stops once for an approval: the message with its run; the model's reply with the call, the
// input and the outbox row; the receipt of the prompt; the answer with executing; the result; the final
// reply; its receipt.
//
// # Beside the loop
//
// Pictures of messages are read when a request for the model is about to be sent, and kept in memory only: the
// journal does not depend on them. A call whose tool is not there yet waits for its source before it begins. An
// end of an input that neither settling nor closing wrote is recorded as discarded and the input waits again.
// Spans tell each stretch in which a run is advanced (docs/adr/0013-traces.md).
//
// A run is advanced under a claim on its conversation. While it waits there is no claim, no goroutine and
// no timer; the one exception is a tool that can neither be dropped nor called again (tool.Context.Wait), which
// holds its call and the claim for as long as its connection lasts. Where its process ends first, what it asked ends as
// unanswered.
package turn
