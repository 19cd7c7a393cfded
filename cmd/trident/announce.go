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
	"sync"
	"text/tabwriter"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/cloud"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/rest"
	"github.com/trident-inference/trident/services/metrics"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/triton/local"
)

// announced are the components whose models and addresses are reported.
type announced struct {
	fx.In

	Models    *catalog.Catalog
	Listener  *server.Listener
	Native    *kserve.Listener
	Local     *local.Engine `optional:"true"`
	Profiles  *server.Profiler
	Shared    *server.Server
	REST      *rest.Server
	GRPC      *kserve.Server
	Metrics   *metrics.Server
	Platforms *cloud.Endpoints
	Log       *slog.Logger
}

// announcement reports the addresses and prints the served models, once the start has succeeded.
// With a JSON log, the models are log lines.
func announcement(cfg config) fx.Option {
	return fx.Invoke(func(parts announced, life fx.Lifecycle) {
		a := &announcer{
			exits: cfg.Local.ExitOnError, out: cfg.Table, log: parts.Log,
			ports:     []reporter{parts.Profiles, parts.Shared, parts.REST, parts.GRPC, parts.Metrics, parts.Platforms},
			addresses: func() string { return addressTable(parts.Listener.URL(), parts.Native, cfg.Server.Playground) },
		}
		if parts.Local != nil {
			a.engine = parts.Local
		}
		if cfg.Table != nil {
			parts.Models.Announce(a.models)
		}
		life.Append(fx.StartStopHook(a.begin, a.end))
	})
}

// reporter is a server that logs its addresses.
type reporter interface{ Report() }

// announcer logs the addresses and prints the tables of models. Both wait until the start has
// succeeded: all components have started, and in-process Triton has loaded the models of the start. A
// start that fails logs no address.
type announcer struct {
	engine    inference.Starter // in-process Triton, or nil
	exits     bool              // a model that in-process Triton can't load ends the start
	ports     []reporter
	addresses func() string // the table of the addresses
	out       io.Writer     // for the tables; nil for none
	log       *slog.Logger

	cancel  context.CancelFunc // ends the wait for the models of in-process Triton
	waiting sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	started  bool       // all components have started
	reported bool       // the ports have logged their addresses
	listed   bool       // the table of the addresses has been printed
	tables   []string   // tables of models that haven't been printed
}

// begin is called when all components have started. It doesn't wait for models.
func (a *announcer) begin() {
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	if a.advance(func() { a.started = true }) {
		return
	}
	a.log.Info("in-process Triton is loading its models; the addresses are logged when it has")
	a.waiting.Go(func() {
		_ = a.engine.AwaitModels(ctx) // advance reads the result
		a.advance(func() {})          //nolint:contextcheck // it doesn't wait
	})
}

// end ends the wait for models.
func (a *announcer) end() {
	a.cancel()
	a.waiting.Wait()
}

// models prints the table of the models, or keeps it until the start has succeeded.
func (a *announcer) models(cards []*catalog.Card) {
	a.advance(func() { a.tables = append(a.tables, modelTable(cards)) })
}

// advance makes a change. If the start has succeeded, advance logs the addresses once and prints the
// tables of models. The first table is followed by that of the addresses. advance reports whether
// the start has succeeded.
func (a *announcer) advance(change func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	if !a.reported {
		if !a.started || !a.loaded() {
			return false
		}
		a.reported = true
		for _, port := range a.ports {
			port.Report()
		}
	}
	if len(a.tables) == 0 {
		return true
	}
	text := strings.Join(a.tables, "")
	if !a.listed {
		text += a.addresses()
	}
	a.tables, a.listed = nil, true
	_, _ = io.WriteString(a.out, text) // a failed write can't be reported
	return true
}

// loaded reports whether in-process Triton has loaded the models of the start, or isn't used. Models
// that can't be loaded matter only if they end the start.
func (a *announcer) loaded() bool {
	if a.engine == nil {
		return true
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // AwaitModels then returns at once
	err := a.engine.AwaitModels(ended)
	return err == nil || !a.exits && !errors.Is(err, context.Canceled)
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
