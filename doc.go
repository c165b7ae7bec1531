// Package parley is the root of Parley, a chat bot that hosts agents which stop and wait for people: a tool
// call waits for an approval, the model asks a question, a tool asks for a form, a confirmation or a step on
// a web page. What waits is in a file and nowhere else; the next message of someone who may answer is the
// answer, and the turn goes on from where it stopped, in whichever process.
//
// This package holds nothing yet: the public Go API is a later step. The program is cmd/parley; the words and
// rules are in core, the engine in core/turn, what is kept in store, the surfaces in channels.
package parley
