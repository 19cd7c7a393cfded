package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/triton/fleet"
)

// kserveFlags are the flags of KServe v2, as in Triton's own frontend and
// tritonserver, and the permissions that only operators may give.
type kserveFlags struct {
	EnableKServeFrontends bool                     `name:"enable-kserve-frontends" help:"Open --kserve-grpc-port and --kserve-http-port for the KServe v2 protocol. KServe v2 requests that load models, register shared memory or change trace and log settings are then allowed on all ports."`
	KServeGRPCPort        int                      `name:"kserve-grpc-port" default:"${kserve_grpc_port}" help:"TCP port of KServe v2 over gRPC with --enable-kserve-frontends; 0 takes a free port."`
	KServeHTTPPort        int                      `name:"kserve-http-port" default:"${kserve_http_port}" help:"TCP port of KServe v2 over REST with --enable-kserve-frontends; 0 takes a free port."`
	GRPCRestricted        []auth.KServeRestriction `name:"grpc-restricted-protocol" sep:"\n" type:"lines" placeholder:"GROUP[,GROUP...]:KEY=VALUE" help:"Restrict groups of KServe v2 methods over gRPC and Connect to requests with the header triton-grpc-protocol-KEY: VALUE; repeatable. Example: model-repository:admin-key=secret."`
	HTTPRestricted        []auth.KServeRestriction `name:"http-restricted-api" sep:"\n" type:"lines" placeholder:"GROUP[,GROUP...]:KEY=VALUE" help:"Restrict groups of KServe v2 operations over REST to requests with the header KEY: VALUE; repeatable. Example: model-repository:admin-key=secret."`
	GRPCForward           string                   `name:"grpc-header-forward-pattern" placeholder:"PATTERN" help:"Regular expression for names of request headers that KServe v2 inference over gRPC and Connect forwards to models as parameters. A match anywhere in the name forwards the header, even if the header has credentials. Default: none."`
	HTTPForward           string                   `name:"http-header-forward-pattern" placeholder:"PATTERN" help:"Regular expression for names of request headers that KServe v2 inference over REST forwards to models as parameters. A match anywhere in the name forwards the header, even if the header has credentials. Default: none."`
	GRPCMaxAge            milliseconds             `name:"grpc-max-connection-age" default:"${grpc_max_connection_age}" help:"Time after which a connection of --kserve-grpc-port takes no new calls, so that clients connect again and a load balancer distributes the new connections; 0 means no limit. The value has a unit such as 10m, or is a number of milliseconds. The actual time of each connection is random and differs from the value by up to 10 %."`
	GRPCMaxAgeGrace       milliseconds             `name:"grpc-max-connection-age-grace" default:"${grpc_max_connection_age_grace}" help:"Time that the calls of a connection may take after --grpc-max-connection-age, with a unit such as 1m or in milliseconds; then the calls are ended. 0 means no limit."`
	AllowModelUpload      bool                     `help:"Allow load requests of KServe v2 that contain a configuration or files. Danger: such files may contain code, which this machine then runs."`
	AllowSharedMemory     bool                     `aliases:"allow-client-shm" help:"Allow clients of KServe v2 to register shared memory of this machine. Danger: inference requests can then read and write shared memory of other processes."`
}

// kserveDefaults returns the default values that the struct tags refer to by name.
func kserveDefaults() kong.Vars {
	k := kserve.Default()
	return kong.Vars{
		"kserve_grpc_port": strconv.Itoa(k.GRPCPort), "kserve_http_port": strconv.Itoa(k.HTTPPort),
		"grpc_max_connection_age": durationText(time.Duration(k.MaxConnectionAge) * time.Millisecond), "grpc_max_connection_age_grace": durationText(time.Duration(k.MaxConnectionAgeGrace) * time.Millisecond),
	}
}

// config returns the frontend's configuration. maxMessage is the maximum size of a
// message in bytes.
func (f *kserveFlags) config(shared server.Config, maxMessage int64) kserve.Config {
	return kserve.Config{
		Enabled: f.EnableKServeFrontends, Host: shared.Host, GRPCPort: f.KServeGRPCPort, HTTPPort: f.KServeHTTPPort,
		AllowModelUpload: f.AllowModelUpload, AllowSharedMemory: f.AllowSharedMemory,
		MaxConnectionAge: f.GRPCMaxAge.number(), MaxConnectionAgeGrace: f.GRPCMaxAgeGrace.number(),
		GRPCForward: f.GRPCForward, HTTPForward: f.HTTPForward,
		WriteTimeout: shared.WriteTimeout, ShutdownTimeout: shared.ShutdownTimeout, MaxMessage: maxMessage, Names: shared.Names,
	}
}

// errOwnPort rejects a --triton-endpoint that is a port of this Trident. Trident and tritonserver
// have the same default port for KServe, and a Trident that calls itself calls itself again.
func (f *flags) errOwnPort(cfg config) error {
	if len(f.TritonEndpoint) == 0 && len(cfg.Local.Repositories) > 0 {
		return nil
	}
	here := thisMachine()
	for _, endpoint := range f.endpoints() {
		host, port := fleet.HostPort(endpoint)
		if flag := cfg.ownPort(here, host, port); flag != "" {
			return fmt.Errorf("%s: %s is the port of --triton-endpoint %s: choose another port", flag, port, endpoint)
		}
	}
	return nil
}

// ownPort returns the flag of the port of this Trident that has an address, or "".
func (c config) ownPort(here machine, host, port string) (flag string) {
	type listener struct {
		flag, host string
		port       int
	}
	listeners := []listener{{"--openai-port", c.Server.Host, c.Server.Port}}
	if c.KServe.Enabled {
		listeners = append(listeners, listener{"--kserve-grpc-port", c.KServe.Host, c.KServe.GRPCPort}, listener{"--kserve-http-port", c.KServe.Host, c.KServe.HTTPPort})
	}
	if c.Metrics.Own {
		listeners = append(listeners, listener{"--metrics-port", c.Metrics.Host, c.Metrics.Port})
	}
	for _, l := range listeners {
		if port == strconv.Itoa(l.port) && here.reaches(host, l.host) {
			return l.flag
		}
	}
	return ""
}

// machine has the name and the addresses of this machine.
type machine struct {
	name      string
	addresses []net.IP
}

// thisMachine returns what is known of this machine. Without its name or its addresses, only the
// loopback is known.
func thisMachine() machine {
	var here machine
	here.name, _ = os.Hostname()
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if network, ok := a.(*net.IPNet); ok {
			here.addresses = append(here.addresses, network.IP)
		}
	}
	return here
}

// reaches reports whether connections to a host reach a port that listens on an address of this
// machine. Names other than localhost and the machine's own aren't looked up.
func (m machine) reaches(host, listens string) bool {
	at, ip := net.ParseIP(listens), net.ParseIP(host)
	all := listens == "" || at != nil && at.IsUnspecified()
	switch {
	case m.name != "" && strings.EqualFold(host, m.name):
		return all
	case strings.EqualFold(host, "localhost"):
		return all || strings.EqualFold(listens, "localhost") || at != nil && at.IsLoopback()
	case ip == nil:
		return false
	case !all:
		return ip.IsUnspecified() || ip.Equal(at) || ip.IsLoopback() && strings.EqualFold(listens, "localhost")
	}
	return ip.IsLoopback() || ip.IsUnspecified() || slices.ContainsFunc(m.addresses, ip.Equal)
}
