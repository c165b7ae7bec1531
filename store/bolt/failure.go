package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// kindError says in its own words what is wrong, and is of a kind that callers ask for; the kind's own words would
// stand at its end as nothing but a repetition.
type kindError struct{ kind, err error }

// of is an error of a kind.
func of(kind error, format string, args ...any) error {
	return &kindError{kind, fmt.Errorf(format, args...)}
}

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// bare is an error of the file system without the operation and the path, which the caller names: what it was tried on
// may be a file for the time being, whose name tells nobody anything.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// denied says what to do about a file that cannot be opened.
func denied(err error, readOnly bool) error {
	right := "read and write it"
	if readOnly {
		right = "read it"
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: let this user %s, or name another file", bare(err), right)
	}
	return bare(err)
}

// inFolder says what to do about a file that cannot be made in its folder.
func inFolder(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its folder: %w: make the folder first, or name another place", bare(err))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("its folder: %w: let this user write there, or name another place", bare(err))
	}
	return fmt.Errorf("its folder: %w", bare(err))
}
