package turn

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestPictureCacheIsBounded(t *testing.T) {
	t.Parallel()
	var p pictures
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	big := make([]byte, pictureCache/4)
	for i := range 4 {
		p.put(fmt.Sprint(i), big, nil, now)
	}
	if _, _, ok := p.get("0", now); !ok {
		t.Fatal("the first is gone though all fit")
	}
	p.put("4", big, nil, now)
	if _, _, ok := p.get("1", now); ok {
		t.Error("the least used is still there")
	}
	if _, _, ok := p.get("0", now); !ok || p.bytes > pictureCache {
		t.Errorf("the one just used is gone, or %d bytes are kept", p.bytes)
	}
	p.put("4", nil, errors.New("gone"), now)
	if p.bytes != 3*len(big) {
		t.Errorf("%d bytes are counted after one was replaced", p.bytes)
	}
	if _, err, ok := p.get("4", now.Add(pictureTryAgain-1)); !ok || err == nil {
		t.Error("a failure is forgotten at once")
	}
	if _, _, ok := p.get("4", now.Add(pictureTryAgain)); ok {
		t.Error("a failure is remembered for ever")
	}
	for i := range 2 * keptMost {
		p.put(fmt.Sprint("small", i), nil, errors.New("gone"), now)
	}
	if n := p.order.Len(); n != keptMost || len(p.byKey) != n {
		t.Errorf("%d entries are kept, %d keys", n, len(p.byKey))
	}
}
