package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// imagePlaces describes how the images of a chat get into its prompt.
type imagePlaces struct {
	shown bool   // the template itself shows images, at their positions
	token string // placeholder of an image, for templates that don't show images; see [inference.TemplateSource]
}

// showsImages probes the template with a list that has an image. A template that
// ignores images renders the same with and without the image.
func (t *template) showsImages() bool {
	text := inference.Part{Kind: inference.PartText, Text: probeText}
	without, err := t.probe(text)
	if err != nil {
		return false
	}
	with, err := t.probe(inference.Part{Kind: inference.PartImage}, text)
	return err == nil && with != without && strings.Contains(with, probeText) && !strings.Contains(with, "'image'")
}

func hasImages(m *inference.Message) bool {
	return slices.ContainsFunc(m.Parts, isImage)
}

func isImage(p inference.Part) bool { return p.Kind == inference.PartImage }

// placer counts the images of a chat.
type placer struct {
	imagePlaces

	placed int
}

// text returns the content of a message as one string. As in vLLM, each image's
// token is on a line before the text, unless the text has the token already.
func (p *placer) text(index int, m *inference.Message) (any, error) {
	content := textOf(m)
	if !hasImages(m) || p.token == inference.NoImageToken {
		return content, nil
	}
	if p.token == "" {
		at := slices.IndexFunc(m.Parts, isImage)
		return nil, inference.Unsupported(m.Parts[at].Path(index, at), "this model takes no image_url content: its chat template shows no images, and the model's parameter trident.image_token, the placeholder of an image in a prompt, is not set")
	}
	text, _ := content.(string) // a message with parts has a string
	rest, lines := text, []string{}
	for _, part := range m.Parts {
		if !isImage(part) {
			continue
		}
		p.placed++
		token := strings.ReplaceAll(p.token, "{n}", strconv.Itoa(p.placed))
		if before, after, found := strings.Cut(rest, token); found {
			rest = before + after
		} else {
			lines = append(lines, token)
		}
	}
	if text != "" {
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n"), nil
}
