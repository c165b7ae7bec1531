// Package channeltest has what tests of channels need.
//
// Fake is a platform in memory: it numbers what is said and what is sent in one order, as Telegram and Slack
// do, keeps what it shows, and fails as it is told to. Turns is an engine that decides nothing: it records
// what it is given and hands out the outbox rows a test puts in, with the semantics of the engine's outbox.
//
// Suite runs the scenarios that every chat platform has to pass, against the real engine on a real store
// file. A platform's tests implement Platform over their fake server and say in Caps what it can do.
package channeltest
