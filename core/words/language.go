package words

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed lang/*.json
var files embed.FS

// Language is one file of lang/: the words of a language by what they mean.
type Language struct {
	// Tag is the language's BCP 47 tag without region: "en".
	Tag  string `json:"tag"`
	Main Words  `json:"main"`

	Yes     []string `json:"yes"`     // consent to an approval or confirmation
	Confirm []string `json:"confirm"` // consent to a confirmation only
	No      []string `json:"no"`      // refusal of either
	// Dont begins a refusal that DontDo ends ("don't" + "do it"); before DontDeny it is two refusals at once.
	Dont     []string `json:"dont"`
	DontDo   []string `json:"dontDo"`
	DontDeny []string `json:"dontDeny"`
	It       []string `json:"it"`     // may follow a consent or refusal
	Please   []string `json:"please"` // may follow any answer
	Lead     []string `json:"lead"`   // before a consent it makes the whole unclear: "I approve"
	Done     []string `json:"done"`   // the step of a URL was taken
	Undone   []string `json:"undone"` // it will not be
	NotDone  []string `json:"notDone"`
	True     []string `json:"true"` // a boolean form field
	False    []string `json:"false"`

	Cancel     []string `json:"cancel"`
	Skip       []string `json:"skip"`
	SkipAll    []string `json:"skipAll"`
	Back       []string `json:"back"`
	Default    []string `json:"default"`
	DefaultAll []string `json:"defaultAll"`
	Ok         []string `json:"ok"`   // takes defaults, like a consent; nothing else
	Edit       []string `json:"edit"` // before a number
	Details    []string `json:"details"`
	Pending    []string `json:"pending"` // lists all that waits, where a slash does not reach us
	Because    []string `json:"because"` // between a refusal and its reason, the longest first
	With       []string `json:"with"`    // between a consent and the arguments it changes

	Near     []string `json:"near"`     // synonyms of consent and refusal: unclear
	Wait     []string `json:"wait"`     // hesitation
	Unit     []string `json:"unit"`     // after a number it is hesitation: "sec"
	UnitLead []string `json:"unitLead"` // before number and unit: "give me"
	Not      []string `json:"not"`      // negates a synonym of consent: "not ok"
	Whole    []string `json:"whole"`    // after a consent it reaches too far: "all", "this"

	And       []string `json:"and"`
	Or        []string `json:"or"`
	From      []string `json:"from"`  // before a range
	To        []string `json:"to"`    // between the ends of a range
	ToEnd     []string `json:"toEnd"` // after a range, without a space
	All       []string `json:"all"`
	Both      []string `json:"both"` // all of two
	None      []string `json:"none"`
	Except    []string `json:"except"`    // between all and what is left out
	ExceptEnd []string `json:"exceptEnd"` // after what is left out, with all in it

	// Numbers and Ordinals hold the words for 1, 2, 3 …, Last those for the last.
	Numbers  [][]string `json:"numbers"`
	Ordinals [][]string `json:"ordinals"`
	Last     []string   `json:"last"`
	// Positions are the forms in which an option is named: {n} is a number in digits or a letter, {w} a
	// word of Numbers, {o} one of Ordinals.
	Positions []string `json:"positions"`
	Pick      []string `json:"pick"` // before a position: "I pick"
	// Tail are endings that may follow a choice without a space, where a language writes so.
	Tail []string `json:"tail"`

	// Outcome are the options of the question about a call that may have run: stop here, treat it as done, run it again.
	Outcome []string `json:"outcome"`
	// Clash are English words that mean something else here and are unclear therefore.
	Clash []string `json:"clash"`
	// Known are common words one letter away from a word that counts, so that they are no typo of it.
	Known []string `json:"known"`
	// DecimalComma says that a point may part thousands.
	DecimalComma bool `json:"decimalComma"`
}

var load = sync.OnceValue(func() map[string]*Language {
	all := map[string]*Language{}
	names, err := files.ReadDir("lang")
	if err != nil {
		panic(fmt.Sprintf("words: list the embedded languages: %v", err))
	}
	for _, f := range names {
		data, err := files.ReadFile(path.Join("lang", f.Name()))
		var l Language
		if err == nil {
			err = json.Unmarshal(data, &l)
		}
		if err != nil {
			panic(fmt.Sprintf("words: read the embedded language %s: %v", f.Name(), err))
		}
		all[l.Tag] = &l
	}
	return all
})

// For returns the words of a language by its BCP 47 tag ("pt-BR" is "pt"); English where a language is
// unknown. The result is shared: it must not be changed.
func For(tag string) *Language {
	tag = strings.ToLower(tag)
	if i := strings.IndexAny(tag, "-_"); i >= 0 {
		tag = tag[:i]
	}
	if old, ok := renamed[tag]; ok {
		tag = old
	}
	if l := load()[tag]; l != nil {
		return l
	}
	return load()["en"]
}

// renamed are tags that platforms still send in an older form.
var renamed = map[string]string{"in": "id", "cmn": "zh", "yue": "zh"}

// Tags lists the languages there are, sorted.
func Tags() []string {
	var out []string
	for t := range load() {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}
