package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// peer is another server of the OpenAI API, which the user has started. It is a column of
// the scenarios of chats.
type peer struct {
	name   string
	url    *url.URL
	pid    int  // process id of the server, or 0 if its CPU time isn't measured
	triton bool // the peer uses the tritonserver of --triton, whose CPU time is then measured too
	// models are the peer's names of the bench's models. If it is nil, they have the
	// bench's names.
	models map[string]string
}

// UnmarshalText parses NAME=URL, followed by settings that are separated by commas:
// model=[OURS:]THEIRS, which is repeatable, pid=PID and tritonserver.
func (p *peer) UnmarshalText(text []byte) (err error) {
	address, rest, more := strings.Cut(string(text), ",")
	name, address, _ := strings.Cut(address, "=")
	if p.name = name; name == "" || address == "" {
		return fmt.Errorf("%q isn't NAME=URL", text)
	}
	if p.url, err = url.Parse(address); err != nil {
		return err
	}
	if p.url.Scheme != "http" || p.url.Port() == "" {
		return fmt.Errorf("%s=%s must be http://host:port/v1", name, address)
	}
	if !more {
		return nil
	}
	for setting := range strings.SplitSeq(rest, ",") {
		if err := p.set(setting); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (p *peer) set(setting string) error {
	key, value, _ := strings.Cut(setting, "=")
	switch key {
	case "pid":
		pid, err := strconv.Atoi(value)
		if err != nil || pid <= 0 {
			return fmt.Errorf("pid=%s isn't a process id", value)
		}
		p.pid = pid
		return nil
	case "tritonserver":
		p.triton = true
		return nil
	case "model":
		ours, theirs, both := strings.Cut(value, ":")
		if !both {
			ours, theirs = flatModel, value
		}
		if theirs == "" || !slices.Contains(modelNames(), ours) {
			return fmt.Errorf("model=%s isn't a name, or OURS:THEIRS with one of the bench's models %s", value, strings.Join(modelNames(), ", "))
		}
		if p.models == nil {
			p.models = map[string]string{}
		}
		p.models[ours] = theirs
		return nil
	}
	return fmt.Errorf("unknown setting %q: use model=[OURS:]THEIRS, pid=PID or tritonserver", setting)
}

// modelNames returns the names of the models that peers can serve.
func modelNames() []string {
	var names []string
	for _, m := range models(true) {
		if !m.Echo {
			names = append(names, m.Name)
		}
	}
	return names
}

// column returns the column of a peer, which worker calls.
func (p *peer) column(worker *worker, triton tritonAddress) *column {
	c := &column{name: p.name, worker: worker, address: p.url.Host, path: strings.TrimSuffix(p.url.Path, "/"), peer: p}
	if !strings.HasSuffix(c.path, "/chat/completions") {
		c.path += "/chat/completions"
	}
	if p.pid != 0 {
		c.roles = []role{{roleTrident, p.pid}}
	}
	if p.triton {
		c.roles = append(c.roles, triton.roles()...)
	}
	return c
}

// model returns the peer's name of one of the bench's models, or "" if it has none.
func (p *peer) model(ours string) string {
	if p.models == nil {
		return ours
	}
	return p.models[ours]
}

// model returns the column's name of one of the bench's models, or "" if it has none.
func (c *column) model(ours string) string {
	if c.peer == nil {
		return ours
	}
	return c.peer.model(ours)
}

// notMeasured returns a line for each figure that the settings of the peers and of tritonserver
// leave out.
func (b *bench) notMeasured() []string {
	var lines []string
	if t := b.options.Triton; t.grpc != "" {
		lines = append(lines, "tritonserver at "+t.grpc+": all rounds use the same process")
		if t.pid == 0 {
			lines = append(lines, "tritonserver at "+t.grpc+": no CPU time and memory, because --triton has no pid=PID")
		}
	}
	for i := range b.options.Peer {
		p := &b.options.Peer[i]
		if p.pid == 0 {
			lines = append(lines, fmt.Sprintf("%s: no CPU time and memory, because --peer has no pid=PID for it", p.name))
		}
		var left []string
		for j := range b.scenarios {
			if s := &b.scenarios[j]; s.chats() && p.model(s.job.Model) == "" {
				left = append(left, s.name)
			}
		}
		if len(left) > 0 {
			lines = append(lines, fmt.Sprintf("%s: not in %s, because --peer has no model=OURS:THEIRS for their models", p.name, strings.Join(left, ", ")))
		}
	}
	return lines
}

// validatePeers returns an error if two peers have the same name, or a process doesn't
// exist.
func (o *options) validatePeers() error {
	seen := map[string]bool{}
	for _, s := range scenarios() {
		for _, name := range s.columns {
			seen[name] = true
		}
	}
	for i := range o.Peer {
		p := &o.Peer[i]
		if seen[p.name] {
			return fmt.Errorf("--peer: there are two columns of the name %s", p.name)
		}
		seen[p.name] = true
		if p.triton && o.Triton.grpc == "" {
			return fmt.Errorf("--peer: %s: tritonserver needs --triton, because the bench's own tritonserver is a new one in each round", p.name)
		}
		if p.pid == 0 {
			continue
		}
		if _, err := cpuTime(p.pid); err != nil {
			return fmt.Errorf("--peer: %s: %w", p.name, err)
		}
	}
	return nil
}
