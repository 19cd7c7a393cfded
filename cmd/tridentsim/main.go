// Command tridentsim simulates a fleet of inference servers, to compare rules that choose an
// endpoint for a request. It runs the code of services/balance, which the engine over many
// endpoints runs too, and the rules of other projects. Its servers are models of vLLM's
// scheduler and prefix cache with a simulated clock: the results show how rules compare, and
// aren't a forecast of the speed of some hardware.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tridentsim:", err)
		os.Exit(1)
	}
}

// run parses the arguments, simulates and prints the results.
func run(args []string, out, log io.Writer) error {
	var o options
	exit := -1
	parser, err := kong.New(&o, kong.Name("tridentsim"), kong.Description(description+ruleHelp()),
		kong.Writers(out, log), kong.Vars{"rules": strings.Join(ruleNames(), ", ")}, kong.Exit(func(code int) { exit = code }))
	if err != nil {
		return err
	}
	_, err = parser.Parse(args)
	if exit == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return simulate(&o, out, log)
}

const description = `Compare rules that choose an endpoint for a request, by simulating vLLM-like servers.

Without flags it runs two workloads with all rules: a copy of llm-d's published b2b-saas run, and requests drawn from the published statistics of Mooncake's conversation trace. The same flags and the same seed print the same bytes.`

// ruleHelp returns a paragraph for each rule, with its source and its defaults.
func ruleHelp() string {
	var b strings.Builder
	for _, r := range rules() {
		fmt.Fprintf(&b, "\n\nRule %s: %s.", r.name, r.source)
		switch r.validated {
		case "":
			b.WriteString(" No published result was reproduced with it.")
		case ownCode:
			b.WriteString(" It is " + ownCode + ".")
		default:
			fmt.Fprintf(&b, " Published result that it reproduces: %s.", r.validated)
		}
	}
	return b.String()
}

// options are the command-line flags. Each constant of the model has its source in its help.
type options struct {
	Workload  string   `enum:"all,b2b-saas,conversation,scale,short" default:"all" help:"Workload to simulate: b2b-saas is the ladder of rates of llm-d's guide precise-prefix-cache-aware (benchmark-templates/guide.yaml): 150 prefixes of 6,000 tokens, 5 questions of 1,200 tokens for each, answers of 1,000 tokens, 3 to 60 requests/s. conversation draws requests from the statistics of Mooncake's conversation trace. scale has the prompts of b2b-saas with 19 prefixes and 1.85 requests/s for each endpoint, which are about 105 streams. short is the minute that the slow tier of the tests also sends to four real servers. all runs the first two."`
	Trace     string   `placeholder:"FILE" help:"Trace in Mooncake's JSONL format to simulate instead: timestamp in ms, input_length, output_length, hash_ids of blocks of 512 tokens."`
	Tolerant  bool     `help:"Skip invalid lines of the trace and report them, instead of failing at the first one."`
	Limit     int      `default:"0" help:"Number of requests of the trace to use; 0 uses all of them."`
	Speed     float64  `default:"1" help:"Factor of the trace's rate: 2 sends the requests in half the time."`
	Rule      []string `placeholder:"NAME" help:"Rule to run, repeatable; without it all rules run. Names: ${rules}."`
	Endpoints int      `default:"0" help:"Number of endpoints; 0 is 8, as in llm-d's run, and 1,000 for scale."`
	Fault     string   `enum:"none,dead,frozen,slow" default:"none" help:"Fault of one endpoint: dead refuses connections, frozen doesn't answer and is ejected after 2.5 s, slow takes 5 times as long. Trident's rules only."`
	FaultAt   float64  `default:"75" help:"Seconds from the beginning of the last stage to the fault."`
	Frontends int      `default:"1" help:"Number of frontends that share nothing; each request goes to a random one."`
	Seed      uint64   `default:"20261126" help:"Seed of all random numbers."`

	Plot string `placeholder:"DIR" help:"Folder to write a plot (SVG) of each workload to, with the distribution of the times to the first token."`

	Model model `embed:"" prefix:"" group:"Constants of the servers' model:"`
}

// model has the constants of a server.
type model struct {
	BatchTokens   int     `default:"8192" help:"Maximum number of tokens of a step. Source: vLLM's default of max_num_batched_tokens for its OpenAI server on GPUs with 70 GiB or more (vllm/engine/arg_utils.py)."`
	BatchRequests int     `default:"1024" help:"Maximum number of requests of a step. Source: vLLM's default of max_num_seqs for the same GPUs (vllm/engine/arg_utils.py)."`
	CacheTokens   int     `default:"307328" help:"Tokens of the KV cache. Source: llm-d's blog of 2025-09-24, appendix A.1, for Qwen3-32B on two H100."`
	PromptTime    float64 `default:"48.8" help:"Microseconds to compute a prompt token: 8,192 take 0.4 s. Source: 2 x 32.8e9 FLOP a token at 68 % of the 1,979 TFLOP/s that two H100 have by their data sheet."`
	StepTime      float64 `default:"14" help:"Milliseconds of a step without prompt tokens. Source: 65.6 GB of weights at 70 % of the 6.7 TB/s of two H100."`
	ContextTime   float64 `default:"0.056" help:"Microseconds of a step for each token of the contexts of streams. Source: 262,144 bytes of KV cache a token (64 layers, 8 heads, 128 values, 2 bytes, keys and values) at 70 % of 6.7 TB/s."`
}

// check returns an error if a flag is out of range.
func (o *options) check() error {
	for name, ok := range map[string]bool{
		"--fault-at":       o.FaultAt >= 0,
		"--speed":          o.Speed > 0,
		"--frontends":      o.Frontends >= 1 && o.Frontends <= 1000,
		"--endpoints":      o.Endpoints >= 0 && o.Endpoints <= 10_000,
		"--batch-tokens":   o.Model.BatchTokens > 0,
		"--batch-requests": o.Model.BatchRequests > 0,
		"--cache-tokens":   o.Model.CacheTokens > 0,
		"--prompt-time, --step-time, --context-time": o.Model.PromptTime >= 0 && o.Model.StepTime > 0 && o.Model.ContextTime >= 0,
	} {
		if !ok {
			return fmt.Errorf("%s is out of range", name)
		}
	}
	for _, name := range o.Rule {
		if ruleNamed(name) == nil {
			return fmt.Errorf("--rule: %q is unknown: use one of %s", name, strings.Join(ruleNames(), ", "))
		}
	}
	return nil
}
