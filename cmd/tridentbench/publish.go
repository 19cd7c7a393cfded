package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trident-inference/trident/test/chart"
)

// Targets of make whose reports have a summary and charts.
const (
	commandBench = "make bench"
	commandPeers = "make bench-peers"
	// summaryBlock is the name of the block of a document with the summary.
	summaryBlock = "make bench-peers, summary,"
)

// publication is the settings of the summary and the charts.
type publication struct {
	Charts    string  `placeholder:"DIR" help:"Folder to write the charts (SVG, light and dark) to."`
	CorePrice float64 `default:"0.04" help:"Price of a core for an hour, in dollars, for the cost of a million tokens."`
}

// publish writes the summary into a document, unless it is "", and the charts.
func (p *publication) publish(r *report, document string) error {
	if document != "" {
		if err := writeMarked(document, summaryBlock, r.summary(p.CorePrice)); err != nil {
			return err
		}
	}
	if p.Charts == "" {
		return nil
	}
	return draw(p.Charts, r.charts())
}

// draw writes the charts by their names, in each theme.
func draw(folder string, charts map[string]*chart.Chart) error {
	for name, c := range charts {
		for _, theme := range chart.Themes() {
			path := filepath.Join(folder, name+"-"+theme.Name+".svg")
			if err := os.WriteFile(path, c.SVG(&theme), 0o644); err != nil { //nolint:gosec // G306: a picture that all may read
				return err
			}
		}
	}
	return nil
}

// reportCommand writes the outputs of a run from its JSON file.
type reportCommand struct {
	publication

	JSON        string `name:"json" placeholder:"FILE" help:"File that a run wrote by --json, to write its tables, summary and charts again."`
	Report      string `placeholder:"FILE" help:"Markdown file to write the tables and the summary to, between their marker comments."`
	Reliability string `placeholder:"FILE" help:"Markdown file with the tables of runs of make soak, to draw a chart of."`
}

// Run writes the outputs.
func (c *reportCommand) Run() error {
	if c.JSON == "" && c.Reliability == "" {
		return errors.New("nothing to report: set --json or --reliability")
	}
	if c.JSON != "" {
		r, err := readReport(c.JSON)
		if err != nil {
			return err
		}
		if err := errors.Join(r.write("", c.Report), c.publish(r, c.Report)); err != nil {
			return err
		}
	}
	if c.Reliability == "" || c.Charts == "" {
		return nil
	}
	drawn, err := reliabilityChart(c.Reliability)
	if err != nil {
		return err
	}
	return draw(c.Charts, map[string]*chart.Chart{"reliability": drawn})
}

// readReport reads the samples of a recorded run, and computes the tables and figures again.
func readReport(path string) (*report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &report{Command: commandBench}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Command != commandBench && r.Command != commandPeers {
		return nil, fmt.Errorf("%s is of %s; only reports of %s and %s have a summary and charts", path, r.Command, commandBench, commandPeers)
	}
	if r.Peers == nil {
		r.Peers = r.otherColumns()
	}
	r.finish(r.Took, append(figures(), peerFigures(r.Peers)...))
	return r, nil
}

// otherColumns returns the columns of the report that aren't the bench's own.
func (r *report) otherColumns() []string {
	own := map[string]bool{}
	for _, s := range scenarios() {
		for _, name := range s.columns {
			own[name] = true
		}
	}
	var list []string
	for _, m := range r.Scenarios {
		for _, c := range m.Columns {
			if !own[c.Column] && !slices.Contains(list, c.Column) {
				list = append(list, c.Column)
			}
		}
	}
	return list
}

// setup is servers of the same kind before the same models.
type setup struct {
	title   string
	parts   []string // names of the processes whose CPU time is shown
	servers []rival
}

// rival is one of the compared servers: a row of the summary, and a bar of the charts.
type rival struct {
	label, column string
	own           bool                         // it is Trident
	contract      func(scenario string) string // the scenario with the models of the setup
}

// setups returns the servers that are compared.
func (r *report) setups() []setup {
	local := []rival{{"Trident", colLocal, true, strings.Clone}, {colFrontend, colFrontend, false, strings.Clone}}
	vllm := []rival{{"Trident", colRemote, true, strings.Clone}}
	ensemble := []rival{{"Trident", colRemote, true, ensembleName}}
	for _, p := range r.Peers {
		if p != colFrontend {
			vllm = append(vllm, rival{p, p, false, strings.Clone})
			ensemble = append(ensemble, rival{p, p, false, ensembleName})
		}
	}
	vllm = append(vllm, rival{"gRPC client in Go, all outputs", colBare, false, strings.Clone}, rival{"gRPC client in Go, text alone", colText, false, strings.Clone})
	ensemble = append(ensemble, rival{"gRPC client in Go, text alone", colText, false, ensembleName})
	before := []string{"own process", "tritonserver"}
	return []setup{
		{"Triton in the same process", nil, local},
		{"In front of tritonserver, tensors of the vLLM backend", before, vllm},
		{"In front of tritonserver, tensors of TensorRT-LLM's ensemble", before, ensemble},
	}
}

// over returns the values of the rounds, or false if no round has one.
func (r *report) over(value func(round) float64) (spread, bool) {
	var values []float64
	for _, of := range r.rounds() {
		if v := value(of); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return spreadOf(values)
}

// summary returns what the run means to an operator: a row a server, at 64 streams with a token each
// 10 ms. The price is that of a core for an hour.
func (r *report) summary(price float64) []byte {
	const tokens, million = 10_000, 1e6
	t := table{{"64 streams, a token each 10 ms", "cores for 10,000 tokens/s", "tokens/s a core", "added to the first token, ms: p50, p99", "added between tokens, ms: p50, p99", "cents a million tokens"}}
	for _, s := range r.setups() {
		for _, of := range s.servers {
			scenario := of.contract(paced64)
			cores, ok := r.over(func(r round) float64 { return serverCPU(r, scenario, of.column) * 1e-6 * tokens })
			if !ok {
				continue
			}
			hours := cores.Median * million / tokens / 3600
			name := of.label
			if of.own {
				name = "**" + name + "**"
			}
			t = append(t, []string{
				s.title + ": " + name, spreadText(cores), number(tokens / cores.Median),
				r.addedText(scenario, of.column, first50, first99), r.addedText(scenario, of.column, gap50, gap99),
				fine(hours * price * 100),
			})
		}
	}
	var b bytes.Buffer
	facts, _, _ := strings.Cut(r.header(), "\n") // the notes are with the tables
	fmt.Fprintf(&b, "\nBy `%s`: %s\n\n", r.Command, facts)
	t.markdown(&b)
	fmt.Fprintf(&b, "A core costs $%g an hour in this table. Cost of a million tokens = cores for 10,000 tokens/s × 100 s ÷ 3,600 s × price of a core-hour.\n\n", price)
	return b.Bytes()
}

// addedText returns the medians of two quantiles that a server adds to the engine's own.
func (r *report) addedText(scenario, column, half, most string) string {
	var texts []string
	for _, metric := range []string{half, most} {
		v, ok := r.over(func(r round) float64 { return added(r, scenario, column, metric) })
		if !ok {
			return ""
		}
		texts = append(texts, number(v.Median))
	}
	return strings.Join(texts, ", ")
}

// spreadText returns the median with the lowest and the highest value.
func spreadText(s spread) string {
	if s.Rounds < 2 {
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s..%s)", number(s.Median), number(s.Min), number(s.Max))
}
