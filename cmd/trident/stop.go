package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/triton/local"
)

// duplicateSignalWindow is the time after the first signal in which another signal counts as the first
// one, because a terminal and a supervisor may both send it. A signal that is sent 200 ms
// later is the second one even if the first was delivered late.
const duplicateSignalWindow = 100 * time.Millisecond

// stopSlack is the additional time for the whole stop beyond the sum of its parts.
const stopSlack = 10 * time.Second

// stopSignals returns channels of the first and of the second signal that stop the server.
// After the call these signals don't end the process by themselves.
func stopSignals() (first, second <-chan os.Signal) {
	all := make(chan os.Signal, 16)
	signal.Notify(all, syscall.SIGINT, syscall.SIGTERM)
	one, two := make(chan os.Signal, 1), make(chan os.Signal, 1)
	go sortSignals(all, one, two)
	return one, two
}

// sortSignals forwards the first and the second signal.
func sortSignals(all <-chan os.Signal, first, second chan<- os.Signal) {
	first <- <-all
	for began := time.Now(); ; {
		if sig := <-all; time.Since(began) >= duplicateSignalWindow {
			second <- sig
			return
		}
	}
}

// secondSignalError is returned when a second signal ended the server.
type secondSignalError struct{ syscall.Signal }

// Error implements error.
func (s secondSignalError) Error() string {
	return "the process was ended at once by a second signal: " + s.String()
}

// exitCode returns 128 plus the signal's number, as shells report for a process that a
// signal ended.
func (s secondSignalError) exitCode() int { return 128 + int(s.Signal) }

// parts are the components that a stop queries.
type parts struct {
	fx.In

	Service *serving.Service
	Local   *local.Engine `optional:"true"`
}

// execution is one run of the program, from its start to its stop.
type execution struct {
	config config
	log    *slog.Logger
	app    *fx.App
	parts  parts
	report time.Duration // interval of the lines about a stop that waits; 0 means waitReport
}

// run serves until the first signal, or a failure, and stops in order.
func (s *execution) run(first <-chan os.Signal, failures <-chan error) error {
	started := make(chan error, 1)
	go func() { started <- s.app.Start(context.Background()) }()
	var err, failure error
	var sig os.Signal
	select {
	case err = <-started:
	case sig = <-first:
		s.log.Info("stopping once the start has finished; a second signal ends the process at once", "signal", sig.String())
		s.parts.Service.Admission().Leave()
		err = <-started
	}
	if err != nil {
		return dig.RootCause(err)
	}
	if sig == nil {
		select {
		case sig = <-first:
		case failure = <-failures:
		}
		if failure == nil {
			failure = s.leave(sig, failures)
		}
	}
	if failure != nil {
		s.log.Error("stopping after a failure; a second signal ends the process at once", append(s.pending(), "error", failure)...)
	} else {
		s.log.Info("stopping; a second signal ends the process at once", append(s.pending(), "signal", sig.String())...)
	}
	return errors.Join(failure, s.stop())
}

// leave makes the server not ready and serves for the drain delay after SIGTERM. It returns the
// failure that ends the serving earlier.
func (s *execution) leave(sig os.Signal, failures <-chan error) error {
	delay := s.config.Server.DrainDelay
	if sig != syscall.SIGTERM || delay == 0 {
		return nil
	}
	s.parts.Service.Admission().Leave()
	s.log.Info("not ready any more, and serving for the drain delay; a second signal ends the process at once", "drain_delay", delay, "signal", sig.String())
	late := time.NewTimer(delay)
	defer late.Stop()
	select {
	case <-late.C:
		return nil
	case failure := <-failures:
		return failure
	}
}

// waitReport is the interval of the log lines about what a stop still waits for.
const waitReport = 5 * time.Second

