package parse

import "math/bits"

// set is a set of options by their index, below maxOptions.
type set [4]uint64

// maxOptions is how many options a list can choose from; of more only one at a time can be chosen.
const maxOptions = 256

func (s *set) add(i int) {
	s[i/64] |= 1 << (i % 64)
}

func (s *set) remove(o set) {
	for i := range s {
		s[i] &^= o[i]
	}
}

func (s set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// list returns the indices in order, never nil.
func (s set) list() []int {
	out := make([]int, 0, s.count())
	for i := range maxOptions {
		if s[i/64]&(1<<(i%64)) != 0 {
			out = append(out, i)
		}
	}
	return out
}

// every is the set of the first n.
func every(n int) (s set) {
	for i := range n {
		s.add(i)
	}
	return s
}
