// Package fleet has the engine over many inference servers. It uses one [triton.Engine] for each
// address, and the catalog and the service see one engine. A frontend of Trident in front of
// several tritonservers, or of several Tridents that speak KServe, is built from it. What one
// server does belongs to package triton, and the choice of one of several equal endpoints to
// package balance.
//
// # Endpoints
//
// An [Engine] has the endpoints of its [Config]: fixed addresses, and all addresses of names in
// DNS, which it looks up again at an interval. [Engine.Update] replaces the list at run time. An
// endpoint that is gone from the list gets no new requests. Its streams continue to their end,
// and its connection is closed after the last one.
//
// An endpoint has a weight, its capacity in relation to others. An operator may drain an endpoint
// ([Engine.Drain]): it gets no new requests, and its requests in flight continue. It stays drained
// while it is away from the list.
//
// # Which endpoint serves a model
//
// Each endpoint is asked for its index of models and their configurations. The routes (routes.go)
// have the endpoints of each model and version. The core encodes a request by one configuration.
// If configurations differ, as during a rolling update, the one that most endpoints have applies,
// and the requests go to those. A difference in fields that no request depends on, such as the
// number of instances, doesn't count. Requests for models that no endpoint lists go to any
// endpoint, whose answer is Triton's error.
//
// # Health
//
// Each endpoint is asked at an interval whether it is ready (health.go). An endpoint is taken out
// if it refuses connections, or if neither an answer nor a byte of a stream has arrived for a
// while. One model of an endpoint is taken out if half of its last answers failed. Out endpoints
// are asked at longer intervals. An endpoint that is back gets its share of requests step by
// step. If more than half of a model's endpoints are out, all are used that don't refuse
// connections, because the check may be at fault. Repeats go to an endpoint that is in.
//
// # Repeats
//
// A request that fails is repeated on another endpoint (run.go) if it surely didn't start. A
// generation or an embedding is also repeated if it started and no response has arrived. Tensors
// of clients are never repeated once they were sent, because an inference may have side effects.
// Repeats have a budget (budget.go), so that an overload of the endpoints isn't multiplied.
// [inference.Sent], after which the core frees the contents of a request, is called at the first
// response. After a response an error ends the request.
//
// Requests of a sequence go to the endpoint that the hash of the sequence's id chooses, and are
// never repeated elsewhere, because the endpoint has the sequence's state. Sequences on a drained
// endpoint continue there, and new ones start elsewhere (sequences.go).
package fleet
