package triton

import (
	"errors"
	"regexp"

	"github.com/trident-inference/trident/services/inference"
)

// Verdict is the conclusion about a model from the end of a stream.
type Verdict uint8

// The conclusions about a model's health from the end of one request.
const (
	NoVerdict         Verdict = iota // the client disconnected, or the request never reached the model
	WorkingModel                     // the model responded
	UnresponsiveModel                // the model may be hung: MaxUnanswered of these verdicts in a row mean that the model is hung
	DeadEngine                       // the engine of the model has ended: no request can succeed
)

// VerdictOn judges the model by the messages of Triton and the engines. It matches
// the start of an error only, because the rest may quote a client. Errors that the
// request caused count as answers. Temporary errors, such as a lack of shared memory,
// count as answers too. A CUDA error that breaks a process permanently is detected by
// the following end of the process or of its engine.
func VerdictOn(err error) Verdict {
	if err == nil {
		return WorkingModel
	}
	var e *inference.Error
	if !errors.As(err, &e) {
		return NoVerdict
	}
	switch {
	case e.Reason == inference.ReasonInactive:
		return UnresponsiveModel
	case e.Code == inference.CodeCanceled, e.Code == inference.CodeDeadlineExceeded, e.Err == nil:
		return NoVerdict
	case isEngineDeath(e.Err.Error()):
		return DeadEngine
	case stubUnresponsive.MatchString(e.Err.Error()):
		return UnresponsiveModel
	case e.Reason == inference.ReasonModelNotReady, e.Reason == inference.ReasonModelNotFound, e.Reason == inference.ReasonShuttingDown,
		e.Reason == inference.ReasonEngineGone:
		return NoVerdict
	}
	return WorkingModel
}

// isEngineDeath reports whether a model's error means that its engine has ended.
func isEngineDeath(text string) bool {
	return engineDied.MatchString(text) || healthCheck.MatchString(text)
}

// Prefixes of an error message that comes from a model's process, or is about that process.
const (
	inProcess = `^Failed to process the request\(s\) for model instance '[^']*', message: `
	ofProcess = `^(?:Failed to process the request\(s\) for model instance '[^']*', message: )?`
)

var (
	// engineDied matches the errors of an engine that runs outside the model's
	// process, or in its background, and has ended. The errors are vLLM's
	// EngineDeadError, messages of earlier vLLM versions, and a message of vLLM's
	// Triton backend.
	engineDied = regexp.MustCompile(ofProcess + `(?:Error generating stream: )?(?:[\w.]*EngineDeadError: )?(?:` +
		`EngineCore encountered an issue|` +
		`Background loop (?:has errored already|is stopped)|` +
		`Engine loop (?:is not running|has died)|` +
		`Task finished unexpectedly|` +
		`Model is unavailable due to unhealthy vLLM engine)`)
	// healthCheck matches the vLLM backend's failure to unload its model. The backend
	// tries that after its health check found the engine dead. The unload fails if
	// the server's control mode doesn't allow unloading.
	healthCheck = regexp.MustCompile(inProcess + `(?:[\w.]*(?:Exception|Error): )?explicit model load / unload is not allowed`)
	// stubUnresponsive matches Triton's error for a process that didn't update its
	// heartbeat for a second. On a busy machine the process may be alive. The end
	// of the process is detected separately.
	stubUnresponsive = regexp.MustCompile(ofProcess + `(?:Stub process (?:'[^']*' )?is not healthy|Failed to obtain the health mutex)`)
)

// deadText is the message for clients when a model's engine has ended.
const deadText = "the model's engine has ended"
