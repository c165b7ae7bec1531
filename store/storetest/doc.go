// Package storetest holds what every store is tested with: a conformance suite of the port turn.Store,
// a clock that a test moves, and a wrapper that breaks a store at a chosen commit.
//
// # Words
//
// A commit is a write that became durable: an Update whose closure succeeded, a Claim that claimed, a
// Prune that removed. A fault happens before the commit, which then leaves no trace, or after it, where
// the caller learns of a failure although all is stored: what a kill looks like from outside.
//
// A store is tested through the port alone. Whether a claim ends with its time to live is the store's own
// affair (a store that knows its process alive need not end it); the suite accepts both and demands the
// fence either way.
package storetest
