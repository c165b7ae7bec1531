package discord

import (
	"context"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"
)

// The kinds of interactions.
const (
	interactionCommand   = 2
	interactionComponent = 3
)

const (
	// ackBy is when Discord is told to be patient: it gives three seconds, and the way there takes some.
	ackBy = 1500 * time.Millisecond
	// ackTimeout bounds one answer to an interaction.
	ackTimeout = 10 * time.Second
)

// What a person is told where the sink has no words.
const (
	unstored    = "That could not be stored. Nothing has changed; please try again."
	heardYou    = "Got it."
	notACommand = "I do not know this command here."
)

// response is the first answer to an interaction.
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data *whisper                          `json:"data,omitempty"`
}

// whisper is a line that one person sees.
type whisper struct {
	Content  string                           `json:"content,omitempty"`
	Flags    int                              `json:"flags,omitempty"`
	Mentions discordgo.MessageAllowedMentions `json:"allowed_mentions"`
}

func whisperOf(line string) *whisper {
	return &whisper{Content: cut(literal(line), maxText), Flags: flagEphemeral, Mentions: nobody()}
}

// answer lets settle do its work, and answers the interaction in time: with its line for that person alone,
// if there is one. Where settling takes long Discord is told to wait, which says nothing about the outcome.
func (w *worker) answer(ctx context.Context, i interaction, settle func() string) {
	done := make(chan string, 1)
	go func() {
		line := unstored
		defer func() { done <- line }()
		w.do(func(context.Context) { line = settle() })
	}()
	patience := time.NewTimer(ackBy)
	defer patience.Stop()
	select {
	case line := <-done:
		w.first(ctx, i, firstAnswer(i, line))
	case <-patience.C:
		w.first(ctx, i, holdAnswer(i))
		if line := <-done; line != "" {
			w.later(ctx, i, line)
		}
	}
}

// firstAnswer says what settling said.
func firstAnswer(i interaction, line string) response {
	if line == "" {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	return response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: whisperOf(line)}
}

// holdAnswer asks for patience: a component just stays as it is, a command shows that it is at work.
func holdAnswer(i interaction) response {
	if i.Type == interactionComponent {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	return response{
		Type: discordgo.InteractionResponseDeferredChannelMessageWithSource,
		Data: &whisper{Flags: flagEphemeral, Mentions: nobody()},
	}
}

func (w *worker) first(ctx context.Context, i interaction, r response) {
	w.reply(ctx, call{
		op: "answer an interaction", method: http.MethodPost, body: r, secret: i.Token,
		endpoint: discordgo.EndpointInteractionResponse(i.ID.String(), i.Token),
	})
}

// later says a line once Discord was told to wait: beside a component, in place of a command's "at work".
func (w *worker) later(ctx context.Context, i interaction, line string) {
	app := i.App
	if app == 0 {
		app = w.a.self().app
	}
	k := call{op: "follow up an interaction", method: http.MethodPost, body: whisperOf(line), secret: i.Token,
		endpoint: discordgo.EndpointFollowupMessage(app.String(), i.Token)}
	if i.Type == interactionCommand {
		k.method, k.endpoint = http.MethodPatch, discordgo.EndpointInteractionResponseActions(app.String(), i.Token)
	}
	w.reply(ctx, k)
}

// reply makes such a call. There is nothing to mend where it fails: what was settled is settled.
func (w *worker) reply(ctx context.Context, k call) {
	within, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	_, err := w.a.api.do(within, k)
	e := isCall(err)
	switch {
	case err == nil:
	case e != nil && (e.Code == codeUnknownInteraction || e.Code == codeAnswered):
		w.log.Debug("discord: an interaction was too old, or answered already", "err", err)
	default:
		w.log.Warn("discord: an interaction was not answered", "err", err)
	}
}
