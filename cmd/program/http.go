package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"parley/channels"
	"parley/channels/mcp"
	"parley/channels/metrics"
)

// server is the HTTP side: the API, webhooks of channels at /channels/NAME, and /healthz.
type server struct {
	http     *http.Server
	listener net.Listener
}

// listen opens the address of the configuration; nil where it names none, and in the terminal.
func (a *app) listen(hub *channels.Hub, counts *metrics.Metrics) (*server, error) {
	if a.cfg.API.Listen == "" || a.deaf {
		return nil, nil
	}
	api, err := a.api(hub)
	if err != nil {
		return nil, err
	}
	door, err := a.mcpEndpoint()
	if err != nil {
		return nil, err
	}
	page, err := a.inbox()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", a.cfg.API.Listen)
	if err != nil {
		return nil, failed(fmt.Errorf("listen for HTTP: %w", err), "choose another address for api.listen, or stop the program that has it")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { health(w, hub.States()) })
	for name, hook := range a.hooks {
		mux.Handle("POST /channels/"+name, hook)
	}
	mux.Handle(mcp.Pattern, door)
	mux.Handle("GET /metrics", counts.Handler())
	mux.Handle("/inbox", page)
	mux.Handle("/inbox/", page)
	mux.Handle("/", api)
	a.log.Info("listening", "address", l.Addr().String())
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 60 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	s.RegisterOnShutdown(api.Close)
	s.RegisterOnShutdown(door.Close)
	s.RegisterOnShutdown(page.Close)
	return &server{listener: l, http: s}, nil
}

// run serves until ctx ends; requests in flight may finish.
func (s *server) run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendGrace)
	defer cancel()
	if err := s.http.Shutdown(bound); err != nil {
		_ = s.http.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return nil
}

// health says that the program works, and how its channels are. It names no failure: anybody may ask.
func health(w http.ResponseWriter, states []channels.State) {
	body := struct {
		Status   string                     `json:"status"`
		Channels map[string]channels.Status `json:"channels"`
	}{"ok", map[string]channels.Status{}}
	for _, s := range states {
		body.Channels[s.Channel] = s.Status
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}
