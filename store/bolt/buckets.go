package bolt

import (
	bbolt "go.etcd.io/bbolt"
)

// bucket is one of the file's buckets.
type bucket struct {
	name []byte
	// ordered buckets are filled at the end, or at the ends of few ranges, so their pages can be left nearly full.
	ordered bool
	// rows says that what stands there cannot be made again from other buckets.
	rows bool
	// vital says that a file without it would have lost what waits.
	vital bool
	// late buckets came after the first release: a file that was not opened since lacks them.
	late bool
	// hot rows are read again and again while they stay the same.
	hot bool
}

func (b *bucket) String() string { return string(b.name) }

var (
	bMeta         = &bucket{name: []byte("meta")}
	bConversation = &bucket{name: []byte("conversation"), rows: true, hot: true, vital: true}
	bRun          = &bucket{name: []byte("run"), rows: true, hot: true, vital: true, ordered: true}
	bEnded        = &bucket{name: []byte("ended"), ordered: true}
	bJournal      = &bucket{name: []byte("journal"), rows: true, vital: true, ordered: true}
	bCall         = &bucket{name: []byte("call"), rows: true, hot: true, vital: true, ordered: true}
	bInput        = &bucket{name: []byte("input"), rows: true, hot: true, vital: true, ordered: true}
	bInputRun     = &bucket{name: []byte("input.run"), ordered: true}
	bInputState   = &bucket{name: []byte("input.state"), ordered: true}
	bInputAgent   = &bucket{name: []byte("input.agent"), ordered: true}
	bInputWho     = &bucket{name: []byte("input.who"), ordered: true}
	bInputConv    = &bucket{name: []byte("input.conv")}
	bInputDue     = &bucket{name: []byte("input.due"), ordered: true}
	bPrompt       = &bucket{name: []byte("prompt")}
	bQueue        = &bucket{name: []byte("queue"), rows: true, vital: true}
	bOut          = &bucket{name: []byte("out"), rows: true, hot: true, vital: true}
	bOutHead      = &bucket{name: []byte("out.head")}
	bSeen         = &bucket{name: []byte("seen"), rows: true}
	bSeenAge      = &bucket{name: []byte("seen.age"), ordered: true}
	bEvent        = &bucket{name: []byte("event"), rows: true, ordered: true}
	bEventRun     = &bucket{name: []byte("event.run"), ordered: true}
	bClaim        = &bucket{name: []byte("claim"), rows: true, hot: true}
	bDue          = &bucket{name: []byte("due"), ordered: true}
	bHeld         = &bucket{name: []byte("held")}
	bMemory       = &bucket{name: []byte("memory"), rows: true, late: true}
)

// buckets are all but meta, in the order in which Check reports on them.
var buckets = []*bucket{
	bConversation, bRun, bEnded, bJournal, bCall,
	bInput, bInputRun, bInputState, bInputAgent, bInputWho, bInputConv, bInputDue, bPrompt,
	bQueue, bOut, bOutHead, bSeen, bSeenAge, bEvent, bEventRun, bClaim, bDue, bHeld, bMemory,
}

// fill is how full a page of an ordered bucket is left when it is split.
const fill = 0.9

// create makes every bucket that the file lacks.
func create(btx *bbolt.Tx) error {
	for _, b := range append([]*bucket{bMeta}, buckets...) {
		if _, err := btx.CreateBucketIfNotExists(b.name); err != nil {
			return err
		}
	}
	return nil
}
