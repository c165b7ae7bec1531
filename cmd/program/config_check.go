package program

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/core/words"
	"parley/parse"
)

// check finds what a schema cannot say: names that lead nowhere, two of what may be one, persons that could
// never be matched. It runs on a configuration that may already have problems, and adds to them.
type check struct {
	ps  *problems
	cfg *Config
	raw map[Path]string // see expand
}

// shown is a value as an error may show it: as written where it was put in.
func (c *check) shown(at Path, value string) string {
	if raw, put := c.raw[at]; put {
		return raw
	}
	return value
}

func (c *check) all() {
	c.api()
	c.outbound()
	c.webhooks()
	c.address("tracing.endpoint", c.cfg.Tracing.Endpoint)
	for _, id := range slices.Sorted(maps.Keys(c.cfg.Models)) {
		c.model(Path("models").key(id), c.cfg.Models[id])
	}
	for _, id := range slices.Sorted(maps.Keys(c.cfg.Agents)) {
		c.agent(Path("agents").key(id), id, c.cfg.Agents[id])
	}
	for i, ch := range c.cfg.Channels {
		c.channel(Path("channels").index(i), i, ch)
	}
}

// once adds a problem unless the path has one already.
func (c *check) once(at Path, format string, args ...any) {
	if !c.ps.has(at) {
		c.ps.add(at, format, args...)
	}
}

func (c *check) warn(at Path, format string, args ...any) {
	c.cfg.Warnings = append(c.cfg.Warnings, string(at)+": "+fmt.Sprintf(format, args...))
}

// secret demands a value of a key that is there.
func (c *check) secret(at Path, s Secret) {
	if strings.TrimSpace(s.Reveal()) == "" {
		c.once(at, "is empty")
	} else if strings.TrimSpace(s.Reveal()) != s.Reveal() {
		c.once(at, "has spaces or line breaks around it")
	}
}

// address checks an http or https address, where one is given.
func (c *check) address(at Path, s string) {
	if s == "" || c.ps.has(at) {
		return
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		c.ps.add(at, "want an address such as https://example.com")
	} else if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		c.ps.add(at, "want an address without user, query or fragment")
	}
}

func (c *check) api() {
	api := c.cfg.API
	if api.Listen != "" {
		if _, port, err := net.SplitHostPort(api.Listen); err != nil || !portNumber(port) {
			c.once("api.listen", "want host:port, such as 127.0.0.1:8484")
		}
	}
	c.address("api.publicURL", api.PublicURL)
	names, tokens := map[string]bool{}, map[Secret]bool{}
	for i, t := range api.Tokens {
		at := Path("api.tokens").index(i)
		c.secret(at.key("token"), t.Token)
		if names[t.Name] && t.Name != "" {
			c.once(at.key("name"), "two tokens have this name")
		}
		if tokens[t.Token] && t.Token != "" {
			c.once(at.key("token"), "two entries have this token")
		}
		names[t.Name], tokens[t.Token] = true, true
		for j, a := range t.Agents {
			if _, ok := c.cfg.Agents[a]; !ok && slices.ContainsFunc(api.Tokens, func(t TokenConfig) bool { return t.Admin }) && agentName.MatchString(a) {
				c.warn(at.key("agents").index(j), "the file has no agent %q: the token sees one once it is put by the API", c.shown(at.key("agents").index(j), a))
				continue
			}
			c.agentRef(at.key("agents").index(j), a)
		}
		for j, name := range t.Channels {
			if !slices.ContainsFunc(c.cfg.Channels, func(ch ChannelConfig) bool { return ch.Name == name }) {
				c.once(at.key("channels").index(j), "there is no channel %q", c.shown(at.key("channels").index(j), name))
			}
		}
		c.speaksFor(at.key("speaksFor"), t)
		if t.MCPMayApprove && t.person() == "" {
			c.once(at.key("mcpMayApprove"), "needs speaksFor with exactly one person, who approves")
		}
	}
	if len(api.Tokens) > 0 && api.Listen == "" {
		c.warn("api.tokens", "open nothing without api.listen")
	}
}

// speaksFor takes exact people and PLATFORM:*, and for MCP clients the token itself.
func (c *check) speaksFor(at Path, t TokenConfig) {
	for i, s := range t.SpeaksFor {
		surface, all := strings.CutSuffix(s, ":*")
		_, known := platforms[surface]
		switch {
		case all && known, s == mcpSelf+"*", s == mcpSelf+t.Name:
		case strings.HasPrefix(s, mcpSelf):
			c.once(at.index(i), "%q is no person: want %s%s, which lets this token's MCP client act as itself", c.shown(at.index(i), s), mcpSelf, t.Name)
		default:
			c.person(at.index(i), s)
		}
	}
	c.distinct(at, t.SpeaksFor)
}

func portNumber(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == s
}

