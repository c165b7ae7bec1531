package program

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilStopped returns a context that ends with the first SIGTERM or SIGINT. A second one ends the program
// at once, which loses nothing that was acknowledged. done gives the signals back.
func untilStopped(ctx context.Context) (stopped context.Context, done func()) {
	stopped, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	over := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case <-over:
				return
			case <-signals:
				if !first {
					os.Exit(exitInterrupted)
				}
				cancel()
			}
		}
	}()
	return stopped, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}
