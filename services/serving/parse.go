package serving

import (
	"crypto/rand"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
)

// reading configures the parsing of a request's answers.
type reading struct {
	options inference.ParserOptions
}

// planReading determines whether the answers can contain more than text: calls, if the model may call
// tools, and reasoning, if the model is known to write it. A forced tool call becomes a constraint. A
// choice that forbids calls hides the tools from the model.
func (r *textRun) planReading(cfg *Config) error {
	if r.req.Messages == nil {
		return nil
	}
	asked := *r.req
	if asked.ToolChoice.Mode == inference.ToolNone {
		asked.Tools = nil
	}
	if err := r.planTools(cfg.Names, &asked); err != nil {
		return err
	}
	options := inference.ParserOptions{
		Reasoning: r.card.ReasoningParser, Choice: asked.ToolChoice, Definitions: asked.Tools, Single: asked.SingleCall, ID: rand.Text,
		MaxBytes: cfg.MaxCallBytes,
	}
	if s := asked.Sampling.Structured; s != nil {
		options.Either, options.Native = s.Calls > 0, s.Native
	}
	if asked.Continue {
		options.Continued = asked.Messages[len(asked.Messages)-1].LastText()
	}
	if len(asked.Tools) > 0 {
		options.Tools = r.card.ToolParser
	}
	if len(asked.Tools) > 0 || options.Reasoning != "" {
		r.reading = &reading{options: options}
	}
	asked.Sampling.KeepSpecialTokens = needsSpecialTokens(&options)
	r.req = &asked
	return nil
}

// needsSpecialTokens returns the setting of the parser that needs special tokens in the answer, or
// "". A forced tool call that is JSON needs none.
func needsSpecialTokens(options *inference.ParserOptions) string {
	dialects := toolparser.Dialects{}
	switch {
	case (options.Native || options.Choice.Mode == inference.ToolAuto && !options.Either) && dialects.SpecialTokens(options.Tools, ""):
		return inference.SettingToolParser
	case dialects.SpecialTokens("", options.Reasoning):
		return inference.SettingReasoningParser
	}
	return ""
}

// planTools refuses tools whose calls can't be parsed, and constrains forced tool calls.
func (r *textRun) planTools(names *configfield.Names, asked *inference.Request) error {
	if len(asked.Tools) > 0 && asked.ToolChoice.Mode == inference.ToolAuto && r.card.ToolParser == "" {
		return inference.Unsupported("tools", "tools are not supported by the model `%s`, because the format of its tool calls isn't known. Set it by %s, or by the parameter %s in its config.pbtxt. If the model supports structured outputs, tool_choice can force a tool call",
			asked.Model, names.Of("inference.SettingToolParser"), inference.ParamPrefix+inference.SettingToolParser)
	}
	given := asked.Sampling.Structured
	schema := given != nil && (given.Kind == "json" || given.Kind == "json_object")
	var err error
	switch forced := asked.ToolChoice.Mode == inference.ToolRequired || asked.ToolChoice.Mode == inference.ToolNamed; {
	case forced && given != nil && !schema:
		return inference.Invalid(given.Param, "%s and a tool_choice that forces a tool call can't be used together", given.Param)
	case forced: // the answer is a call, and has no text that the client's schema is about
		asked.Sampling.Structured, err = r.constrainForced(asked)
	case asked.ToolChoice.Mode == inference.ToolAuto && asked.ToolChoice.Allowed != nil && given != nil && !schema:
		return inference.Invalid(given.Param, "%s and a tool_choice of allowed tools can't be used together", given.Param)
	case schema && len(asked.Tools) > 0:
		asked.Sampling.Structured, err = toolparser.Dialects{}.ConstrainEither(asked.ToolChoice, given, asked.Tools)
	case len(asked.Tools) > 0:
		err = r.planFreeCalls(asked)
	}
	return err
}

