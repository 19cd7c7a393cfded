//go:build cgo && linux

package local

import (
	"errors"
	"regexp"

	"github.com/trident-inference/trident/services/inference"
)

// verdict is what the end of a stream says about its model.
type verdict uint8

const (
	noVerdict   verdict = iota // the client left, or the request never reached the model
	soundModel                 // it answered
	silentModel                // it may be hung: a few of these count
	deadEngine                 // it can't answer any more
)

// verdictOn judges by Triton's and the engines' own texts, which stand at the
// beginning of an error: what a client wrote may be quoted further on. Errors that
// are the request's fault, or that may pass, as a lack of shared memory, are
// answers. A CUDA error that spoils a process for good is known by the end of the
// process or of its engine, which follows.
func verdictOn(err error) verdict {
	if err == nil {
		return soundModel
	}
	var e *inference.Error
	if !errors.As(err, &e) {
		return noVerdict
	}
	switch {
	case e.Reason == inference.ReasonInactive:
		return silentModel
	case e.Code == inference.CodeCanceled, e.Code == inference.CodeDeadlineExceeded, e.Err == nil:
		return noVerdict
	case engineDied.MatchString(e.Err.Error()):
		return deadEngine
	case stubSilent.MatchString(e.Err.Error()):
		return silentModel
	case e.Reason == inference.ReasonModelNotReady, e.Reason == inference.ReasonModelNotFound, e.Reason == inference.ReasonShuttingDown:
		return noVerdict
	}
	return soundModel
}

// of the process is what Triton's Python backend writes before an error that comes
// from a model's process, or of it.
const ofProcess = `^(?:Failed to process the request\(s\) for model instance '[^']*', message: )?`

var (
	// engineDied are the errors of an engine that runs apart from the model's
	// process, or in its background, and has ended: vLLM's EngineDeadError and
	// what its earlier versions said.
	engineDied = regexp.MustCompile(ofProcess + `(?:Error generating stream: )?(?:[\w.]*EngineDeadError: )?(?:` +
		`EngineCore encountered an issue|` +
		`Background loop (?:has errored already|is stopped)|` +
		`Engine loop (?:is not running|has died)|` +
		`Task finished unexpectedly)`)
	// stubSilent is Triton's word that the process didn't give a sign of life for
	// a second. On a busy machine it may live all the same: its end is told apart.
	stubSilent = regexp.MustCompile(ofProcess + `(?:Stub process (?:'[^']*' )?is not healthy|Failed to obtain the health mutex)`)
)
