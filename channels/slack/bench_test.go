package slack

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/channels/channeltest"
	"parley/channels/slack/slacktest"
	"parley/core"
)

// BenchmarkIntake says 500 messages a second in as many direct chats, to the whole program on a store file:
// "p99-ack-ms" is how long Slack waits for an acknowledgement, "lost" what never got one.
func BenchmarkIntake(b *testing.B) {
	const rate = 500
	p := open(b)
	for i := range rate {
		p.srv.DM(fmt.Sprintf("U%d", i))
	}
	w := channeltest.NewWorld(b, p, core.DefaultHumanInput())
	w.Until("the socket is open", func() bool { return p.srv.Sockets() == 1 })
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	total := 0
	for b.Loop() {
		for i := range rate {
			<-tick.C
			p.srv.Say(fmt.Sprintf("U%d", i), slacktest.Where{Channel: fmt.Sprintf("D%d", i)}, "hello")
			total++
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.srv.Wait(ctx, func() bool { return p.srv.Unacked() == 0 }); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for _, a := range p.srv.Acknowledged() {
		took = append(took, a.Took)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ack-ms")
	b.ReportMetric(float64(p.srv.Lost()), "lost")
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "messages/s")
}