func (s *execution) stop() error {
	began := time.Now()
	ctx, done := context.WithTimeout(context.Background(), s.app.StopTimeout())
	defer done()
	stopped := make(chan error, 1)
	go func() { stopped <- s.app.Stop(ctx) }()
	report := time.NewTicker(cmp.Or(s.report, waitReport))
	defer report.Stop()
	for {
		select {
		case err := <-stopped:
			s.log.Info("stopped", "after", time.Since(began).Round(time.Millisecond))
			return err
		case <-report.C:
			s.log.Info("still stopping; a second signal ends the process at once", s.remaining(time.Since(began))...)
		}
	}
}

// remaining returns log attributes of what a stop still waits for, and for how long at most.
func (s *execution) remaining(elapsed time.Duration) []any {
	whole := max(0, s.app.StopTimeout()-elapsed).Round(time.Second)
	requests := inFlight(s.parts.Service.Meters().Figures())
	grace := s.config.Server.ShutdownTimeout - elapsed
	switch {
	case len(requests) > 0 && grace > 0:
		return []any{"waits_for", "requests in flight", "requests", strings.Join(summary(requests), ", "), "at_most", grace.Round(time.Second)}
	case len(requests) > 0:
		return []any{"waits_for", "cancelled requests", "requests", strings.Join(summary(requests), ", "), "at_most", whole}
	case s.parts.Local != nil:
		return []any{"waits_for", "in-process Triton to unload its models", "at_most", whole}
	}
	return []any{"waits_for", "the components of the server", "at_most", whole}
}

// pending returns log attributes of the work that a stop waits for, with the time limits.
func (s *execution) pending() []any {
	requests := inFlight(s.parts.Service.Meters().Figures())
	attributes := []any{"requests_in_flight", len(requests), "in_flight_timeout", s.config.Server.ShutdownTimeout}
	if len(requests) > 0 {
		attributes = append(attributes, "requests", strings.Join(summary(requests), ", "))
	}
	if s.parts.Local != nil {
		attributes = append(attributes, "models_to_unload", strings.Join(s.loaded(), ", "), "unload_timeout", s.config.Local.StopLimit())
	}
	return attributes
}

// inFlight returns one element for each request in flight: its surface, operation and
// model.
func inFlight(figures []metering.Figures) []string {
	var all []string
	for _, f := range figures {
		name := string(f.Surface) + " " + string(f.Operation)
		if f.Model != "" {
			name += " of model " + f.Model
		}
		all = append(all, slices.Repeat([]string{name}, max(f.InFlight, 0))...)
	}
	return all
}

// summary counts equal elements.
func summary(requests []string) []string {
	counts := map[string]int{}
	for _, name := range requests {
		counts[name]++
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[name], name))
	}
	return lines
}

// listTime is the time limit for in-process Triton to list its models for the log.
const listTime = 100 * time.Millisecond

// loaded returns the models that in-process Triton has loaded or is loading.
func (s *execution) loaded() []string { return loaded(s.parts.Local.Models) }

// loaded lists the models. A Triton that hangs doesn't delay the stop beyond listTime.
func loaded(list func(context.Context) ([]inference.Model, error)) []string {
	answer := make(chan []inference.Model, 1)
	go func() {
		models, _ := list(context.Background()) // nil if the engine fails
		answer <- models
	}()
	var models []inference.Model
	select {
	case models = <-answer:
	case <-time.After(listTime):
		return []string{"unknown, because Triton doesn't respond"}
	}
	var names []string
	for _, m := range models {
		if m.State == inference.ModelReady || m.State == inference.ModelLoading {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// end ends the server immediately, including its models' processes.
func (s *execution) end(sig os.Signal) error {
	requests := inFlight(s.parts.Service.Meters().Figures())
	s.log.Warn("second signal: ending the process at once", "signal", sig.String(), "requests_cut", len(requests))
	if s.parts.Local != nil {
		s.parts.Local.Kill()
	}
	number, _ := sig.(syscall.Signal) // signals of this system have this type
	return secondSignalError{number}
}
