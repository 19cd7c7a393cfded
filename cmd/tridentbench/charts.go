package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trident-inference/trident/test/chart"
)

// charts returns the charts of a run by the names of their files.
func (r *report) charts() map[string]*chart.Chart {
	list := map[string]*chart.Chart{
		"performance-cores": r.chart("Cores for 10,000 tokens/s, 64 streams at the pace of an engine",
			slices.Concat(r.coreSections(fastPace), r.coreSections(stepPace))),
		"performance-latency": r.chart("Time that is added to the engine's own, 64 streams, a token each 10 ms",
			slices.Concat(r.delaySections("first token", first50, first99), r.delaySections("between tokens", gap50, gap99))),
		"performance-flat":   r.chart("Tokens/s of 64 streams flat out, by a model that costs nothing", r.rateSections(flat64)),
		"performance-readme": r.chart("Trident and other servers of the OpenAI API for Triton", r.readmeSections()),
	}
	for name, c := range list {
		if len(c.Sections) == 0 {
			delete(list, name)
		}
	}
	return list
}

// chart returns a chart with the facts of the run.
func (r *report) chart(title string, sections []chart.Section) *chart.Chart {
	sections = slices.DeleteFunc(sections, func(s chart.Section) bool { return len(s.Bars) == 0 })
	c := &chart.Chart{Title: title, Sections: sections}
	spread := fmt.Sprintf("Medians of %d rounds, with the lowest and the highest.", r.Rounds)
	if r.Rounds < 2 {
		spread = "One round."
	}
	machine, _, _ := strings.Cut(r.Machine, ",")
	version, _, _ := strings.Cut(r.Version, ",")
	c.Notes = []string{fmt.Sprintf("%s %d cores of %s, Trident %s, %s.", spread, r.Cores, machine, version, r.Date)}
	c.Description = fmt.Sprintf("Measured by %s, %s.", r.Command, r.Date)
	if r.Quick {
		c.Notes = append(c.Notes, "This was a quick run: the figures aren't reliable.")
	}
	if missing := r.missing(); len(missing) > 0 {
		c.Notes = append(c.Notes, "Not measured in this run: "+strings.Join(missing, ", ")+".")
	}
	return c
}

// missing returns the servers of other projects that the charts would have.
func (r *report) missing() []string {
	return slices.DeleteFunc([]string{colFrontend, colTrtllm}, func(name string) bool { return slices.Contains(r.Peers, name) })
}

// coreSections returns the cores that 10,000 tokens/s keep busy, a section a setup.
func (r *report) coreSections(pace time.Duration) []chart.Section {
	const perToken = 1e-6 * 10_000 // cores for 1 µs a token
	var list []chart.Section
	for _, s := range r.setups() {
		section := chart.Section{Title: fmt.Sprintf("%s, a token each %d ms", s.title, pace.Milliseconds()), Parts: s.parts, Scale: "cores"}
		for _, of := range s.servers {
			scenario := of.contract(pacedName(64, pace))
			all, ok := r.over(func(r round) float64 { return serverCPU(r, scenario, of.column) * perToken })
			if !ok {
				continue
			}
			bar := chart.Bar{Label: of.label, Own: of.own, Low: all.Min, High: all.Max, Parts: []float64{all.Median}, Value: spreadText(all)}
			if triton, ok := r.over(func(r round) float64 { return tritonCPU(r, scenario, of.column) * perToken }); ok {
				own := max(all.Median-triton.Median, 0)
				bar.Parts = []float64{own, triton.Median}
				bar.Value = fmt.Sprintf("%s + %s = %s", number(own), number(triton.Median), bar.Value)
			}
			section.Bars = append(section.Bars, bar)
		}
		list = append(list, section)
	}
	return list
}

// delaySections returns two quantiles of the time that each server adds, a section a setup.
func (r *report) delaySections(title, half, most string) []chart.Section {
	var list []chart.Section
	for _, s := range r.setups() {
		section := chart.Section{Title: s.title + ": " + title, Parts: []string{"p50", "p99"}, Scale: title}
		for _, of := range s.servers {
			scenario := of.contract(paced64)
			p50, ok := r.over(func(r round) float64 { return added(r, scenario, of.column, half) })
			p99, also := r.over(func(r round) float64 { return added(r, scenario, of.column, most) })
			if !ok || !also {
				continue
			}
			low := max(p50.Median, 0)
			section.Bars = append(section.Bars, chart.Bar{
				Label: of.label, Own: of.own, Low: p99.Min, High: p99.Max, Parts: []float64{low, max(p99.Median-low, 0)},
				Value: fmt.Sprintf("p50 %s, p99 %s ms", spreadText(p50), spreadText(p99)),
			})
		}
		list = append(list, section)
	}
	return list
}

// rateSections returns the tokens/s of a scenario, a section a setup.
func (r *report) rateSections(scenario string) []chart.Section {
	var list []chart.Section
	for _, s := range r.setups() {
		list = append(list, chart.Section{Title: s.title, Scale: tokenRate, Bars: r.bars(s.servers, scenario, tokenRate, "")})
	}
	return list
}

// readmeSections returns what a visitor asks first: tokens/s, and the first token of an idle server. The
// servers before tritonserver serve the same model: that of the ensemble, if the run has it.
func (r *report) readmeSections() []chart.Section {
	var list []chart.Section
	for _, what := range []struct{ title, scenario, metric, unit string }{
		{"Tokens/s, 64 streams flat out", flat64, tokenRate, ""},
		{"First token of an idle server, p50", firstToken, first50, " ms"},
	} {
		contract := ensembleName
		if m := r.scenario(ensembleName(what.scenario)); m == nil || m.column(colRemote) == nil {
			contract = strings.Clone
		}
		servers := []rival{
			{"Trident, in process", colLocal, true, strings.Clone},
			{colFrontend + ", in process", colFrontend, false, strings.Clone},
			{"Trident in front of tritonserver", colRemote, true, contract},
		}
		for _, p := range r.Peers {
			if p != colFrontend {
				servers = append(servers, rival{p + " in front of tritonserver", p, false, contract})
			}
		}
		servers = append(servers, rival{"tritonserver's gRPC, by a client in Go", colText, false, contract})
		list = append(list, chart.Section{Title: what.title, Scale: what.metric, Bars: r.bars(servers, what.scenario, what.metric, what.unit)})
	}
	return list
}

// bars returns a bar a server with its values of a metric.
func (r *report) bars(servers []rival, scenario, metric, unit string) []chart.Bar {
	var list []chart.Bar
	for _, of := range servers {
		v, ok := r.over(func(r round) float64 { return r(of.contract(scenario), of.column, metric) })
		if ok {
			list = append(list, chart.Bar{Label: of.label, Own: of.own, Parts: []float64{v.Median}, Low: v.Min, High: v.Max, Value: spreadText(v) + unit})
		}
	}
	return list
}
