// Package modeltest tests models without a network.
//
// [Server] is a strict server on loopback of one [Dialect]: Chat Completions, the same as Google's models
// speak it, or Anthropic's Messages. It refuses, with status 400 and a message in the style of the real
// service, any conversation that a real one would refuse: a call without a result, a result twice, out of
// order or of no call, results that are not first in their message, an empty or doubled call id, an empty
// text, thinking that was changed or whose signature is missing, a name or schema of a tool that is not
// allowed, a wrong header. A [Script] says what it answers, well or badly: [Say], [CallTools], [Refuse],
// [Raw], [Blocks], [Status], [HTML], [Cut], [Early], [Midway], [Hold]. A request for a stream is answered
// in small pieces.
//
// [Run] is the one suite that every provider has to pass, with whole answers and with streams: each way in
// which a call can end leads to a request that the server takes, and each way in which the server can fail
// to an error that says so.
package modeltest
