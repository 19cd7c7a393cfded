package inference

import "crypto/rand"

// reading is how a request's answers are taken apart.
type reading struct {
	dialects Dialects
	options  ParserOptions
}

// planReading finds out whether the answers hold more than text: calls, when the
// model may call, and reasoning, when it is known to write some. A choice that
// demands a call becomes a constraint; one that forbids calls keeps the tools from
// the model.
func (r *run) planReading(dialects Dialects, maxBytes int) error {
	if r.req.Messages == nil {
		return nil
	}
	asked := *r.req
	if asked.ToolChoice.Mode == ToolNone {
		asked.Tools = nil
	}
	if err := r.planTools(dialects, &asked); err != nil {
		return err
	}
	options := ParserOptions{
		Reasoning: r.card.ReasoningParser, Choice: asked.ToolChoice, Definitions: asked.Tools, Single: asked.SingleCall, ID: rand.Text,
		MaxBytes: maxBytes,
	}
	if len(asked.Tools) > 0 {
		options.Tools = r.card.ToolParser
	}
	if len(asked.Tools) > 0 || options.Reasoning != "" {
		r.reading = &reading{dialects: dialects, options: options}
	}
	if dialects.SpecialTokens(options.Tools, options.Reasoning) {
		asked.Sampling.KeepSpecialTokens = true
	}
	r.req = &asked
	return nil
}

// planTools refuses calls that can't be read and constrains those that are
// demanded.
func (r *run) planTools(dialects Dialects, asked *Request) error {
	if len(asked.Tools) > 0 && asked.ToolChoice.Mode == ToolAuto && r.card.ToolParser == "" {
		return Unsupported("tools", "tools are not supported by the model `%s`, as it isn't known how it writes calls: set the parameter %s in its config.pbtxt, or demand a call by tool_choice",
			asked.Model, ParamPrefix+SettingToolParser)
	}
	constraint, err := dialects.Constrain(asked.ToolChoice, asked.Tools, asked.SingleCall)
	switch given := asked.Sampling.Structured; {
	case err != nil:
		return err
	case constraint == nil:
	case given != nil:
		return Invalid(given.Param, "%s and a tool_choice that demands a call can't be used together", given.Param)
	default:
		asked.Sampling.Structured = constraint
	}
	return nil
}

// planConstraint brings the constraint into the form that the model's engine takes.
func (r *run) planConstraint() error {
	given := r.req.Sampling.Structured
	judge, ok := r.card.Backend.(Constrainer)
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

// parse takes the answer of one choice apart.
type parse struct {
	parser Parser
	called bool
	call   [1]ToolCallPiece // what a Delta's ToolCalls points to
}

// newParse is nil when the answer is text as it comes.
func (r *run) newParse(job *Job) (*parse, error) {
	if r.reading == nil {
		return nil, nil //nolint:nilnil // no parser is needed
	}
	options := r.reading.options
	options.Prompt = job.Prompt
	parser, err := r.reading.dialects.Parser(&options)
	return &parse{parser: parser}, err
}

// handParsed gives out a Delta for each piece of the text, in order; they leave
// together. A parser that has all that was asked for, or too much, ends the choice.
func (s *jobStream) handParsed(delta *Delta, emit func(Delta) bool) bool {
	pieces, state := s.parse.parser.Parse(delta.Text)
	delta.Text = nil
	switch state {
	case ParseOpen:
	case ParseComplete:
		s.leave(delta, FinishToolCalls)
	case ParseTooLong:
		s.leave(delta, FinishLength)
	}
	if delta.Finish == FinishNone {
		return s.handPieces(pieces, delta, emit)
	}
	part := &Delta{Index: delta.Index, More: true}
	if !s.handPieces(pieces, part, emit) || state == ParseOpen && !s.handPieces(s.parse.parser.Finish(), part, emit) {
		return false
	}
	if s.parse.called && delta.Finish == FinishStop {
		delta.Finish = FinishToolCalls
	}
	return s.show(delta, emit)
}

// leave ends the choice before the model does.
func (s *jobStream) leave(delta *Delta, finish FinishReason) {
	s.stopped = true
	s.countRest()
	delta.Finish, delta.More = finish, s.only()
}

// handPieces gives out a Delta for each piece; last is the Delta of the last one.
func (s *jobStream) handPieces(pieces []Piece, last *Delta, emit func(Delta) bool) bool {
	if len(pieces) == 0 {
		return s.show(last, emit)
	}
	for i, piece := range pieces {
		delta := Delta{Index: last.Index, More: true}
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

func (p *parse) fill(delta *Delta, piece Piece) {
	switch piece.Kind {
	case PieceText:
		delta.Text = piece.Text
	case PieceReasoning:
		delta.Reasoning = piece.Text
	case PieceCall:
		p.called = true
		p.call[0] = piece.Call
		delta.ToolCalls = p.call[:]
	}
}
