package program

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"parley/channels/discord/discordtest"
	"parley/channels/slack/slacktest"
	"parley/channels/telegram/telegramtest"
	"parley/core/model/modeltest"
)

// TestPicturesReachTheModel: a picture sent with a message is seen by the model, byte for byte, with the message
// and in a later turn of another process; nothing of it is in the store. An agent whose model sees none is told
// the file's name.
func TestPicturesReachTheModel(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	must(t, png.Encode(&buf, image.NewGray(image.Rect(0, 0, 40, 40))))
	picture := buf.Bytes()
	for _, platform := range []struct {
		name string
		open func(t *testing.T) (platformUnderTest, func(text string))
	}{
		{"slack", func(t *testing.T) (platformUnderTest, func(string)) {
			s := newSlack(t, slacktest.Config{})
			return s, func(text string) {
				s.thread = slacktest.Where{Channel: s.room.Channel}
				s.thread.Thread = s.srv.Say(slackUser("ana"), s.room, slacktest.Mention(text), slacktest.Attach("cat.png", "image/png", picture))
			}
		}},
		{"telegram", func(t *testing.T) (platformUnderTest, func(string)) {
			s := newTelegram(t)
			return s, func(text string) {
				s.srv.Say(ana, s.group, "@"+s.srv.Bot().Username+" "+text, telegramtest.Attach("cat.png", "image/png", picture))
			}
		}},
		{"discord", func(t *testing.T) (platformUnderTest, func(string)) {
			s := newDiscord(t)
			return s, func(text string) {
				s.live()
				s.srv.Say(discordUsers["ana"], s.room, "<@"+discordtest.BotID.String()+"> "+text, discordtest.Attach("cat.png", "image/png", picture))
			}
		}},
	} {
		for _, sees := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, sees %t", platform.name, sees), func(t *testing.T) {
				t.Parallel()
				p, send := platform.open(t)
				model := modeltest.NewServer(t, func(r modeltest.Request) modeltest.Reply {
					seen, whole := 0, strings.Contains(string(r.Body), base64.StdEncoding.EncodeToString(picture))
					for _, m := range r.Messages {
						seen += m.Images
					}
					return modeltest.Say(fmt.Sprintf("%d seen, whole %t, named %t", seen, whole, strings.Contains(string(r.Body), "cat.png")))
				})
				s := newStage(t, p, func(cfg map[string]any) {
					cfg["models"] = map[string]any{"script": map[string]any{"provider": "openai", "model": "m", "apiKey": model.Key, "baseURL": model.URL, "images": sees}}
				})
				send("what is this?")
				want := "0 seen, whole false, named true"
				if sees {
					want = "1 seen, whole true"
				}
				s.says(want)
				s.serve.kill()
				s.start()
				s.p.say("ana", "and its colour?", "")
				s.wait("the picture is seen with the history", func() bool {
					n := 0
					for _, m := range p.sent() {
						if strings.Contains(m.text, want) {
							n++
						}
					}
					return n == 2
				})
				s.done(0)
				if refused := model.Refusals(); len(refused) > 0 {
					t.Errorf("the model's server refused: %q", refused)
				}
			})
		}
	}
}
