package metrics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/trident-inference/trident/services/inference"
)

// The time and size limits of reading the metrics of one Triton.
const (
	sourceTimeout = 3 * time.Second
	sourceLimit   = 16 << 20
)

// source is a Triton whose metrics are added to the page.
type source struct {
	name  string
	fetch func(context.Context) ([]byte, error)
}

// answer has the metrics that were read from one Triton, or the error.
type answer struct {
	source   string
	families []*dto.MetricFamily
	took     time.Duration
	err      error
}

func engineSource(engine inference.Metrics) source { return source{"local", engine.Metrics} }

// urlSource returns the source of the metrics of a remote tritonserver.
func urlSource(client *http.Client, name, url string) source {
	return source{name, func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }() // the body was read or isn't needed
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s responds with the HTTP status %d", name, resp.StatusCode)
		}
		text, err := io.ReadAll(io.LimitReader(resp.Body, sourceLimit+1))
		if err == nil && len(text) > sourceLimit {
			err = fmt.Errorf("the metrics page of %s has more than %d bytes", name, sourceLimit)
		}
		return text, err
	}}
}

// ask reads all sources concurrently.
func ask(ctx context.Context, sources []source) []answer {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	answers := make([]answer, len(sources))
	var asking sync.WaitGroup
	for i, s := range sources {
		asking.Go(func() {
			began := time.Now()
			text, err := s.fetch(ctx)
			a := answer{source: s.name, err: err}
			if err == nil {
				a.families, a.err = parse(text)
			}
			a.took = time.Since(began)
			answers[i] = a
		})
	}
	asking.Wait()
	return answers
}

// parse parses Prometheus's text format. An error discards the whole text: half of a
// page would look like a Triton with less load.
func parse(text []byte) ([]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse Triton's metrics: %w", err)
	}
	all := make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		all = append(all, f)
	}
	return all, nil
}

// merge adds the families of Tritons to ours. If a name occurs twice, our family or the
// first Triton's is kept and others are dropped, except families of the same type from
// several Tritons: those are joined. If there are several Tritons, a label names the
// Triton of each series. merge returns the number of dropped families by Triton.
func merge(own []*dto.MetricFamily, answers []answer) (all []*dto.MetricFamily, dropped map[string]int) {
	byName, ours := map[string]*dto.MetricFamily{}, map[string]bool{}
	for _, f := range own {
		byName[f.GetName()], ours[f.GetName()] = f, true
	}
	dropped = map[string]int{}
	for _, a := range answers {
		for _, f := range a.families {
			if len(answers) > 1 {
				label(f, a.source)
			}
			first := byName[f.GetName()]
			switch {
			case first == nil:
				byName[f.GetName()] = f
			case ours[f.GetName()] || first.GetType() != f.GetType():
				dropped[a.source]++
			default:
				first.Metric = append(first.Metric, f.GetMetric()...)
			}
		}
	}
	all = make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, dropped
}

// label adds a label with the Triton's name to each series.
func label(f *dto.MetricFamily, source string) {
	for _, m := range f.GetMetric() {
		m.Label = append(slices.DeleteFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "triton" }),
			&dto.LabelPair{Name: new("triton"), Value: new(source)})
		slices.SortFunc(m.GetLabel(), func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
}

// keepNames makes Triton's counters untyped, so that OpenMetrics keeps their names. Its
// encoder would append _total to the name of a counter.
func keepNames(all []*dto.MetricFamily) {
	for _, f := range all {
		if f.GetType() != dto.MetricType_COUNTER || strings.HasSuffix(f.GetName(), "_total") {
			continue
		}
		f.Type = dto.MetricType_UNTYPED.Enum()
		for _, m := range f.GetMetric() {
			m.Untyped, m.Counter = &dto.Untyped{Value: new(m.GetCounter().GetValue())}, nil
		}
	}
}

// kvCacheUsage returns the usage of the fullest KV cache that engines report, from 0 to
// 1. The metrics are those of TensorRT-LLM's backend and of vLLM.
func kvCacheUsage(answers []answer) (usage float64, known bool) {
	for _, a := range answers {
		for _, f := range a.families {
			fraction := f.GetName() == "nv_trt_llm_kv_cache_block_metrics"
			if !fraction && f.GetName() != "vllm:kv_cache_usage_perc" && f.GetName() != "vllm:gpu_cache_usage_perc" {
				continue
			}
			for _, m := range f.GetMetric() {
				if fraction && !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
					return l.GetName() == "kv_cache_block_type" && l.GetValue() == "fraction"
				}) {
					continue
				}
				usage, known = max(usage, m.GetGauge().GetValue(), m.GetUntyped().GetValue()), true
			}
		}
	}
	return usage, known
}
