// Package modeltest tests models without a network.
//
// [Server] is a strict Chat Completions server on loopback. It refuses, with status 400 and a message in
// the style of the real service, any conversation that a real one would refuse: a call without a result, a
// result twice, out of order or of no call, an empty or doubled call id, a system message that is not the
// first, a name or schema of a tool that is not allowed. A [Script] says what it answers, well or badly:
// [Say], [CallTools], [Refuse], [Raw], [Status], [HTML], [Cut], [Hold].
//
// [Run] is what every provider of the dialect has to pass: each way in which a call can end leads to a
// request that the server takes, and each way in which the server can fail to an error that says so.
package modeltest
