//go:build race

package turn_test

// raced says that the race detector is on: it multiplies memory, so that none is measured.
const raced = true
