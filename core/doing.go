package core

// Doing is what a message leads to; Route decides it.
type Doing string

// The doings.
const (
	DoStart     Doing = "start"     // a new run
	DoQueue     Doing = "queue"     // handled after the open run
	DoHold      Doing = "hold"      // routed again once the prompt's delivery is known
	DoAnswer    Doing = "answer"    // settles the input or the question shown
	DoCommand   Doing = "command"   // acts on the question shown
	DoUnclear   Doing = "unclear"   // one line of help
	DoAbort     Doing = "abort"     // ends the run
	DoSupersede Doing = "supersede" // closes what waits, then a new run
	DoShow      Doing = "show"      // prints what a code names
	DoNote      Doing = "note"      // one line, nothing else
	DoDrop      Doing = "drop"      // nothing at all
)
