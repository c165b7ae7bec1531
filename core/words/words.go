// Package words holds what people type to answer, as data: one file a language below lang/, and nothing
// else to write when a language is added. parse reads replies by these words and render names them in
// prompts, so that whatever a prompt shows is read back.
//
// A word here is a folded phrase: lower case, one space between its words, straight quotes. The list a
// phrase stands in is its meaning; English is always understood beside a conversation's own language.
package words

// Words are the words a prompt names, one for each thing that can be said.
type Words struct {
	Approve    string `json:"approve"`
	Deny       string `json:"deny"`
	Yes        string `json:"yes"`
	No         string `json:"no"`
	Done       string `json:"done"`
	Cancel     string `json:"cancel"`
	Skip       string `json:"skip"`
	SkipAll    string `json:"skipAll"`
	Back       string `json:"back"`
	Default    string `json:"default"`
	DefaultAll string `json:"defaultAll"`
	Edit       string `json:"edit"` // written before a number: "edit 2"
	Details    string `json:"details"`
	Pending    string `json:"pending"`
	Because    string `json:"because"` // between a refusal and its reason
	All        string `json:"all"`
	None       string `json:"none"`
	Except     string `json:"except"` // between "all" and options: "all except 2"
	True       string `json:"true"`   // a form's yes
	False      string `json:"false"`  // a form's no
}
