package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLangChain runs an application of LangChain's; its answers are held to the
// document on their way.
func TestLangChain(t *testing.T) {
	t.Parallel()
	s := serving(t)
	url := new(recording).proxy(t, s.url)
	run := startSDK(t, exec.Command(installed(t, "python"), filepath.Join("python", "langchain_app.py"), url))
	run.awaitSuccess(t)
	t.Log(run.log)
	violations.fail(t)
}
