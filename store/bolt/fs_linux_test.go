package bolt

import (
	"strings"
	"testing"
)

func TestNetworkFileSystems(t *testing.T) {
	t.Parallel()
	if err := checkMagic("/mnt/share", 0x6969); err == nil || !strings.Contains(err.Error(), "NFS") || !strings.Contains(err.Error(), "/mnt/share") {
		t.Errorf("NFS: %v", err)
	}
	if err := checkMagic("/", 0xEF53); err != nil {
		t.Errorf("ext4: %v", err)
	}
}
