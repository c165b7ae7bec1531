package program

import (
	"context"
	"sync"
	"time"
)

// listTime bounds how long the start waits for the lists of tools of MCP servers.
const listTime = 20 * time.Second

// work runs the engine once the MCP servers have told their tools or could not be reached. A turn that went
// on before would find none of them: its model would be told so, and a call that was approved in an earlier
// process would not run. Messages and answers are taken meanwhile, and wait in the store.
func (a *app) work(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, listTime)
	var all sync.WaitGroup
	for _, s := range a.servers {
		all.Go(func() { s.Attempted(bound) })
	}
	all.Wait()
	select {
	case <-a.put.ready:
	case <-bound.Done():
	}
	if bound.Err() != nil && ctx.Err() == nil {
		a.log.Warn("not every MCP server has told its tools yet: turns go on without those", "after", listTime)
	}
	cancel()
	return a.engine.Run(ctx)
}
