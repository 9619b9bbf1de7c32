package systemd

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// IsJournal reports whether what is written to w goes to the journal: JOURNAL_STREAM names the device and the inode of
// the stream that systemd has opened, which a child's redirected output is not.
func IsJournal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	var st syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &st) == nil && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