// constrainForced returns the constraint of forced tool calls: a structural tag in the model's own form
// of calls where the engine enforces it, otherwise a JSON schema.
func (r *textRun) constrainForced(asked *inference.Request) (*inference.Structured, error) {
	schema, err := toolparser.Dialects{}.Constrain(asked.ToolChoice, asked.Tools, asked.SingleCall)
	tagger, ok := r.card.Backend.(inference.Tagger)
	if err != nil || !ok || !tagger.Tags(&r.card.Target) || asked.Continue {
		return schema, err
	}
	native, err := toolparser.Dialects{}.ConstrainForced(r.card.ToolParser, asked.ToolChoice, asked.Tools, asked.SingleCall)
	if err != nil || native == nil {
		return schema, err
	}
	if _, refused := tagger.Constrain(&r.card.Target, native); refused == nil {
		return native, nil
	}
	return schema, nil // the error for the schema is that of planConstraint
}

// planConstraint converts the constraint to the form that the model's engine takes.
func (r *textRun) planConstraint() error {
	given := r.req.Sampling.Structured
	judge, ok := r.card.Backend.(inference.Constrainer)
	if given == nil || !ok {
		return nil
	}
	taken, err := judge.Constrain(&r.card.Target, given)
	if err != nil {
		return err
	}
	asked := *r.req
	asked.Sampling.Structured = taken
	r.req = &asked
	return nil
}

// parse is the parsing of the answer of one choice.
type parse struct {
	parser inference.Parser
	called bool
	call   [1]inference.ToolCallPiece // backing array of a Delta's ToolCalls
}

// newParse returns nil if the answer needs no parsing.
func (r *textRun) newParse(job *inference.Job) (*parse, error) {
	if r.reading == nil {
		return nil, nil //nolint:nilnil // no parser is needed
	}
	options := r.reading.options
	options.Prompt = job.Prompt
	parser, err := toolparser.Dialects{}.Parser(&options)
	return &parse{parser: parser}, err
}

// emitParsed emits a Delta for each piece of the text, in order, without a flush between them. A
// parser that has the requested call, or more bytes than allowed, ends the choice.
func (s *jobStream) emitParsed(delta *inference.Delta, emit func(inference.Delta) bool) bool {
	pieces, state := s.parse.parser.Parse(delta.Text)
	delta.Text = nil
	switch state {
	case inference.ParseOpen:
	case inference.ParseComplete:
		s.finishEarly(delta, inference.FinishStop) // a call that the tool choice doesn't allow is text
	case inference.ParseTooLong:
		s.finishEarly(delta, inference.FinishLength)
	}
	if delta.Finish == inference.FinishNone {
		return s.emitPieces(pieces, delta, emit)
	}
	part := &inference.Delta{Index: delta.Index, More: true}
	if !s.emitPieces(pieces, part, emit) || state == inference.ParseOpen && !s.emitPieces(s.parse.parser.Finish(), part, emit) {
		return false
	}
	if s.parse.called && delta.Finish == inference.FinishStop {
		delta.Finish = inference.FinishToolCalls
	}
	return s.show(delta, emit)
}

// finishEarly ends the choice before the model ends it.
func (s *jobStream) finishEarly(delta *inference.Delta, finish inference.FinishReason) {
	s.stopped = true
	s.countRest()
	delta.Finish, delta.More = finish, s.isOnlyChoice()
}

// emitPieces emits a Delta for each piece. The last piece uses the Delta last.
func (s *jobStream) emitPieces(pieces []inference.Piece, last *inference.Delta, emit func(inference.Delta) bool) bool {
	if len(pieces) == 0 {
		return s.show(last, emit)
	}
	for i, piece := range pieces {
		delta := inference.Delta{Index: last.Index, More: true}
		if i == len(pieces)-1 {
			delta = *last
		}
		s.parse.fill(&delta, piece)
		if !s.show(&delta, emit) {
			return false
		}
	}
	return true
}

func (p *parse) fill(delta *inference.Delta, piece inference.Piece) {
	switch piece.Kind {
	case inference.PieceText:
		delta.Text = piece.Text
	case inference.PieceReasoning:
		delta.Reasoning = piece.Text
	case inference.PieceCall:
		p.called = true
		p.call[0] = piece.Call
		delta.ToolCalls = p.call[:]
	}
}
