package words

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestLanguages(t *testing.T) {
	t.Parallel()
	want := strings.Fields("ar cs de en es fr hi id it ja ko nl pl pt ru sv tr uk vi zh")
	if got := Tags(); !slices.Equal(got, want) {
		t.Errorf("languages %v, want %v", got, want)
	}
	for tag, want := range map[string]string{
		"": "en", "en-GB": "en", "pt-BR": "pt", "PT_br": "pt", "zh-Hant-TW": "zh", "in": "id", "xx": "en", "de": "de",
	} {
		if got := For(tag).Tag; got != want {
			t.Errorf("For(%q) is %q, want %q", tag, got, want)
		}
	}
}

// TestComplete makes sure that a language file leaves nothing out that a prompt needs.
func TestComplete(t *testing.T) {
	t.Parallel()
	for _, tag := range Tags() {
		l := For(tag)
		for v, i := reflect.ValueOf(l.Main), 0; i < v.NumField(); i++ {
			if s := v.Field(i).String(); s == "" || s != strings.ToLower(s) || s != strings.TrimSpace(s) {
				t.Errorf("%s: main word %s is %q", tag, v.Type().Field(i).Name, s)
			}
		}
		for name, list := range map[string][]string{
			"yes": l.Yes, "no": l.No, "please": l.Please, "done": l.Done, "undone": l.Undone, "cancel": l.Cancel, "skip": l.Skip,
			"back": l.Back, "default": l.Default, "near": l.Near, "wait": l.Wait, "and": l.And, "or": l.Or, "all": l.All,
			"none": l.None, "pending": l.Pending, "because": l.Because, "positions": l.Positions, "last": l.Last, "true": l.True, "false": l.False,
		} {
			if len(list) == 0 {
				t.Errorf("%s: no word for %s", tag, name)
			}
		}
		if len(l.Numbers) < 20 || len(l.Ordinals) < 10 {
			t.Errorf("%s: %d numbers and %d ordinals", tag, len(l.Numbers), len(l.Ordinals))
		}
		if !slices.Contains(l.Pending, l.Main.Pending) || !slices.Contains(l.Because, l.Main.Because) {
			t.Errorf("%s: a main word is not among its kind", tag)
		}
		if len(l.Outcome) != 3 {
			t.Errorf("%s: %d outcomes", tag, len(l.Outcome))
		}
		if len(l.Except) == 0 && len(l.ExceptEnd) == 0 {
			t.Errorf("%s: no exception", tag)
		}
		for v, i := reflect.ValueOf(*l), 0; i < v.NumField(); i++ {
			list, ok := v.Field(i).Interface().([]string)
			for k, s := range list {
				if ok && (s == "" || slices.Contains(list[:k], s)) {
					t.Errorf("%s: %s has %q twice or empty", tag, v.Type().Field(i).Name, s)
				}
			}
		}
	}
}

func TestLettered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		labels []string
		lang   string
		want   bool
	}{
		{[]string{"Staging", "Production"}, "", false},
		{[]string{"3", "5", "10"}, "", true},
		{[]string{"5", "6", "7", "8"}, "", false},
		{[]string{"2", "1"}, "", true},
		{[]string{"2025", "2026"}, "", false},
		{[]string{"First", "Other"}, "", true},
		{[]string{"two", "many"}, "", true},
		{[]string{"Option 2", "Else"}, "", true},
		{[]string{"１", "x"}, "", true},
		{[]string{"②", "x"}, "", true},
		{[]string{"٢", "x"}, "", true},
		{[]string{"2️⃣", "x"}, "", true},
		{[]string{"zwei", "drei"}, "", false},
		{[]string{"zwei", "drei"}, "de", true},
		{[]string{"第二个", "其他"}, "zh", true},
		{[]string{"v2", "v1"}, "", false},
		{[]string{"a", "b"}, "", false},
		{nil, "", false},
	} {
		if got := Lettered(c.labels, c.lang); got != c.want {
			t.Errorf("Lettered(%q, %q) is %v", c.labels, c.lang, got)
		}
	}
	if many := make([]string, 27); Lettered(append(many[:26], "1"), "") {
		t.Error("more options than letters are lettered")
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		i        int
		lettered bool
		want     string
	}{{0, false, "1"}, {19, false, "20"}, {0, true, "a"}, {25, true, "z"}, {26, true, "27"}} {
		if got := Position(c.i, c.lettered); got != c.want {
			t.Errorf("Position(%d, %v) is %q, want %q", c.i, c.lettered, got, c.want)
		}
	}
}

// TestPlaces makes sure that a word with two meanings in the languages in play means none.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag, phrase string
		want        int
	}{
		{"en", "the second one", 2}, {"en", "ten", 10}, {"pl", "ten", 0}, {"pl", "dwa", 2}, {"pl", "two", 2}, {"de", "nr. 4", 4}, {"tr", "on", 10},
		{"zh", "第三个", 3}, {"ja", "4番", 4}, {"en", "99", 99}, {"en", "100", 0}, {"en", "01", 0},
	} {
		if got := PlacesOf(c.tag).Numbers[c.phrase].N; got != c.want {
			t.Errorf("%s: %q is %d, want %d", c.tag, c.phrase, got, c.want)
		}
	}
}

func TestDigit(t *testing.T) {
	t.Parallel()
	for r, want := range map[rune]rune{'7': '7', '٧': '7', '۷': '7', '७': '7', '７': '7', '𝟟': '7', '০': '0'} {
		if got, ok := Digit(r); !ok || got != want {
			t.Errorf("Digit(%q) is %q, %v", r, got, ok)
		}
	}
	for _, r := range "a ⅷ七" {
		if _, ok := Digit(r); ok {
			t.Errorf("%q is a digit", r)
		}
	}
}
