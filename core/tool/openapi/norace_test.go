//go:build !race

package openapi_test

// slower is how much slower the race detector makes a test.
const slower = 1