func (c *check) model(at Path, m ModelConfig) {
	if m.APIKey != "" {
		c.secret(at.key("apiKey"), m.APIKey)
	}
	c.address(at.key("baseURL"), m.BaseURL)
	switch m.Provider {
	case "anthropic", "openai", "gemini":
		if m.Model == "" {
			c.once(at.key("model"), "missing: the model's name at the provider")
		}
		if m.APIKey == "" && m.BaseURL == "" {
			c.once(at.key("apiKey"), "missing: the provider's own address needs a key")
		}
		if m.Script != "" {
			c.once(at.key("script"), "only a scripted model has a script")
		}
	case "scripted":
		if m.APIKey != "" || m.BaseURL != "" {
			c.once(at, "a scripted model has no network: take out apiKey and baseURL")
		}
		if _, err := scriptModel(m.Script); err != nil && !c.ps.has(at.key("script")) {
			c.ps.add(at.key("script"), "%v", err)
		}
	}
}

func (c *check) agentRef(at Path, id string) {
	if _, ok := c.cfg.Agents[id]; !ok {
		c.once(at, "there is no agent %q: want one of %s", c.shown(at, id), known(c.cfg.Agents))
	}
}

func known[V any](m map[string]V) string {
	if len(m) == 0 {
		return "(none is defined)"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

func (c *check) agent(at Path, id string, a AgentConfig) {
	if _, ok := c.cfg.Models[a.Model]; !ok {
		c.once(at.key("model"), "there is no model %q: want one of %s", c.shown(at.key("model"), a.Model), known(c.cfg.Models))
	}
	c.distinct(at.key("builtins"), a.Builtins)
	c.sources(at, id, a)
	c.distinct(at.key("redact"), a.Redact)
	if base, _, _ := strings.Cut(strings.ToLower(a.Locale), "-"); base != "" && base != "en" && words.For(a.Locale).Tag == "en" {
		c.warn(at.key("locale"), "no words are known of this language, so English is used; known are %s", strings.Join(words.Tags(), ", "))
	}
	hi := at.key("humanInput")
	approvers := c.people(hi.key("approvers"), a.HumanInput.Approvers)
	if a.HumanInput.Responders == "approvers" && len(approvers) == 0 {
		c.once(hi.key("responders"), "only approvers may answer and approvers names nobody, so nobody ever could")
	}
	for i, place := range a.HumanInput.Notify {
		if _, err := c.cfg.notifyPlace(id, place); err != nil {
			c.once(hi.key("notify").index(i), "%v", err)
		}
	}
	c.distinct(hi.key("notify"), a.HumanInput.Notify)
	if a.Intake != nil {
		if _, err := a.Intake.build(parse.Fold); err != nil {
			c.once(at.key("intake"), "%v", err)
		}
	}
}

func (c *check) distinct(at Path, list []string) {
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			c.once(at.index(i), "%q is listed twice: keep one", c.shown(at.index(i), s))
		}
	}
}

// reserved names a channel that is not in the file: the terminal of chat.
const reserved = "terminal"

// surfaces are the channels of conversations that are held by HTTP.
var surfaces = []string{"api", "mcp"}

func (c *check) channel(at Path, i int, ch ChannelConfig) {
	if ch.Name == reserved {
		c.once(at.key("name"), "%q is the channel of the chat command: take another name", reserved)
	}
	if slices.Contains(surfaces, ch.Name) {
		c.once(at.key("name"), "%q is the channel of conversations by HTTP: take another name", ch.Name)
	}
	if ch.Agent != "" || !c.ps.has(at.key("agent")) {
		c.agentRef(at.key("agent"), ch.Agent)
	}
	c.secret(at.key("botToken"), ch.BotToken)
	c.address(at.key("apiURL"), ch.APIURL)
	c.platformKeys(at, ch)
	for _, before := range c.cfg.Channels[:i] {
		if before.Name == ch.Name && ch.Name != "" {
			c.once(at.key("name"), "two channels have the name %q", c.shown(at.key("name"), ch.Name))
		}
		if before.BotToken == ch.BotToken && ch.BotToken != "" {
			c.once(at.key("botToken"), "the channel %q has the same token: two cannot receive with one", before.Name)
		}
	}
	c.telegram(at, ch)
	c.access(at.key("access"), ch)
}

var telegramToken = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{1,200}$`)

func (c *check) telegram(at Path, ch ChannelConfig) {
	if ch.Type != "telegram" {
		return
	}
	if ch.BotToken != "" && !telegramToken.MatchString(ch.BotToken.Reveal()) {
		c.once(at.key("botToken"), "this is no bot token: want the form 123456:ABC-DEF that BotFather gives")
	}
	if !ch.Webhook {
		return
	}
	if c.cfg.API.Listen == "" {
		c.once(at.key("webhook"), "needs api.listen, where it arrives")
	}
	if c.cfg.API.PublicURL == "" {
		c.once(at.key("webhook"), "needs api.publicURL, which is told to the platform")
	} else if ch.APIURL == "" && !strings.HasPrefix(c.cfg.API.PublicURL, "https://") {
		c.once(at.key("webhook"), "the platform calls https addresses only: api.publicURL must be one")
	}
}

func (c *check) access(at Path, ch ChannelConfig) {
	var surfaces []string
	if _, ok := platforms[ch.Type]; ok {
		surfaces = []string{ch.Type}
	}
	c.people(at.key("allow"), ch.Access.Allow, surfaces...)
	if !ch.Access.Public && len(ch.Access.Allow) == 0 {
		c.warn(at, "names nobody and is not public, so channel %s takes messages of approvers only: whoever else writes is told their id, to be added to allow", ch.Name)
	}
}
