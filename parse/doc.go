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
// # Decisions where the contract leaves room
//
//   - Hesitation keeps the question only if nothing stands beside it: "hold on" is unclear, "sure, later" and
//     "no wait" are new messages.
//   - In a lettered question only letters and "last" are positions; a number is a label or chooses nothing.
//   - A refusal takes a please as it takes thanks. A lone number, in digits or as a word, is unclear to a verdict.
//   - A choice with a word beside it that takes from it or adds to it is unclear: "maybe 2", "2 for now", "not 2".
//   - A script without spaces joins choices and endings without any: "赤と青", "2にします". A range may begin with "from".
//   - Where only exact answers count, the words that the prompt names for all, none and the defaults are such.
//   - The options about a call that may have run are read in the conversation's language and in English.
//   - "don't deny" says two things at once: unclear.
//   - "yes" takes the defaults shown unless a label says yes or no itself; "ok", "confirm" and "default" always do.
//   - Where any text is an answer only the main words cancel, skip and back lead out, or the next that no
//     option is named by; "stop" is text.
//   - A text with a control character or an override of direction in it is never the text without it. It is free
//     text at most; what would be an answer, a command or cancel without them is unclear.
//   - A value that nobody was shown can be typed, unless it is a number.
//   - In a form a few words that do not fit are a wrong value; a sentence or a question is a new message.
//   - A quotation of anything but the prompt makes what stands behind it unclear, however plain it is.
//   - A refusal may say why behind "because" or a colon, and in no other way: "no, use the replica" is a new
//     message. So is a refusal that ends in a question mark, and one of more than 4 KiB, of which nothing is cut.
//     A consent gives no reasons.
//   - "yes with amount=20" and "edit amount=20" set arguments and approve nothing. Anything beside name=value
//     makes the whole a new message; a value of several words wants quotes.
//   - The word that lists what waits ("pending") is read only where a slash does not reach us; labels and free
//     text go before it.
//   - "/yes" is the word yes, addressed to us or to nobody; a command for another bot is a new message.
//
// # Duties of the caller
//
// The text as typed is the caller's to keep: nothing here changes it. Whether the sender may answer, and
// whether the message stands after its prompt, is decided elsewhere.
package parse
