package program

import "testing"

// Streaming is off unless the channel says so, and reaches both the engine and the channel.
func TestStreamingOfAChannel(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{"-": false, "false": false, "true": true} {
		cfg, ps := load(t, with(t, map[string]string{"tg.streaming": raw}))
		if len(ps) != 0 {
			t.Fatalf("%s: %q", raw, ps)
		}
		a := &app{cfg: cfg}
		if err := a.addChannels(); err != nil {
			t.Fatal(err)
		}
		if got := a.channels[0].Streams; got != want || cfg.streams("tg") != want || cfg.streams("other") {
			t.Errorf("%s: the channel streams %v, the engine %v, want %v", raw, got, cfg.streams("tg"), want)
		}
	}
}
