package oauth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Browser is a Fetch that waits for the browser at the redirect, which must be on loopback. It writes to out
// what the person is to do.
func Browser(out io.Writer) Fetch {
	return func(ctx context.Context, v Visit) (url.Values, error) {
		address := listenAddress(v.Redirect)
		if address == "" {
			return nil, fmt.Errorf("the redirect %s is not on loopback, so the browser does not come back here: paste the address it ends at", v.Redirect)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("wait for the browser: %w", err)
		}
		fmt.Fprintf(out, "Open this address in a browser on this machine:\n\n  %s\n\nWaiting for it to come back to %s\n", v.URL, v.Redirect)
		return receive(ctx, l, v)
	}
}

// Paste is a Fetch that reads the address at which the browser ended from in, one a line. It writes to out what
// the person is to do. A read that nobody ends outlives it.
func Paste(out io.Writer, in io.Reader) Fetch {
	return func(ctx context.Context, v Visit) (url.Values, error) {
		fmt.Fprintf(out, "Open this address in a browser:\n\n  %s\n\nIt ends at an address that begins with %s, which need not load.\nPaste that address here:\n", v.URL, v.Redirect)
		lines := make(chan string)
		go func() {
			defer close(lines)
			const most = 64 << 10
			s := bufio.NewScanner(in)
			s.Buffer(nil, most)
			for s.Scan() {
				select {
				case lines <- s.Text():
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("wait for the address: %w", context.Cause(ctx))
			case line, ok := <-lines:
				if !ok {
					return nil, errors.New("the input ended before the address was pasted")
				}
				back, wrong := pasted(line, v)
				switch {
				case wrong == "":
					return back, nil
				case strings.TrimSpace(line) != "":
					fmt.Fprintf(out, "%s. Paste the whole address:\n", wrong)
				}
			}
		}
	}
}

// pasted reads the query of a line, or says what is wrong with it.
func pasted(line string, v Visit) (back url.Values, wrong string) {
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil || u.RawQuery == "" {
		return nil, "That is no address with an answer in it"
	}
	back, err = url.ParseQuery(u.RawQuery)
	if err != nil || !sameState(back.Get("state"), v.State) {
		return nil, "That is not the address at which this login ends"
	}
	return back, ""
}

// receive serves until the answer to the visit has come. Whatever does not bear its state changes nothing.
func receive(ctx context.Context, l net.Listener, v Visit) (url.Values, error) {
	home, err := url.Parse(v.Redirect)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	answer := make(chan url.Values, 1)
	var once sync.Once
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Referrer-Policy", "no-referrer")
		back, err := url.ParseQuery(r.URL.RawQuery)
		switch {
		case r.Method != http.MethodGet || r.URL.Path != home.Path && r.URL.Path != home.Path+"/":
			http.NotFound(w, r)
			return
		case err != nil || !sameState(back.Get("state"), v.State):
			http.Error(w, "This is not the answer to the login that Parley waits for.", http.StatusBadRequest)
			return
		}
		first := false
		once.Do(func() { first = true; answer <- back })
		if !first {
			http.Error(w, "This login is over: its answer has been taken.", http.StatusConflict)
			return
		}
		fmt.Fprintln(w, "Parley has the answer. Go back to the terminal: it says whether it worked.")
	})
	over := make(chan error, 1)
	go func() { over <- s.Serve(l) }()
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
		<-over
	}()
	select {
	case back := <-answer:
		return back, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the browser: %w", context.Cause(ctx))
	}
}
