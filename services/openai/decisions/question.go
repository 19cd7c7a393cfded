package decisions

import (
	"encoding/json"
	"fmt"

	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/strictjson"
)

// The kinds of questions.
const (
	kindPredicate = "predicate"
	kindChoice    = "choice"
	kindScore     = "score"
)

// question is a question of a request.
type question struct {
	kind   string
	name   *string
	asked  serving.DecisionQuestion
	values []json.RawMessage // values of a choice
	labels []string          // labels of a score
	unused []server.IgnoredField
}

// decodeQuestions reads questions that the document's schema has accepted. It refuses values that the
// schema can't exclude.
func decodeQuestions(list []json.RawMessage) ([]question, error) {
	questions := make([]question, len(list))
	for i, raw := range list {
		path := "questions" + strictjson.Index(i)
		err := strictjson.ReadPart(raw, func(r *strictjson.Reader) error { return questions[i].read(r, path) })
		if err != nil {
			return nil, strictjson.BodyError(strictjson.At(path, err))
		}
	}
	return questions, nil
}

// read reads the question at the path.
func (q *question) read(r *strictjson.Reader, path string) error {
	members := map[string]any{}
	var instructions json.RawMessage
	err := r.Object(func(key string) (err error) {
		if key == "instructions" {
			instructions, err = r.Raw()
			return err
		}
		members[key], err = r.Value(true)
		return err
	})
	if err != nil {
		return err
	}
	if name, ok := members["name"].(string); ok {
		q.name = &name
	}
	if q.kind, err = decode.Word(members, "type", []string{kindPredicate, kindChoice, kindScore}); err != nil {
		return err
	}
	if q.asked.Instructions, err = decodeContent(instructions, path+".instructions", userParts()); err != nil {
		return strictjson.At("instructions", err)
	}
	q.ignoreOthers(members, path)
	switch q.kind {
	case kindChoice:
		return q.readChoices(members["choices"])
	case kindScore:
		return q.readLevels(members["levels"])
	}
	q.asked.Task = "Does this hold for the input?"
	q.asked.Options = []string{"it holds", "it doesn't hold"}
	q.asked.Words = []string{"Yes", "No"}
	return nil
}

// ignoreOthers records the members that only questions of other kinds have.
func (q *question) ignoreOthers(members map[string]any, path string) {
	for key, kind := range map[string]string{"choices": kindChoice, "levels": kindScore} {
		if members[key] != nil && q.kind != kind {
			name := path + "." + key
			q.unused = append(q.unused, server.IgnoredField{Name: name, Reason: name + " has no effect: only questions of the type " + kind + " have " + key})
		}
	}
}

// readChoices reads the values of a choice. Models read them as JSON, so that a string differs from a
// boolean.
func (q *question) readChoices(list any) error {
	q.asked.Task = "Options:"
	choices, _ := list.([]any)
	seen := make(map[any]bool, len(choices))
	for i, choice := range choices {
		members, _ := choice.(map[string]any)
		value := members["value"]
		if seen[value] {
			return strictjson.At("choices", strictjson.At(strictjson.Index(i), repeated("value")))
		}
		seen[value] = true
		text := fmt.Sprint(value)
		if s, ok := value.(string); ok {
			text = quoted(s)
		}
		q.values = append(q.values, json.RawMessage(text))
		q.option(text, members)
	}
	return nil
}

// repeated is the error of a member that may occur once in a list.
func repeated(key string) error {
	return &strictjson.Error{Path: key, Message: "repeats an earlier " + key + ": each may occur once", Named: true}
}

// quoted returns a text as JSON. A line feed in it can't begin another option.
func quoted(text string) string { return string(jsonstring.Quoted(text)) }

// readLevels reads the levels of a score.
func (q *question) readLevels(list any) error {
	q.asked.Task = "Levels, from the lowest to the highest:"
	levels, _ := list.([]any)
	seen := make(map[string]bool, len(levels))
	for i, level := range levels {
		members, _ := level.(map[string]any)
		text, _ := members["label"].(string)
		if seen[text] {
			return strictjson.At("levels", strictjson.At(strictjson.Index(i), repeated("label")))
		}
		seen[text] = true
		q.labels = append(q.labels, text)
		q.option(quoted(text), members)
	}
	return nil
}

// option adds an option with its description.
func (q *question) option(text string, members map[string]any) {
	if description, ok := members["description"].(string); ok && description != "" {
		text += " - " + quoted(description)
	}
	q.asked.Options = append(q.asked.Options, text)
}
