package kserve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config of the KServe v2 frontend.
type Config struct {
	// Enabled opens the ports of Triton's own protocols, and allows on every port
	// what they change: models, shared memory, trace and log settings.
	Enabled bool
	// Host to listen on, GRPCPort by gRPC and HTTPPort by REST; port 0 takes a free
	// one.
	Host               string
	GRPCPort, HTTPPort int
	// AllowModelUpload lets a load bring a configuration or files of its own, which
	// can be code that this machine then runs.
	AllowModelUpload bool
	// AllowSharedMemory lets clients register shared memory although others than
	// this machine's processes may reach the ports.
	AllowSharedMemory bool
	// Restrictions of groups of methods to clients that know a header, by gRPC and
	// Connect, and HTTPRestrictions by REST.
	Restrictions, HTTPRestrictions []Restriction
	// GRPCForward and HTTPForward are regular expressions: headers in whose names one is
	// found become parameters of inferences by gRPC and Connect, and by REST. Empty
	// ones forward none.
	GRPCForward, HTTPForward string
	// WriteTimeout ends a stream whose client takes nothing for this long.
	WriteTimeout time.Duration
	// ShutdownTimeout is how long calls in flight may go on after a stop was asked
	// for.
	ShutdownTimeout time.Duration
}

// Default is the configuration without flags, as Triton's own frontend has it.
func Default() Config {
	return Config{Host: "0.0.0.0", GRPCPort: 8001, HTTPPort: 8000, WriteTimeout: 30 * time.Second, ShutdownTimeout: 30 * time.Second}
}

// Validate names the flag that can't be used.
func (c Config) Validate() error {
	if c.GRPCPort < 0 || c.GRPCPort > 65535 {
		return fmt.Errorf("--kserve-grpc-port: %d is no port", c.GRPCPort)
	}
	if c.HTTPPort < 0 || c.HTTPPort > 65535 {
		return fmt.Errorf("--kserve-http-port: %d is no port", c.HTTPPort)
	}
	if _, err := newForwarding(c); err != nil {
		return err
	}
	return errors.Join(restrictedOnce("--grpc-restricted-protocol", c.Restrictions), restrictedOnce("--http-restricted-api", c.HTTPRestrictions))
}

func restrictedOnce(flag string, all []Restriction) error {
	var groups []string
	for _, r := range all {
		for _, group := range r.Groups {
			if slices.Contains(groups, group) {
				return fmt.Errorf("%s: %s is restricted twice", flag, group)
			}
			groups = append(groups, group)
		}
	}
	return nil
}

// Restriction closes groups of methods to clients that don't send a header.
type Restriction struct {
	Groups []string
	// Key is the header's name, by gRPC and Connect that behind triton-grpc-protocol-,
	// and Value what it must be.
	Key, Value string
}

// UnmarshalText reads GROUP[,GROUP…]:KEY=VALUE, as tritonserver does, and with a comma
// for the colon, as its --help says.
func (r *Restriction) UnmarshalText(text []byte) error {
	left, value, ok := strings.Cut(string(text), "=")
	colon := strings.LastIndexByte(left, ':')
	if colon < 0 {
		colon = strings.LastIndexByte(left, ',')
	}
	if !ok {
		return errors.New("must be GROUP[,GROUP...]:KEY=VALUE, and has no =") // what it has may be secret
	}
	if colon < 0 || colon == len(left)-1 || value == "" {
		return fmt.Errorf("must be GROUP[,GROUP...]:KEY=VALUE, not %q and a value", left)
	}
	r.Groups, r.Key, r.Value = strings.Split(left[:colon], ","), left[colon+1:], value
	for _, group := range r.Groups {
		if !slices.Contains(groupNames(), group) {
			return fmt.Errorf("%q is none of the groups %s", group, strings.Join(groupNames(), ", "))
		}
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (r Restriction) MarshalText() ([]byte, error) {
	return []byte(strings.Join(r.Groups, ",") + ":" + r.Key + "=" + r.Value), nil
}

// The groups of methods, by tritonserver's names.
const (
	groupHealth          = "health"
	GroupMetadata        = "metadata"
	GroupInference       = "inference"
	groupSharedMemory    = "shared-memory"
	groupModelConfig     = "model-config"
	GroupModelRepository = "model-repository"
	GroupStatistics      = "statistics"
	groupTrace           = "trace"
	groupLogging         = "logging"
)

func groupNames() []string {
	return []string{
		groupHealth, GroupMetadata, GroupInference, groupSharedMemory, groupModelConfig,
		GroupModelRepository, GroupStatistics, groupTrace, groupLogging,
	}
}
