package kserve

import (
	"math"
	"time"

	"google.golang.org/grpc/keepalive"

	"github.com/trident-inference/trident/services/configfield"
)

// Config configures the KServe v2 frontend.
type Config struct {
	// Enabled opens the ports of Triton's own protocols. It also allows, on every port,
	// requests that change models, shared memory, and trace and log settings.
	Enabled bool
	// Host is the host to listen on, GRPCPort the port of gRPC and HTTPPort the port of
	// REST. Port 0 takes a free port.
	Host               string
	GRPCPort, HTTPPort int
	// AllowModelUpload allows loads that contain a configuration or files. Such files can be
	// code that this machine then runs.
	AllowModelUpload bool
	// AllowSharedMemory allows clients to register shared memory. Clients can then read and write
	// the shared memory of processes on this machine.
	AllowSharedMemory bool
	// GRPCForward and HTTPForward are regular expressions. Headers whose name matches become
	// parameters of inferences: GRPCForward over gRPC and Connect, HTTPForward over REST. An
	// empty expression forwards none.
	GRPCForward, HTTPForward string
	// MaxMessage is the maximum size, in bytes, of a message on gRPC's own port. The limit on the
	// bytes of all bodies also applies, but allows one larger message of a client that has no
	// other message in flight. 0 means 2 GiB, as in tritonserver.
	MaxMessage int64
	// MaxConnectionAge is how long a connection of gRPC's own port takes new calls, in
	// milliseconds; gRPC varies it by 10 %. Clients open another connection then, without an
	// error. 0 means no limit.
	MaxConnectionAge int
	// MaxConnectionAgeGrace is how long the calls of a connection may continue after
	// MaxConnectionAge, in milliseconds. 0 means no limit.
	MaxConnectionAgeGrace int
	// WriteTimeout is how long a client may read nothing before its stream is aborted.
	WriteTimeout time.Duration
	// ShutdownTimeout is how long calls in flight may continue after the start of a
	// shutdown.
	ShutdownTimeout time.Duration
	// Names has the operators' names of the fields. If it is nil, the fields have their own names.
	Names *configfield.Names
}

// Default returns the configuration without flags, with the values of Triton's own frontend.
func Default() Config {
	return Config{Host: "0.0.0.0", GRPCPort: 8001, HTTPPort: 8000, WriteTimeout: 30 * time.Second, ShutdownTimeout: 30 * time.Second}
}

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	if c.GRPCPort < 0 || c.GRPCPort > 65535 {
		return configfield.Errorf("kserve.GRPCPort", "must be from 0 to 65535, not %d", c.GRPCPort)
	}
	if c.HTTPPort < 0 || c.HTTPPort > 65535 {
		return configfield.Errorf("kserve.HTTPPort", "must be from 0 to 65535, not %d", c.HTTPPort)
	}
	if err := c.validateAge(); err != nil {
		return err
	}
	_, err := newForwarding(c)
	return err
}

// validateAge accepts tritonserver's values, which are of C's type int, if they have an effect.
func (c Config) validateAge() error {
	switch {
	case c.MaxConnectionAge < 0 || c.MaxConnectionAge > math.MaxInt32:
		return configfield.Errorf("kserve.MaxConnectionAge", "must be from 0 to %d milliseconds, not %d", math.MaxInt32, c.MaxConnectionAge)
	case c.MaxConnectionAgeGrace < 0 || c.MaxConnectionAgeGrace > math.MaxInt32:
		return configfield.Errorf("kserve.MaxConnectionAgeGrace", "must be from 0 to %d milliseconds, not %d", math.MaxInt32, c.MaxConnectionAgeGrace)
	case c.MaxConnectionAge > 0 && !c.Enabled:
		return configfield.Errorf("kserve.MaxConnectionAge", "applies only to the port of gRPC: set %s too", c.Names.Of("kserve.Enabled"))
	case c.MaxConnectionAgeGrace > 0 && c.MaxConnectionAge == 0:
		return configfield.Errorf("kserve.MaxConnectionAgeGrace", "has no effect without %s: set both", c.Names.Of("kserve.MaxConnectionAge"))
	}
	return nil
}

// keepalive returns the ages of connections for grpc-go, which has the same meaning of 0, and the
// pings of all connections.
func (c Config) keepalive() keepalive.ServerParameters {
	return keepalive.ServerParameters{
		Time: keepaliveTime, Timeout: keepaliveTimeout,
		MaxConnectionAge:      time.Duration(c.MaxConnectionAge) * time.Millisecond,
		MaxConnectionAgeGrace: time.Duration(c.MaxConnectionAgeGrace) * time.Millisecond,
	}
}
