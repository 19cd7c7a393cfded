package server

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// HostCheck refuses requests to a loopback port whose Host isn't a name of this machine. A page
// in a browser of this machine can make its own name resolve to a loopback address (DNS
// rebinding). To the browser the server then has the page's origin. If clients need a key
// or a certificate, such a page has neither, and every Host is served, as on ports that
// other machines can reach. HostCheck may be used concurrently.
type HostCheck struct {
	listener     *Listener
	gate         *auth.Gate
	certificates *Certificates
	names        []string // further values of Host that are served, in lower case
	setting      string   // operators' name of the field that allows further host names
}

// NewHostCheck returns the host check of a port.
func NewHostCheck(cfg Config, listener *Listener, certificates *Certificates, gate *auth.Gate) HostCheck {
	names := []string{"localhost", "host.docker.internal", "host.containers.internal"}
	if own, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(own))
	}
	for _, name := range cfg.AllowedHosts {
		names = append(names, strings.ToLower(name))
	}
	return HostCheck{listener: listener, gate: gate, certificates: certificates, names: names, setting: cfg.Names.Of("server.AllowedHosts")}
}

// Check returns an error for a Host or :authority that isn't served.
func (d HostCheck) Check(host string) error {
	if !d.listener.Loopback() || d.gate.Keyed() || d.certificates.WantsClients() || d.serves(host) {
		return nil
	}
	message := "this server doesn't serve the host name in the request: allow it with " + d.setting + "=NAME, or give clients API keys"
	if d.gate == nil { // without a gate, keys change nothing
		message = "this port doesn't serve the host name in the request: allow it with " + d.setting + "=NAME, or use the IP address of the port in the request"
	}
	return &inference.Error{Code: inference.CodeForbidden, Reason: inference.ReasonHost, Message: message}
}

// serves reports whether a host is an IP address or one of the names. An empty host is
// served: HTTP/1.0 clients may omit it, which no browser does.
func (d HostCheck) serves(host string) bool {
	if host == "" {
		return true
	}
	name := hostName(host)
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return slices.Contains(d.names, name) || strings.HasSuffix(name, ".localhost")
}

// hostName returns a host without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		return strings.TrimSuffix(inner, "]")
	}
	return host
}

// validateHost returns an error for a string that can't be the name of a host in a request.
func validateHost(name string) error {
	if name == "" || hostName(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/@*?#%", r) }) {
		return configfield.Errorf("server.AllowedHosts", "%q is not a host name: give a name such as models.example.com, without scheme and port", name)
	}
	return nil
}

// handler responds with 421 to requests for another host (RFC 9110, 15.5.20).
func (d HostCheck) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := d.Check(r.Host); err != nil {
			refuseEarly(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}
