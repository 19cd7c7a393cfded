package tridentrpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/web/client"
)

// newPackageRoute serves the browser client as an npm package, so that pages can install
// the version of this server. Clients must revalidate a cached copy, since the URL stays
// the same when the package changes.
func newPackageRoute() server.Route {
	packed := sync.OnceValues(client.Pack)
	return server.Route{Pattern: "GET /client.tgz", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := packed()
		if err != nil {
			server.RecordOf(r.Context()).Error = err
			http.Error(w, "the npm package can't be built; the server's log has the reason", http.StatusInternalServerError)
			return
		}
		sum := sha256.Sum256(content)
		w.Header().Set("Content-Type", "application/gzip")
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})}
}
