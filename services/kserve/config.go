package kserve

import (
	"time"

	"github.com/trident-inference/trident/services/configfield"
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
	// AllowSharedMemory lets clients register shared memory: then they read and write
	// what processes of this machine share.
	AllowSharedMemory bool
	// GRPCForward and HTTPForward are regular expressions: headers in whose names one is
	// found become parameters of inferences by gRPC and Connect, and by REST. Empty
	// ones forward none.
	GRPCForward, HTTPForward string
	// MaxMessage bounds a message by gRPC on its own port, in bytes, beside the bytes of all
	// bodies: a client's only message may be larger than these. 0 is 2 GiB, as tritonserver
	// has it.
	MaxMessage int64
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
		return configfield.Errorf("kserve.GRPCPort", "%d is no port", c.GRPCPort)
	}
	if c.HTTPPort < 0 || c.HTTPPort > 65535 {
		return configfield.Errorf("kserve.HTTPPort", "%d is no port", c.HTTPPort)
	}
	_, err := newForwarding(c)
	return err
}
