package bolt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	bbolt "go.etcd.io/bbolt"
)

// maxFindings bounds a report; what is beyond is counted.
const maxFindings = 1000

// Finding is one thing that is wrong in a file.
type Finding struct {
	// Rule is an invariant of core ("I1"), or "file", "row", "index", "reference".
	Rule string
	// Where is the bucket and the key, readable; "" if it is the whole file.
	Where string
	Text  string
}

func (f Finding) String() string {
	if f.Where == "" {
		return f.Rule + ": " + f.Text
	}
	return f.Rule + ": " + f.Where + ": " + f.Text
}

// Report is what Check found.
type Report struct {
	// Entries is how many entries each bucket has.
	Entries  map[string]int
	Findings []Finding
	// More counts the findings beyond the first 1000.
	More int
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Findings) == 0 }

// String has one line for each finding, or one that says how much was looked at.
func (r Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, f)
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", r.More)
	}
	if r.OK() {
		total := 0
		for n := range maps.Values(r.Entries) {
			total += n
		}
		fmt.Fprintf(&b, "ok: %d entries in %d buckets\n", total, len(r.Entries))
	}
	return b.String()
}

// Check walks the whole file at path and reports every broken page, row, index and invariant. The error
// says that it could not be walked at all: in use, not a store, cut off.
func Check(path string) (Report, error) {
	s, err := openRaw(path)
	if err != nil {
		return Report{}, fmt.Errorf("store: check %s: %w", path, err)
	}
	report, err := s.Check(context.Background())
	return report, joinClose(err, s)
}

// openRaw opens a file to read as it is: neither upgraded nor mended.
func openRaw(path string) (*Store, error) {
	o := Options{ReadOnly: true}.filled()
	if err := prepare(path, true, migrations); err != nil {
		return nil, err
	}
	file, db, err := openDB(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, path: path, file: file, clock: o.Clock, readOnly: true}
	err = s.read(context.Background(), "", func(t *tx) error {
		version, err := getVersion(t)
		if err == nil && version > len(migrations) {
			err = tooNew(version, len(migrations))
		}
		return err
	})
	if err != nil {
		return nil, joinClose(err, s)
	}
	return s, nil
}

// Check walks the open store on one consistent state. Its pages are checked only where the file is open
// read-only: beside a writer bbolt's own check would see pages that come and go.
func (s *Store) Check(ctx context.Context) (Report, error) {
	c := &checker{report: Report{Entries: map[string]int{}}}
	err := s.read(ctx, "", func(t *tx) error {
		c.tx = t
		t.bad = func(b *bucket, k []byte, err error) { c.find("row", b, k, "%v", err) }
		if s.readOnly {
			c.pages(t.btx)
		}
		for _, pass := range []func() error{
			c.count, c.conversations, c.runs, c.steps, c.calls, c.inputs, c.queued, c.unsent, c.log, c.forward, c.backward,
		} {
			if err := c.whole(pass); err != nil {
				c.find("file", nil, nil, "%v", err)
			}
		}
		return nil
	})
	return c.report, err
}

// whole runs a pass; a page that cannot be read ends it and not the check.
func (c *checker) whole(pass func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r.err()
		default:
			panic(r)
		}
	}()
	return pass()
}

// checker collects findings on one transaction.
type checker struct {
	tx     *tx
	report Report
}

func (c *checker) find(rule string, b *bucket, k []byte, format string, args ...any) {
	if len(c.report.Findings) == maxFindings {
		c.report.More++
		return
	}
	f := Finding{Rule: rule, Text: fmt.Sprintf(format, args...)}
	if b != nil {
		f.Where = fmt.Sprintf("%s %q", b, k)
	}
	if !slices.Contains(c.report.Findings, f) {
		c.report.Findings = append(c.report.Findings, f)
	}
}

// pages has bbolt walk its tree.
func (c *checker) pages(btx *bbolt.Tx) {
	for err := range btx.Check() {
		c.find("file", nil, nil, "%v", err)
	}
}

// count counts the entries and finds buckets that are gone, and numbers that would be given twice.
func (c *checker) count() error {
	for _, b := range buckets {
		given, ok := c.tx.exists(b)
		if !ok && b.late {
			continue
		}
		if !ok {
			c.find("file", nil, nil, "bucket %q is gone", b)
			continue
		}
		n, last := 0, uint64(0)
		err := c.tx.scan(b, nil, nil, func(k, _ []byte) (bool, error) {
			if n++; len(k) >= 8 {
				p := parts{b: k[len(k)-8:]}
				last = max(last, p.seq())
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		c.report.Entries[b.String()] = n
		if numbered := b == bQueue || b == bOut || b == bEvent; numbered && given < last {
			c.find("index", b, nil, "its next number is %d, but %d is taken", given+1, last)
		}
	}
	return nil
}
