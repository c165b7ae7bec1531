package core

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a JSON number without loss: digits times ten to the exp. Digits has no zero at either end;
// it is "" for zero.
type decimal struct {
	neg    bool
	digits string
	exp    int64
}

// parseDecimal reads a valid JSON number. It fails only for exponents beyond any use.
func parseDecimal(s string) (decimal, bool) {
	var d decimal
	s, d.neg = strings.CutPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.ParseInt(strings.TrimPrefix(s[i+1:], "+"), 10, 32)
		if err != nil {
			return d, false
		}
		d.exp, s = exp, s[:i]
	}
	whole, frac, _ := strings.Cut(s, ".")
	d.exp -= int64(len(frac))
	d.digits = strings.TrimLeft(whole+frac, "0")
	short := strings.TrimRight(d.digits, "0")
	d.exp += int64(len(d.digits) - len(short))
	d.digits = short
	if short == "" {
		d = decimal{}
	}
	return d, true
}

func decimalOf(f float64) decimal {
	// The shortest decimal is what the schema's author wrote: 0.3 and not 0.299999999999999988.
	d, _ := parseDecimal(strconv.FormatFloat(f, 'g', -1, 64))
	return d
}

func (d decimal) integer() bool { return d.digits == "" || d.exp >= 0 }

func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.neg {
		sign = "-"
	}
	return sign + d.digits + "e" + strconv.FormatInt(d.exp, 10)
}

// compare is -1, 0 or 1 as d is less than, equal to or greater than o.
func (d decimal) compare(o decimal) int {
	if c := cmp.Compare(d.sign(), o.sign()); c != 0 || d.digits == "" {
		return c
	}
	c := cmp.Compare(int64(len(d.digits))+d.exp, int64(len(o.digits))+o.exp)
	if c == 0 {
		c = strings.Compare(d.digits, o.digits) // no trailing zeros: a prefix is the smaller one
	}
	if d.neg {
		return -c
	}
	return c
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	default:
		return 1
	}
}

// multipleOf reports whether d is a whole multiple of o. Numbers too large to divide are not.
func (d decimal) multipleOf(o decimal) bool {
	a, ok1 := d.rat()
	b, ok2 := o.rat()
	if !ok1 || !ok2 || b.Sign() == 0 {
		return false
	}
	return a.Quo(a, b).IsInt()
}

func (d decimal) rat() (*big.Rat, bool) {
	const most = 2000 // digits and exponent: beyond it the division could be made to take for ever
	if len(d.digits) > most || d.exp > most || d.exp < -most {
		return nil, false
	}
	return new(big.Rat).SetString(d.String())
}
