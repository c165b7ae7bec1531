package program

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/core"
)

// platform says how a platform's stable person ids look.
type platform struct {
	id   *regexp.Regexp
	want string
	// nobody are ids that the platform puts in place of a person: who listed one would let in everybody
	// who can hide behind it.
	nobody map[string]string
	max    uint64 // of a numeric id, 0 for none
}

var platforms = map[string]platform{
	"slack": {id: regexp.MustCompile(`^([TE][A-Z0-9]+/)?[UW][A-Z0-9]+$`),
		want: "slack:U0123 or slack:T01/U0123, in capitals as the platform shows them"},
	"telegram": {id: regexp.MustCompile(`^[1-9][0-9]{0,15}$`), max: 1<<52 - 1,
		want: "telegram:42, the person's numeric id",
		nobody: map[string]string{
			"1087968824": "stands for every anonymous admin of every group",
			"136817688":  "stands for everybody who writes in the name of a channel",
			"777000":     "stands for the platform's own service messages",
		}},
	"discord": {id: regexp.MustCompile(`^[1-9][0-9]{0,19}$`), max: 1<<64 - 1,
		want: "discord:8142, the person's numeric id"},
	"local": {id: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`), want: "local:alice"},
	"api":   {id: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`), want: "api:deploy"},
}

// person reads a person as the configuration writes one. Whatever could never be matched is refused with
// the form that is expected.
func person(s string) (core.PersonID, error) {
	p, err := core.ParsePerson(s)
	if err != nil {
		return "", err
	}
	surface, id, _ := strings.Cut(s, ":")
	pl, ok := platforms[surface]
	if !ok {
		return "", fmt.Errorf("person %q: there is no platform %q: want slack, telegram, discord, local or api", s, surface)
	}
	if why, is := pl.nobody[id]; is {
		return "", fmt.Errorf("person %q %s, so it is no person: list people by their own ids", s, why)
	}
	fits := pl.id.MatchString(id)
	if fits && pl.max > 0 {
		n, err := strconv.ParseUint(id, 10, 64)
		fits = err == nil && n <= pl.max
	}
	if !fits {
		return "", fmt.Errorf("person %q: want %s", s, pl.want)
	}
	return p, nil
}

// person checks one person at a path; ok is false where there is a problem.
func (c *check) person(at Path, s string) (p core.PersonID, ok bool) {
	if c.ps.has(at) {
		return "", false
	}
	p, err := person(s)
	if err != nil {
		c.ps.add(at, "%s", c.personProblem(at, err))
	}
	return p, err == nil
}

// people checks a list of persons at a path. Each must be of one of the surfaces, where any are given.
func (c *check) people(at Path, list []string, surfaces ...string) []core.PersonID {
	var out []core.PersonID
	for i, s := range list {
		p, ok := c.person(at.index(i), s)
		switch {
		case !ok:
		case slices.Contains(out, p):
			c.ps.add(at.index(i), "%s is listed twice: keep one", c.shown(at.index(i), s))
		case len(surfaces) > 0 && !slices.Contains(surfaces, p.Surface()):
			c.ps.add(at.index(i), "%s can never speak here: want a person of %s", c.shown(at.index(i), s), strings.Join(surfaces, " or "))
		default:
			out = append(out, p)
		}
	}
	return out
}

// personProblem shows a value that was put in as it is written in the file: it may be a secret in the
// wrong place.
func (c *check) personProblem(at Path, err error) string {
	if raw, put := c.raw[at]; put {
		return fmt.Sprintf("the value of %q is no person: want platform:id, such as telegram:42 or local:alice", raw)
	}
	return err.Error()
}
