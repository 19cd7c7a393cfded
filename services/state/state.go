// Package state has the records that several Tridents share in Valkey or Redis: stored responses, and
// which Tridents are alive. What the records contain belongs to the packages that store them, and what
// isn't shared, such as queues, belongs to package admission.
package state

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/trident-inference/trident/services/inference"
)

const (
	// callTimeout limits each call to the store, with all its attempts. Requests that need the store
	// wait this long while it is away.
	callTimeout = 400 * time.Millisecond
	dialTimeout = 300 * time.Millisecond
	// leaseTime is how long a Trident counts as alive after it last renewed its lease, and leaseInterval how
	// often it does.
	leaseTime     = 25 * time.Second
	leaseInterval = 8 * time.Second
	// prefix begins the name of each key.
	prefix = "trident:"
)

// schemes are the schemes of a store's URL.
func schemes() []string { return []string{"redis", "rediss", "unix"} }

// Check returns an error for a URL that no store can have. It doesn't name the field, and contains no
// password.
func Check(address string) error {
	_, err := options(address)
	return err
}

func options(address string) (*redis.Options, error) {
	scheme, _, found := strings.Cut(address, "://")
	if !found || !slices.Contains(schemes(), scheme) {
		return nil, fmt.Errorf("must be a URL such as redis://HOST:6379/0 or rediss://USER:PASSWORD@HOST:6379, with the scheme %s", strings.Join(schemes(), ", "))
	}
	o, err := redis.ParseURL(address)
	if err != nil { // it may contain a part of the password
		return nil, errors.New("isn't the URL of a store: use rediss://USER:PASSWORD@HOST:6379/0, and percent-encode /, ?, # and @ in USER and PASSWORD")
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = dialTimeout, callTimeout, callTimeout, callTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries = 1         // for a connection that the server has closed meanwhile
	o.DialerRetries = 1      // a refused connection is refused at once
	o.DisableIdentity = true // the client's name isn't worth a call that old servers refuse
	return o, nil
}

// Store is the connection to a store. All methods may be called concurrently.
type Store struct {
	client  *redis.Client
	address string // without the password
	replica string // this Trident, in leases
	log     *slog.Logger

	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	away     error // why the last call failed; nil if it succeeded
	reached  bool  // a call has succeeded
	failures uint64
}

// Open returns the store at the URL, which [Check] must accept. It doesn't connect yet.
func Open(address string, log *slog.Logger) (*Store, error) {
	o, err := options(address)
	if err != nil {
		return nil, err
	}
	logging.Disable() // the store logs what its clients need to know
	return &Store{client: redis.NewClient(o), address: o.Addr, replica: rand.Text(), log: log, stop: func() {}}, nil
}

// Start begins to renew the lease of this Trident. It doesn't wait for the store.
func (s *Store) Start(ctx context.Context) error {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work.Go(func() {
		ticker := time.NewTicker(leaseInterval)
		defer ticker.Stop()
		for {
			_ = s.renew(ctx) // do logs it
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// renew writes the lease.
func (s *Store) renew(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context) error { return s.client.Set(ctx, leaseKey(s.replica), "1", leaseTime).Err() })
}

// Stop ends the lease and the connections.
func (s *Store) Stop(ctx context.Context) error {
	s.stop()
	s.work.Wait()
	_ = s.do(ctx, func(ctx context.Context) error { return s.client.Del(ctx, leaseKey(s.replica)).Err() }) // it ends by itself
	return s.client.Close()
}

// do makes a call within the time limit, and logs when the store goes away and comes back.
func (s *Store) do(ctx context.Context, call func(context.Context) error) error {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := call(ctx)
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	if err != nil && parent.Err() != nil { // the caller has cancelled
		return inference.AsError(parent.Err())
	}
	s.record(err)
	if err != nil {
		return s.unavailable(err)
	}
	return nil
}

func (s *Store) record(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && s.away == nil:
		s.log.Error("the shared store is away", "address", s.address, "error", err)
	case err == nil && s.away != nil:
		s.log.Info("the shared store is back", "address", s.address)
	}
	if s.away = err; err != nil {
		s.failures++
	} else {
		s.reached = true
	}
}

// retryAfter is the time after which clients may repeat a request that needed the store.
const retryAfter = 2 * time.Second

func (s *Store) unavailable(err error) *inference.Error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonStoreUnavailable, RetryAfter: retryAfter, Err: err,
		Message: "the store of responses can't be reached: try again later",
	}
}

// Ready returns nil once a call of the store has succeeded, and otherwise the reason: a store that only
// answers, such as a read-only replica, takes no lease. A store that goes away later
// doesn't make all Tridents unready at once: most requests don't need it.
func (s *Store) Ready(ctx context.Context) error {
	s.mu.Lock()
	reached := s.reached
	s.mu.Unlock()
	if reached {
		return nil
	}
	return s.explain(s.renew(ctx))
}

// explain adds the address and the reason to the error of a call, for the operator.
func (s *Store) explain(err error) error {
	if known, ok := errors.AsType[*inference.Error](err); ok && known.Err != nil {
		known.Message = fmt.Sprintf("the shared store at %s isn't available: %v", s.address, known.Err)
	}
	return err
}

// Health reports whether the last call succeeded, and the number of calls that failed.
func (s *Store) Health() (up bool, failures uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached && s.away == nil, s.failures
}

// Replica returns the name of this Trident in records, for [Store.Alive].
func (s *Store) Replica() string { return s.replica }

func leaseKey(replica string) string { return prefix + "replica:" + replica }

// Alive reports whether the Trident with the name is alive, which is known within half a minute.
func (s *Store) Alive(ctx context.Context, replica string) (bool, error) {
	var n int64
	err := s.do(ctx, func(ctx context.Context) (err error) {
		n, err = s.client.Exists(ctx, leaseKey(replica)).Result()
		return err
	})
	return n > 0, err
}

// Record is a value under a key.
type Record struct {
	Key   string
	Value []byte
	// New is set if an existing value stays.
	New bool
}

// Put stores records together, for a time, and stores the values under the keys in kept for as long.
func (s *Store) Put(ctx context.Context, records []Record, kept []string, ttl time.Duration) error {
	return s.do(ctx, func(ctx context.Context) error {
		_, err := s.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range kept {
				pipe.Expire(ctx, prefix+key, ttl)
			}
			for _, r := range records {
				if r.New {
					pipe.SetNX(ctx, prefix+r.Key, r.Value, ttl)
				} else {
					pipe.Set(ctx, prefix+r.Key, r.Value, ttl)
				}
			}
			return nil
		})
		return err
	})
}

// Get returns the values of the keys, nil for a key without one.
func (s *Store) Get(ctx context.Context, keys ...string) ([][]byte, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	values := make([][]byte, len(keys))
	err := s.do(ctx, func(ctx context.Context) error {
		named := make([]string, len(keys))
		for i, key := range keys {
			named[i] = prefix + key
		}
		found, err := s.client.MGet(ctx, named...).Result()
		for i, value := range found {
			if text, ok := value.(string); ok {
				values[i] = []byte(text)
			}
		}
		return err
	})
	return values, err
}

// Delete deletes a value and reports whether there was one.
func (s *Store) Delete(ctx context.Context, key string) (bool, error) {
	var n int64
	err := s.do(ctx, func(ctx context.Context) (err error) {
		n, err = s.client.Del(ctx, prefix+key).Result()
		return err
	})
	return n > 0, err
}
