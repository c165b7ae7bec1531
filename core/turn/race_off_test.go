//go:build !race

package turn_test

const raced = false
