package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/rest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/triton/local"
)

// announced are the components whose models and addresses are printed.
type announced struct {
	fx.In

	Models *catalog.Catalog
	Shared *server.Listener
	KServe *kserve.Listener
	Local  *local.Engine `optional:"true"`
}

// announcement prints the served models and addresses once the models are known, unless a model that
// can't be loaded ends the start. With a JSON log, the models are log lines, as the address is.
func announcement(cfg config) fx.Option {
	if cfg.Table == nil {
		return fx.Options()
	}
	return fx.Invoke(func(a announced) {
		a.Models.Announce(func(cards []*catalog.Card) {
			if a.Local != nil && cfg.Local.ExitOnError && startFails(a.Local) {
				return
			}
			_, _ = io.WriteString(cfg.Table, modelTable(cards)+addressTable(a.Shared.URL(), a.KServe, cfg.Server.Playground)) // a failed write can't be reported
		})
	})
}

// startFails reports whether a model couldn't be loaded at start. It doesn't wait for models that
// are still being loaded.
func startFails(engine *local.Engine) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := engine.AwaitModels(ctx)
	return err != nil && !errors.Is(err, context.Canceled)
}

// sealReport logs the origin of the seal keys once the ports are open. A port in use is then the
// only text of a failed start.
func sealReport() fx.Option {
	return fx.Invoke(func(_ openPorts, frontend *openai.Handler, log *slog.Logger, life fx.Lifecycle) {
		life.Append(fx.StartHook(func() { frontend.ReportSealKeys(log) }))
	})
}

// modelTable returns a table with a line for each model that is loaded or should
// have been loaded.
func modelTable(cards []*catalog.Card) string {
	rows := [][]string{{"MODEL", "VERSION", "STATUS", "KIND", "TEMPLATE", "PARSERS", "TOKENIZER", "CONTEXT"}}
	idle := 0
	for _, card := range cards {
		switch card.State {
		case inference.ModelNeverLoaded:
			idle++
		case inference.ModelReady:
			rows = append(rows, []string{card.Name, card.Version, string(card.State), card.Kind(), template(card), parsers(card), tokenizerOf(card), contextLength(card)})
		case inference.ModelLoading, inference.ModelUnloading, inference.ModelUnavailable:
			rows = append(rows, []string{card.Name, cmp.Or(card.Version, "-"), status(card), "-", "-", "-", "-", "-"})
		}
	}
	text := ""
	if len(rows) > 1 {
		text = align(rows)
	}
	if idle > 0 {
		text += fmt.Sprintf("models of the repository that are not loaded: %d\n", idle)
	}
	return "\n" + cmp.Or(text, "no models\n") + "\n"
}

// maxReason is the maximum length in bytes of Triton's text about a model.
const maxReason = 160

// status returns the model's state and Triton's reason for it, on one line.
func status(card *catalog.Card) string {
	reason, _, _ := strings.Cut(card.Reason, "\n")
	reason = strings.Map(func(r rune) rune {
		if r < ' ' { // a tab would end the column
			return ' '
		}
		return r
	}, reason)
	switch {
	case reason == "":
		return string(card.State)
	case len(reason) > maxReason:
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return string(card.State) + ": " + reason
}

// template returns the origin of the chat template.
func template(card *catalog.Card) string {
	for _, s := range card.Settings {
		if s.Name == inference.SettingChatTemplate || s.Name == inference.SettingHistoryTemplate {
			return s.Origin
		}
	}
	if card.Fetching {
		return "being fetched"
	}
	return "none"
}

func tokenizerOf(card *catalog.Card) string {
	if card.Tokenizer == nil {
		return "the engine's"
	}
	return fmt.Sprintf("%d tokens", card.Tokenizer.Size())
}

// parsers returns the parsers of chats, which need a template.
func parsers(card *catalog.Card) string {
	if card.Template == nil {
		return "-"
	}
	return card.Parsers()
}

func contextLength(card *catalog.Card) string {
	if card.ContextLength == 0 {
		return "unknown"
	}
	return strconv.Itoa(card.ContextLength)
}

func addressTable(url string, native ports, playground bool) string {
	var rows [][]string
	if playground {
		rows = append(rows, []string{"playground", url + "/"})
	}
	rows = append(rows, [][]string{
		{"OpenAI API", url + "/v1"},
		{"Connect, gRPC, gRPC-Web", url},
		{"health", url + "/health/ready"},
		{"KServe v2 by REST", cmp.Or(native.URL(), url) + rest.Path},
	}...)
	if address := native.Addr(); address != nil {
		name := "KServe v2 by gRPC"
		if strings.HasPrefix(url, "https:") {
			name += " with TLS"
		}
		rows = append(rows, []string{name, address.String()})
	}
	return align(rows) + "\n"
}

// ports are KServe v2's own ports. They have no address before they are open.
type ports interface {
	Addr() net.Addr
	URL() string
}

// align aligns cells in columns.
func align(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(w, strings.Join(row, "\t")+"\n") // writing to a strings.Builder never fails
	}
	_ = w.Flush()
	return b.String()
}
