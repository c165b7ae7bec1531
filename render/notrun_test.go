package render

import (
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/coretest"
)

// TestNotRun: an approved call that never ran is told by its code and its tool, in every language; nothing is said of
// one that ran, may run or was not approved.
func TestNotRun(t *testing.T) {
	t.Parallel()
	in := coretest.Ended(coretest.Input("approval"), core.InputAccepted, &core.Answer{Action: core.ActionAccept})
	in.Of, in.Nth, in.Code = 2, 1, "K1"
	for status, said := range map[core.CallStatus]bool{
		core.CallSuperseded: true, core.CallExpired: true, core.CallCancelled: true,
		core.CallExecuted: false, core.CallFailed: false, core.CallExecuting: false, core.CallPending: false,
	} {
		for _, tag := range tags() {
			v := View{Dialect: TestDialects()[0], Lang: tag, Agent: "Ops", Now: time.Now()}
			text := PlainText(NotRun(v, in, &core.Call{ID: in.Call, Status: status}))
			if (text != "") != said || said && (!strings.Contains(text, "K1 · ") || !strings.Contains(text, in.Tool) || strings.Contains(text, "\n")) {
				t.Errorf("%s, %s: %q", tag, status, text)
			}
		}
	}
	closed := in
	closed.State = core.InputSuperseded
	if got := NotRun(view(TestDialects()[0]), closed, &core.Call{Status: core.CallSuperseded}); len(got) != 0 {
		t.Errorf("of an input that was not accepted: %+v", got)
	}
	if got := NotRun(view(TestDialects()[0]), in, nil); len(got) != 0 {
		t.Errorf("without a call: %+v", got)
	}
}
