package turn

import (
	"container/list"
	"sync"
	"time"
)

// pictures keeps what was read, in memory only and up to a number of bytes: the least used go first. It also
// remembers for a while what could not be opened. The zero value works.
type pictures struct {
	mu    sync.Mutex
	bytes int
	byKey map[string]*list.Element
	order list.List // of kept, the last used at the front
}

type kept struct {
	key  string
	data []byte
	err  error
	at   time.Time
}

// keptMost bounds how many pictures are remembered, those that could not be opened among them.
const keptMost = 1000

func (p *pictures) get(key string, now time.Time) (data []byte, err error, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	el := p.byKey[key]
	if el == nil {
		return nil, nil, false
	}
	k := el.Value.(kept)
	if k.err != nil && now.Sub(k.at) >= pictureTryAgain {
		p.drop(el)
		return nil, nil, false
	}
	p.order.MoveToFront(el)
	return k.data, k.err, true
}

func (p *pictures) put(key string, data []byte, err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey == nil {
		p.byKey = map[string]*list.Element{}
	}
	if el := p.byKey[key]; el != nil {
		p.drop(el)
	}
	p.byKey[key] = p.order.PushFront(kept{key, data, err, now})
	p.bytes += len(data)
	for p.bytes > pictureCache || p.order.Len() > keptMost {
		p.drop(p.order.Back())
	}
}

func (p *pictures) drop(el *list.Element) {
	k := p.order.Remove(el).(kept)
	p.bytes -= len(k.data)
	delete(p.byKey, k.key)
}
