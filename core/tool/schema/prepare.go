package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Prepare freezes a model's arguments: parsed strictly, the schema's defaults added at the end of each
// object that is there, white space gone, the model's order of keys kept. problems say, for the model, everything that does not
// fit, each with its path; then frozen is nil. No text at all stands for no arguments.
func (c *Checker) Prepare(arguments json.RawMessage) (frozen json.RawMessage, problems []string) {
	raw := bytes.TrimSpace(arguments)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := wellFormed(raw); err != nil {
		return nil, []string{err.Error() + ": send one JSON object with the arguments"}
	}
	if raw[0] != '{' {
		return nil, []string{"the arguments are " + kindOf(raw) + ": send one JSON object"}
	}
	frozen, err := c.fill(raw)
	if err != nil {
		return nil, []string{err.Error()}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(frozen))
	if err != nil {
		return nil, []string{err.Error()}
	}
	if err := c.schema.Validate(doc); err != nil {
		return nil, list(err)
	}
	return frozen, nil
}

// fill compacts the arguments and adds the defaults of properties that are not there.
func (c *Checker) fill(raw []byte) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := c.defaults.write(&b, raw); err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %w", err)
	}
	return b.Bytes(), nil
}

func kindOf(raw []byte) string {
	switch raw[0] {
	case '[':
		return "a list"
	case 'n':
		return "null"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	default:
		return "a number"
	}
}

// wellFormed refuses what two readers could read differently: bytes that are no UTF-8, invalid JSON, keys
// that occur twice; and numbers whose exponent would take for ever to write out.
func wellFormed(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("the arguments are not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := walk(dec, ""); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("the arguments are not valid JSON: something follows them")
	}
	return nil
}

func walk(dec *json.Decoder, path string) error {
	t, err := dec.Token()
	if err != nil {
		return fmt.Errorf("the arguments are not valid JSON: %w", ended(err))
	}
	switch t := t.(type) {
	case json.Number:
		return sane(t, path)
	case json.Delim:
		seen := map[string]bool{}
		for i := 0; dec.More(); i++ {
			at := path + "/" + strconv.Itoa(i)
			if t == '{' {
				key, err := dec.Token()
				if err != nil {
					return fmt.Errorf("the arguments are not valid JSON: %w", ended(err))
				}
				name := key.(string) // the decoder lets no other token stand for a key
				at = path + "/" + name
				if seen[name] {
					return fmt.Errorf("%s occurs twice", at)
				}
				seen[name] = true
			}
			if err := walk(dec, at); err != nil {
				return err
			}
		}
		if _, err := dec.Token(); err != nil {
			return fmt.Errorf("the arguments are not valid JSON: %w", ended(err))
		}
	}
	return nil
}

func ended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func sane(n json.Number, path string) error {
	i := strings.IndexAny(n.String(), "eE")
	if i < 0 {
		return nil
	}
	if e, err := strconv.Atoi(strings.TrimPrefix(n.String()[i+1:], "+")); err != nil || e > 400 || e < -400 {
		return fmt.Errorf("%s: the number %.40s is out of range", path, n)
	}
	return nil
}

var english = message.NewPrinter(language.English)

// most is how many problems are told at once.
const most = 20

// list writes a validation error as one line a problem, each with the path of the value.
func list(err error) []string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{err.Error()}
	}
	var out []string
	var leaves func(*jsonschema.ValidationError)
	leaves = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			leaves(cause)
		}
		if len(e.Causes) == 0 {
			at := "/" + strings.Join(e.InstanceLocation, "/")
			out = append(out, at+": "+e.ErrorKind.LocalizedString(english))
		}
	}
	leaves(invalid)
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}
