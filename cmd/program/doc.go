// Package program is the command line of Parley. It alone knows every package: it reads the configuration,
// builds the store, the engine, the models, the tools and the channels, runs them until it is told to stop,
// and closes them in the reverse order.
//
// cmd/parley is this package and nothing else. A program with tools of its own in Go is this package and
// Tools: it has the same subcommands, and the configuration file says all else.
//
// One file holds one subcommand; app.go builds; config*.go read the configuration. run is the whole program
// as a function of its arguments, its streams and its environment, so that tests run the very same code.
//
// # Exit codes
//
//	0    done; at the end of standard input: the turn ended or waits
//	1    it failed while running: a store that is locked or damaged, a channel that refused its token
//	2    it was asked for something that cannot be: an unknown flag, a wrong configuration
//	3    store check found broken invariants
//	130  a second signal ended it at once
package program
