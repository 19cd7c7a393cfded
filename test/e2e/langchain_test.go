package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLangChain runs a LangChain application. A proxy checks the responses against the document.
func TestLangChain(t *testing.T) {
	t.Parallel()
	s := serving(t)
	url := new(recording).proxy(t, s.url)
	run := startSDK(t, exec.Command(installed(t, "python"), filepath.Join("python", "langchain_app.py"), url))
	run.awaitSuccess(t)
	t.Log(run.log)
	violations.fail(t)
}
