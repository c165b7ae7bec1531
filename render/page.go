package render

// What a page of HTML needs beside its own escaping: characters that a reader would not see made visible, and
// secrets masked.

// Visible is a text, of lines, in which hidden characters and those that would move others about are visible
// escapes such as \u{202E}.
func Visible(s string) string { return visible(lines(s)) }

// Hidden is Visible without the secrets in it: user info of URLs, authorization and cookie headers, and keys of
// well-known forms.
func Hidden(s string) string { return visible(lines(hideSpans(s, secretSpans(s, nil), maskOf))) }

// Site is the host of an address as a person may read it, and in ASCII where that differs. They are the same
// where scripts mix or could pass for another one.
func Site(url string) (name, ascii string) { return host(url) }

// Address is an address as it is shown: hidden characters visible, a user name and password masked.
func Address(url string) (shown string, masked bool) {
	shown, masked = address(url, maskOf)
	return visible(shown), masked
}
