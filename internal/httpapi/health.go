package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// readyTimeout bounds how long /readyz waits for the stores.
const readyTimeout = 2 * time.Second

// serveHealth says that the process runs.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	writeStatus(w, http.StatusOK, map[string]string{"status": "ok"})
}

// serveReady says whether the stores can be asked. What exactly is wrong with
// one is for the log alone.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	states := map[string]string{"status": "ok"}
	status := http.StatusOK
	for name, ask := range s.cfg.Ready {
		wg.Go(func() {
			err := ask(ctx)
			mu.Lock()
			defer mu.Unlock()
			states[name] = "ok"
			if err != nil {
				states[name], states["status"] = "unavailable", "unavailable"
				status = http.StatusServiceUnavailable
				s.cfg.Log.WarnContext(ctx, "store is not ready", slog.String("store", name), slog.Any("error", err))
			}
		})
	}
	wg.Wait()
	writeStatus(w, status, states)
}

func writeStatus(w http.ResponseWriter, status int, states map[string]string) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	// Maps of text can always be written; a failing writer is a client that is gone.
	_ = json.NewEncoder(w).Encode(states) //nolint:errchkjson // see above
}
