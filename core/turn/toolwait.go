package turn

import (
	"context"
	"time"

	"parley/core"
	"parley/core/tool"
)

// toolWait bounds how long a call waits for a tool whose source is not there yet, as after a restart.
const toolWait = 30 * time.Second

// mayCome reports whether a tool is not there, but may come.
func (a *Agent) mayCome(name string) bool {
	if _, ok := a.lookup(name); ok {
		return false
	}
	_, ok := a.Tools.(tool.Awaiter)
	return ok
}

// awaitTool waits for the tool of a call where it may still come, before it counts as gone. An abort ends the
// wait, and the engine's end does.
func (d *driver) awaitTool(s *state) error {
	if s.awaited || s.dec.Type == core.ToolAgent || !d.agent.mayCome(s.row.Tool) {
		return nil
	}
	s.awaited = true
	ctx, done := d.untilAbort()
	defer done()
	if err := d.checkAbort(); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, toolWait)
	defer cancel()
	_, _ = d.agent.Tools.(tool.Awaiter).Await(wait, s.row.Tool) // it is looked up again
	switch {
	case d.soft.Err() != nil:
		return errStopping
	case ctx.Err() != nil:
		return d.checkAbort()
	}
	return nil
}
