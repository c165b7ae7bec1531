// Package store holds Parley's stores: the places where every conversation, run, call, input, queued
// message and unsent reply stands durably, so that a kill at any instruction loses nothing.
//
// A store implements the port turn.Store. It writes rows and keeps its indexes in step with them;
// no rule of core is repeated here. What a store owes its callers:
//
//   - one transaction a step: an Update is durable when it returns, or left no trace
//   - a fence: a write made under a claim that is no longer current is refused
//   - no lost wake-up: what was woken while it was held is due once it is released
//   - pages by key, never by counting, so that a page costs the same at any depth
//
// store/bolt is the embedded store, one file and one process. store/storetest is the conformance
// suite that every store passes, with a fault injector for the tests of whoever uses a store.
//
// # Rows and upgrades
//
// A row is a version byte followed by the JSON of its struct. Fields are added and never renamed;
// a change that an old row cannot be read through gets a new version byte and a reader for both. A
// fixture of every row of every version stays in testdata, and every later build must read it. A
// change of keys or buckets is a migration: the next number in the list, run once when a file is
// opened, each with its test. A file of a newer version than the program is refused.
package store
