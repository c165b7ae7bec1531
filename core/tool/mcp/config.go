package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/core/tool"
	"parley/core/tool/oauth"
)

// Config is one MCP server. Either URL or Command is set.
type Config struct {
	// Name stands before the names of its tools.
	Name string
	// URL is the endpoint of a server that speaks streamable HTTP.
	URL string
	// Headers go with every request to the URL's own host.
	Headers map[string]string
	// OAuth says how tokens for the URL are had, nil for none. Its Server and HTTPClient are those of the source.
	OAuth *oauth.Config
	// HTTPClient carries the requests; it is the caller's to refuse addresses. nil is a plain client. Its
	// Timeout is not used and redirects are never followed: a call has a deadline, and headers stay here.
	HTTPClient *http.Client
	// Command starts a server that speaks on its standard streams: the program and its arguments.
	Command []string
	// Dir is where Command runs, "" for the working directory.
	Dir string
	// Env is the environment of Command. Of Inherit, which is "NAME=value" lines such as the program's own
	// environment, it gets PATH and HOME and nothing else.
	Env     map[string]string
	Inherit []string

	Approval tool.Approval
	// Deadline bounds one call, not counting the time it waits for a person; 0 is 10 minutes.
	Deadline time.Duration
	// Connect bounds connecting and listing; 0 is one minute.
	Connect time.Duration
	// Retry is the wait after the first failure to connect; it doubles up to one minute. 0 is one second.
	Retry time.Duration
	// Refresh is how often the tools are listed although the server said nothing; 0 is 5 minutes.
	Refresh time.Duration
	// Version is told to the server as the version of this client.
	Version string
	// Log is where trouble and the server's error stream go; nil for nowhere.
	Log *slog.Logger
}

const (
	defaultDeadline = 10 * time.Minute
	defaultConnect  = time.Minute
	defaultRetry    = time.Second
	defaultRefresh  = 5 * time.Minute
	longestRetry    = time.Minute
)

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&c.Deadline, defaultDeadline)
	set(&c.Connect, defaultConnect)
	set(&c.Retry, defaultRetry)
	set(&c.Refresh, defaultRefresh)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Version == "" {
		c.Version = "0"
	}
	return c
}

// check lists what is wrong with a configuration, without its secrets.
func (c Config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case strings.TrimSpace(c.Name) == "":
		bad("name: it is empty")
	case c.Name == "agent":
		bad("name: agent is reserved for the tools that delegate, choose another")
	}
	switch {
	case c.URL == "" && len(c.Command) == 0:
		bad("want a url or a command")
	case c.URL != "" && len(c.Command) > 0:
		bad("want a url or a command, not both")
	case c.URL != "":
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			bad("url: it is no http or https address")
		}
	case c.Command[0] == "":
		bad("command: the program is empty")
	}
	if c.OAuth != nil {
		for name := range c.Headers {
			if strings.EqualFold(name, "Authorization") {
				bad("headers: want either an Authorization header or oauth")
			}
		}
		if c.URL == "" {
			bad("oauth: it is for a server with a url")
		} else if err := c.oauth().Check(); err != nil {
			bad("oauth: %w", err)
		}
	}
	if err := c.Approval.Check(); err != nil {
		bad("approval: %w", err)
	}
	return errors.Join(errs...)
}

// oauth is how tokens for this source are had. Only where there is such a way.
func (c Config) oauth() oauth.Config {
	o := *c.OAuth
	o.Server, o.HTTPClient = c.URL, c.HTTPClient
	if o.Log == nil && c.Log != nil {
		o.Log = c.Log.With("mcp", c.Name)
	}
	return o
}
