package bolt

import (
	"fmt"
	"syscall"
)

// networks are the file systems on which a lock or a mapping of one machine means nothing to another.
var networks = map[uint32]string{
	0x6969: "NFS", 0x517B: "SMB", 0xFE534D42: "SMB", 0xFF534D42: "CIFS", 0x5346414F: "AFS", 0x6B414653: "AFS",
	0x73757245: "Coda", 0x00C36400: "Ceph", 0x0BD00BD0: "Lustre", 0x47504653: "GPFS", 0x564C: "NCP",
}

// checkFileSystem refuses a directory on a network file system.
func checkFileSystem(dir string) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return nil // what is wrong with the path shows when it is opened
	}
	return checkMagic(dir, uint32(st.Type))
}

func checkMagic(dir string, magic uint32) error {
	if name, ok := networks[magic]; ok {
		return fmt.Errorf("%s is on a network file system (%s), where a file lock does not keep a second program out: use a local disk", dir, name)
	}
	return nil
}
