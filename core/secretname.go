package core

import (
	"slices"
	"strings"
	"unicode"
)

// SecretName reports whether a name says that its value is a secret: of a form field, an argument, a header.
// It goes by the words of the name, so that userPassword, db_pwd, X-Api-Key and accesstoken are secret, while
// secretary, tokenize, author and monkey are not. Names of personal data, such as passport, are not: those
// are for a config's "redact".
func SecretName(name string) bool {
	words := NameWords(name)
	for i, w := range words {
		w = strings.TrimRightFunc(w, unicode.IsDigit)
		last := i == len(words)-1
		switch {
		case slices.Contains(secretWords, w),
			last && slices.Contains(secretLast, w),
			len(words) == 1 && slices.Contains(secretAlone, w),
			slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(w, end) }),
			slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(w, part) }) && !strings.Contains(w, "passwordless"):
			return true
		}
		for _, pair := range secretPairs {
			if i > 0 && words[i-1] == pair[0] && (w == pair[1] || w == pair[1]+"s") {
				return true
			}
		}
	}
	return false
}

var (
	// secretParts say it anywhere within a word, for names that are written as one.
	secretParts = []string{
		"password", "passwd", "passphrase", "passcode", "authorization", "credential",
		"apikey", "privatekey", "secretkey", "accesskey", "signingkey", "encryptionkey", "clientkey", "sshkey",
		"passwort", "kennwort", "contraseña", "contrasena", "пароль", "密码", "密碼", "パスワード", "비밀번호",
	}
	// secretEnds say it at the end of a word: clientsecret, accesstoken, dbpwd; not secretary, tokenizer.
	secretEnds = []string{"secret", "secrets", "token", "tokens", "pwd", "cookie", "cookies"}
	// secretWords say it as a word of their own, wherever it stands.
	secretWords = []string{"pw", "otp", "totp", "cvv", "cvv2", "cvc", "cvc2", "bearer", "jwt", "senha"}
	// secretLast say it as the last word: smtp_pass and cardPin, but not pass_rate and pin_message.
	secretLast = []string{"pass", "pin", "pat"}
	// secretAlone say it as the whole name: auth, but not auth_method.
	secretAlone = []string{"auth"}
	// secretPairs say it side by side.
	secretPairs = [][2]string{
		{"api", "key"}, {"private", "key"}, {"access", "key"}, {"signing", "key"}, {"encryption", "key"}, {"client", "key"}, {"ssh", "key"},
		{"pass", "word"}, {"pass", "phrase"}, {"pass", "code"}, {"pin", "code"}, {"security", "code"},
	}
)

// countsTokens reports whether a number of that name is a number of tokens.
func countsTokens(name string) bool {
	words := NameWords(name)
	return slices.Contains(words, "tokens") || slices.Contains(words, "token") && len(words) > 1
}

// NameWords are the words of a name in lower case: userApiKey, user_api_key and USER-API-KEY are user, api, key.
func NameWords(name string) []string {
	var out []string
	var word []rune
	rs := []rune(name)
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
		}
		word = nil
	}
	for i, r := range rs {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}
