package words

import "slices"

// Outcome is an option of the question about a call that may have run, such as "Stop here", in the words of a
// language. What is no such option stays.
func Outcome(label, tag string) string {
	k := slices.Index(For("en").Outcome, label)
	if l := For(tag).Outcome; k >= 0 && k < len(l) {
		return l[k]
	}
	return label
}
