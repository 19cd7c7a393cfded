package inference

import (
	"context"
	"net"
	"net/netip"
)

// Surface is the API that received a request.
type Surface string

// The surfaces: the APIs through which requests arrive. The set is fixed to bound the number of
// metric series per surface.
const (
	SurfaceOther     Surface = "other"
	SurfaceOpenAI    Surface = "openai"
	SurfaceAnthropic Surface = "anthropic"
	SurfaceEncoders  Surface = "encoders"
	SurfaceConnect   Surface = "connect"
	SurfaceKServe    Surface = "kserve"
)

// Origin is the API and the client address of the requests under a context. A server stores it in
// the context. The server may set its fields until the request reaches the service.
type Origin struct {
	Surface Surface
	// Address is the client's address, as [AddressOf] returns it.
	Address netip.Addr
}

type originKey struct{}

// WithOrigin returns a context with the origin of its requests.
func WithOrigin(ctx context.Context, origin *Origin) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// SurfaceOf returns the API through which the request of a context arrived. It is [SurfaceOther] if
// the context has none.
func SurfaceOf(ctx context.Context) Surface {
	if origin, ok := ctx.Value(originKey{}).(*Origin); ok && origin.Surface != "" {
		return origin.Surface
	}
	return SurfaceOther
}

// Operation is the operation that a request selects, by OpenTelemetry's names for generative AI,
// plus those of decisions, scores, classes and tensors.
type Operation string

// The operations that a request can ask for.
const (
	OperationChat       Operation = "chat"
	OperationCompletion Operation = "text_completion"
	OperationEmbeddings Operation = "embeddings"
	OperationScore      Operation = "score"
	OperationClassify   Operation = "classify"
	OperationDecision   Operation = "decision"
	OperationInfer      Operation = "infer"
)

// Generates reports whether the answers of an operation have tokens.
func (o Operation) Generates() bool {
	switch o {
	case OperationEmbeddings, OperationScore, OperationClassify:
		return false
	default:
		return true
	}
}

// Operation returns the operation that the request asks for.
func (r *Request) Operation() Operation {
	if r.Messages != nil {
		return OperationChat
	}
	return OperationCompletion
}

// AddressIn returns the client's address of a context's request. It is invalid if the context
// has none.
func AddressIn(ctx context.Context) netip.Addr {
	if origin, ok := ctx.Value(originKey{}).(*Origin); ok {
		return origin.Address
	}
	return netip.Addr{}
}

// networkBits is the length of an IPv6 network prefix. A host chooses the other bits freely,
// so that a limit per address would not hold.
const networkBits = 64

// AddressOf returns the address that limits use for a connection's peer: an IPv4 address, or the
// /64 network of an IPv6 address. The address is invalid if the peer has no IP address.
func AddressOf(peer net.Addr) netip.Addr {
	if tcp, ok := peer.(*net.TCPAddr); ok {
		address, _ := netip.AddrFromSlice(tcp.IP)
		return networkOf(address)
	}
	if peer == nil {
		return netip.Addr{}
	}
	return ParseAddress(peer.String())
}

// ParseAddress is [AddressOf] for an address written as host:port, such as that of an
// [net/http.Request].
func ParseAddress(hostPort string) netip.Addr {
	peer, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return netip.Addr{}
	}
	return networkOf(peer.Addr())
}

func networkOf(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is4() || address.IsLoopback() || !address.IsValid() {
		return address
	}
	network, _ := address.Prefix(networkBits) // networkBits is at most 128, so this can't fail
	return network.Addr()
}
