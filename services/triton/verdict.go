package triton

import (
	"errors"
	"regexp"

	"github.com/trident-inference/trident/services/inference"
)

// Verdict is what the end of a stream says about its model.
type Verdict uint8

// The verdicts.
const (
	NoVerdict   Verdict = iota // the client disconnected, or the request never reached the model
	SoundModel                 // the model answered
	SilentModel                // the model may be hung: a few of these count
	DeadEngine                 // the model can't answer any more
)

// VerdictOn judges by Triton's and the engines' own texts, which stand at the
// beginning of an error: what a client wrote may be quoted further on. Errors that
// are the request's fault, or that may pass, as a lack of shared memory, are
// answers. A CUDA error that spoils a process for good is known by the end of the
// process or of its engine, which follows.
func VerdictOn(err error) Verdict {
	if err == nil {
		return SoundModel
	}
	var e *inference.Error
	if !errors.As(err, &e) {
		return NoVerdict
	}
	switch {
	case e.Reason == inference.ReasonInactive:
		return SilentModel
	case e.Code == inference.CodeCanceled, e.Code == inference.CodeDeadlineExceeded, e.Err == nil:
		return NoVerdict
	case saysDead(e.Err.Error()):
		return DeadEngine
	case stubSilent.MatchString(e.Err.Error()):
		return SilentModel
	case e.Reason == inference.ReasonModelNotReady, e.Reason == inference.ReasonModelNotFound, e.Reason == inference.ReasonShuttingDown,
		e.Reason == inference.ReasonEngineGone:
		return NoVerdict
	}
	return SoundModel
}

// saysDead reports whether a model's error says that its engine has ended.
func saysDead(text string) bool { return engineDied.MatchString(text) || healthCheck.MatchString(text) }

// Texts before an error that comes from a model's process, or of it.
const (
	inProcess = `^Failed to process the request\(s\) for model instance '[^']*', message: `
	ofProcess = `^(?:Failed to process the request\(s\) for model instance '[^']*', message: )?`
)

var (
	// engineDied are the errors of an engine that runs apart from the model's
	// process, or in its background, and has ended: vLLM's EngineDeadError and
	// what its earlier versions said, and what its backend for Triton says of it.
	engineDied = regexp.MustCompile(ofProcess + `(?:Error generating stream: )?(?:[\w.]*EngineDeadError: )?(?:` +
		`EngineCore encountered an issue|` +
		`Background loop (?:has errored already|is stopped)|` +
		`Engine loop (?:is not running|has died)|` +
		`Task finished unexpectedly|` +
		`Model is unavailable due to unhealthy vLLM engine)`)
	// healthCheck is how the vLLM backend fails when its health check has found the
	// engine dead and wants the model to be unloaded, where the server's control mode
	// doesn't allow that.
	healthCheck = regexp.MustCompile(inProcess + `(?:[\w.]*(?:Exception|Error): )?explicit model load / unload is not allowed`)
	// stubSilent is Triton's word that the process didn't give a sign of life for
	// a second. On a busy machine it may live all the same: its end is told apart.
	stubSilent = regexp.MustCompile(ofProcess + `(?:Stub process (?:'[^']*' )?is not healthy|Failed to obtain the health mutex)`)
)

// deadText is what clients read of an engine that has ended.
const deadText = "the model's engine has ended"
