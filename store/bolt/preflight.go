package bolt

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"

	"parley/core/turn"
)

// The layout of bbolt's two meta pages: a page header of 16 bytes, then these fields, then a checksum.
const (
	pageHeader = 16
	metaSize   = 64
	metaMagic  = 0xED0CDAED
)

// metaPage is what a start depends on.
type metaPage struct {
	pageSize uint32
	root     uint64 // page ids
	freelist uint64
	pages    uint64 // how many pages the file has at least
	txid     uint64
}

// preflight reads the meta pages before the file is mapped: bbolt trusts them, and a page beyond the end
// of a mapped file kills the process.
func preflight(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size == 0 {
		return of(turn.ErrDamaged, "it is empty, which no store ever is: restore a backup, or remove it to begin anew")
	}
	metas, marked := readMetas(f)
	if len(metas) == 0 && marked {
		return of(turn.ErrDamaged, "it is damaged: neither of its meta pages can be read: restore a backup")
	}
	if len(metas) == 0 {
		return of(ErrFormat, "it is not a store of Parley but a file of another format: name another path")
	}
	best := metas[0]
	for _, m := range metas[1:] {
		if m.txid > best.txid {
			best = m
		}
	}
	if best.root >= best.pages || best.freelist >= best.pages && best.freelist != 1<<64-1 {
		return of(turn.ErrDamaged, "it is damaged: its meta page points beyond the end: restore a backup")
	}
	if want := best.pages * uint64(best.pageSize); uint64(size) < want {
		return of(turn.ErrDamaged, "it is damaged: it is cut off at %d bytes where its last commit had %d: restore a backup", size, want)
	}
	return nil
}

// readMetas returns the valid meta pages; marked says that one at least looks like bbolt's.
func readMetas(r io.ReaderAt) (metas []metaPage, marked bool) {
	seen := map[int64]bool{}
	try := func(at int64) {
		if seen[at] {
			return
		}
		seen[at] = true
		m, err := readMeta(r, at)
		marked = marked || err == nil || errors.Is(err, turn.ErrDamaged)
		if err == nil {
			metas = append(metas, m)
		}
	}
	try(0)
	if len(metas) == 1 {
		try(int64(metas[0].pageSize))
		return metas, marked
	}
	for size := int64(1024); size <= 64<<10; size *= 2 {
		try(size)
	}
	return metas, marked
}

func readMeta(r io.ReaderAt, at int64) (m metaPage, err error) {
	raw := make([]byte, pageHeader+metaSize)
	if _, err := r.ReadAt(raw, at); err != nil {
		return m, err
	}
	raw = raw[pageHeader:]
	ne := binary.NativeEndian
	if ne.Uint32(raw) != metaMagic {
		return m, ErrFormat
	}
	sum := fnv.New64a()
	_, _ = sum.Write(raw[:metaSize-8])
	if ne.Uint64(raw[metaSize-8:]) != sum.Sum64() {
		return m, turn.ErrDamaged
	}
	m = metaPage{
		pageSize: ne.Uint32(raw[8:]), root: ne.Uint64(raw[16:]),
		freelist: ne.Uint64(raw[32:]), pages: ne.Uint64(raw[40:]), txid: ne.Uint64(raw[48:]),
	}
	if m.pageSize < 512 || m.pageSize > 1<<20 || m.pages > 1<<48 {
		return m, turn.ErrDamaged
	}
	return m, nil
}
