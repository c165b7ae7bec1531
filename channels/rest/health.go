package rest

import (
	"context"
	_ "embed"
	"net/http"
	"time"
)

// document describes the interface as OpenAPI 3.1; a test holds it against every answer.
//
//go:embed openapi.json
var document []byte

func serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // whoever hung up does not hear it
}

type healthView struct {
	Status string            `json:"status"`
	Checks map[string]string `json:"checks,omitempty"`
}

// healthz says that the program answers.
func (a *API) healthz(w http.ResponseWriter, _ *http.Request) {
	write(w, reply{status: http.StatusOK, body: healthView{Status: "ok"}})
}

// readyz says whether everything works. It names no failure, since anybody may ask; the log does.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	out, status := healthView{Status: "ready", Checks: map[string]string{}}, http.StatusOK
	for _, check := range a.c.Checks {
		out.Checks[check.Name] = "ok"
		if err := check.Run(ctx); err != nil {
			out.Checks[check.Name], out.Status, status = "failing", "not ready", http.StatusServiceUnavailable
			a.c.Log.Warn("not ready", "check", check.Name, "err", err)
		}
	}
	write(w, reply{status: status, body: out})
}
