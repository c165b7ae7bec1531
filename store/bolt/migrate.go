package bolt

import (
	"strconv"

	bbolt "go.etcd.io/bbolt"

	"parley/core/turn"
)

// migration brings a file from the version of its place in the list to the next.
type migration struct {
	name string
	up   func(*bbolt.Tx) error
}

// migrations are in order and are never changed once released; the last one's number is this program's
// version. The first stands for the layout that new files are made with, and changes nothing.
var migrations = []migration{
	{name: "the first layout", up: func(*bbolt.Tx) error { return nil }},
}

func getVersion(t *tx) (int, error) {
	raw := string(t.get(bMeta, []byte("version")))
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 {
		return 0, of(turn.ErrDamaged, "it is damaged: its version reads %q: restore a backup", raw)
	}
	return n, nil
}

func setVersion(btx *bbolt.Tx, n int) error {
	return btx.Bucket(bMeta.name).Put([]byte("version"), []byte(strconv.Itoa(n)))
}

func tooNew(version, known int) error {
	return of(ErrVersion, "a newer Parley wrote it: it has store version %d and this program knows %d: start the newer program, or restore a backup from before", version, known)
}
