package anthropic

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no request leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
