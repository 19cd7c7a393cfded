package tritonserver

import (
	"io"
	"os"
	"strings"
)

// tailBytes is how much of the log is read for its last lines.
const tailBytes = 64 << 10

// LogTail gives the last lines of the server's output.
func (s *Server) LogTail(lines int) string {
	file, err := os.Open(s.options.Log.Name())
	if err != nil {
		return err.Error()
	}
	defer file.Close() //nolint:errcheck // only read
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = file.Seek(-tailBytes, io.SeekEnd)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
