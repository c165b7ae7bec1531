package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check says why a value does not fit the field, in words a person understands; "" if it fits. Nothing is
// coerced: "false" is not false and 0 is not false.
func (f FormField) Check(value json.RawMessage) string {
	t := jsonType(value)
	switch f.Type {
	case FieldBoolean:
		if t != "boolean" {
			return "want yes or no"
		}
	case FieldInteger, FieldNumber:
		if t != "number" {
			return "want " + f.wantNumber()
		}
		return f.checkNumber(strings.TrimSpace(string(value)))
	case FieldString:
		if t != "string" {
			return "want a text"
		}
		return f.checkString(text(value))
	case FieldEnum:
		if t != "string" || !f.isOption(text(value)) {
			return "want one of " + f.choices()
		}
	case FieldMultiEnum:
		return f.checkList(value)
	default:
		return "this field cannot be answered"
	}
	return ""
}

func (f FormField) wantNumber() string {
	if f.Type == FieldInteger {
		return "a whole number"
	}
	return "a number"
}

func (f FormField) checkNumber(s string) string {
	d, ok := parseDecimal(s)
	if !ok {
		return "the number is too large"
	}
	if f.Type == FieldInteger && !d.integer() {
		return "want a whole number"
	}
	if f.Min != nil {
		c := d.compare(decimalOf(*f.Min))
		if c < 0 || c == 0 && f.MinExclusive {
			return "want " + f.wantNumber() + f.from()
		}
	}
	if f.Max != nil {
		c := d.compare(decimalOf(*f.Max))
		if c > 0 || c == 0 && f.MaxExclusive {
			return "want " + f.wantNumber() + f.from()
		}
	}
	if f.MultipleOf != nil && !d.multipleOf(decimalOf(*f.MultipleOf)) {
		return "want a multiple of " + show(*f.MultipleOf)
	}
	return ""
}

// from words the bounds of a number.
func (f FormField) from() string {
	low, high := "", ""
	if f.Min != nil {
		low = " of at least " + show(*f.Min)
		if f.MinExclusive {
			low = " greater than " + show(*f.Min)
		}
	}
	if f.Max != nil {
		high = " of at most " + show(*f.Max)
		if f.MaxExclusive {
			high = " less than " + show(*f.Max)
		}
	}
	if low != "" && high != "" {
		return low + " and" + high
	}
	return low + high
}

func show(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (f FormField) checkString(s string) string {
	n := utf8.RuneCountInString(s)
	if f.MinLength != nil && n < *f.MinLength {
		return fmt.Sprintf("want at least %s", characters(*f.MinLength))
	}
	if f.MaxLength != nil && n > *f.MaxLength {
		return fmt.Sprintf("want at most %s, it has %d", characters(*f.MaxLength), n)
	}
	if reason := checkFormat(f.Format, s); reason != "" {
		return reason
	}
	if f.Pattern != "" {
		re, err := regexp.Compile(f.Pattern)
		if err != nil || !re.MatchString(s) {
			return "it does not match the pattern " + f.Pattern
		}
	}
	return ""
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return strconv.Itoa(n) + " characters"
}

func (f FormField) checkList(value json.RawMessage) string {
	if jsonType(value) != "array" {
		return "want a list of " + f.choices()
	}
	l := list(value)
	var seen []string
	for _, v := range l {
		s := text(v)
		if jsonType(v) != "string" || !f.isOption(s) {
			return "want only " + f.choices()
		}
		if slices.Contains(seen, s) {
			return fmt.Sprintf("%q is there twice", s)
		}
		seen = append(seen, s)
	}
	if f.MinItems != nil && len(l) < *f.MinItems {
		return fmt.Sprintf("want at least %d", *f.MinItems)
	}
	if f.MaxItems != nil && len(l) > *f.MaxItems {
		return fmt.Sprintf("want at most %d", *f.MaxItems)
	}
	return ""
}

func (f FormField) isOption(s string) bool {
	return slices.ContainsFunc(f.Enum, func(o Option) bool { return o.Value == s })
}

// choices lists what an enum takes, shortened where it is long.
func (f FormField) choices() string {
	var names []string
	for i, o := range f.Enum {
		if i == 10 {
			names = append(names, "…")
			break
		}
		names = append(names, o.Value)
	}
	return strings.Join(names, ", ")
}

// Check lists everything in an answer that does not fit the form, in its order: fields that are bad or
// missing, then those the form does not have. nil: it fits.
func (f Form) Check(fields map[string]json.RawMessage) []FieldError {
	var out []FieldError
	for _, field := range f.Fields {
		value, ok := fields[field.Name]
		switch {
		case !ok && field.Required:
			out = append(out, FieldError{field.Name, "it is missing"})
		case ok:
			if reason := field.Check(value); reason != "" {
				out = append(out, FieldError{field.Name, reason})
			}
		}
	}
	var unknown []string
	for name := range fields {
		if _, ok := f.Field(name); !ok {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		out = append(out, FieldError{name, "the form has no such field"})
	}
	return out
}
