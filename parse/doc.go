// Package parse turns a typed message into its one meaning against a waiting input: an answer, a command,
// cancel, something unclear, or a new message. It is pure and holds no words of its own: those stand in
// core/words, one file a language.
//
// # How a message is read
//
// By the whole of it, never by a word inside. Everything around what was said is taken off (the platform's
// markup, our mention, quoted lines of the prompt), the rest is folded, and the folded text must be one
// phrase of a closed grammar from its first word to its last:
//
//   - a verdict: consent is W or W W, then perhaps "it", then perhaps please or thanks; nothing else
//     approves, ever. Refusal is looser.
//   - a question: a label, else a position, else a list of them where several may be chosen, else a command.
//   - a form field: the value by its type.
//
// What fits nothing is unclear if it is near to an answer: made only of words of consent, refusal and
// hesitation; a typo of a word or label that counts; part of a label; a number that is no option; a value of
// the wrong type. All else is a new message.
//
// # Duties of the caller
//
// The text as typed is the caller's to keep: nothing here changes it. Whether the sender may answer, and
// whether the message stands after its prompt, is decided elsewhere.
package parse
