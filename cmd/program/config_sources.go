package program

import (
	"slices"
	"strings"

	"parley/channels/webhook"
	"parley/core"
	"parley/core/tool"
	"parley/core/tool/outbound"
)

// approval is what a source's policy means to the tools.
func (a ApprovalConfig) build() tool.Approval {
	return tool.Approval{Default: a.Default, Tools: a.Tools, Methods: a.Methods, Responders: a.Responders}
}

// reveal takes the values of headers or an environment out of hiding.
func reveal(in map[string]Secret) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = v.Reveal()
	}
	return out
}

// sources checks what an agent gets its tools from.
func (c *check) sources(at Path, id string, a AgentConfig) {
	names := map[string]Path{}
	name := func(at Path, s string) {
		if before, ok := names[s]; ok {
			c.once(at.key("name"), "the source %s has this name too", string(before))
		}
		if strings.Contains(s, "__") {
			c.once(at.key("name"), "two underscores stand between a source and its tool: take another name")
		}
		names[s] = at
	}
	for i, m := range a.MCPServers {
		at := at.key("mcpServers").index(i)
		name(at, m.Name)
		if (m.URL == "") == (len(m.Command) == 0) {
			c.once(at, "want either url or command")
		}
		c.address(at.key("url"), m.URL)
		c.oauth(at, m)
		c.approval(at.key("approval"), m.Approval)
	}
	for i, o := range a.OpenAPI {
		at := at.key("openapi").index(i)
		name(at, o.Name)
		c.address(at.key("baseURL"), o.BaseURL)
		c.approval(at.key("approval"), o.Approval)
	}
	for i, other := range a.Agents {
		at := at.key("agents").index(i)
		c.agentRef(at, other)
		if other == id {
			c.once(at, "an agent does not delegate to itself")
		}
	}
	c.distinct(at.key("agents"), a.Agents)
}

// oauth checks how tokens for a server are had.
func (c *check) oauth(at Path, m MCPConfig) {
	if m.OAuth == nil {
		return
	}
	for name := range m.Headers {
		if strings.EqualFold(name, "Authorization") {
			c.once(at.key("headers").key(name), "want either this header or oauth")
		}
	}
	for key, s := range map[string]Secret{"clientSecret": m.OAuth.ClientSecret, "privateKey": m.OAuth.PrivateKey} {
		if s != "" && strings.TrimSpace(s.Reveal()) == "" {
			c.once(at.key("oauth").key(key), "is empty")
		}
	}
	if m.URL == "" {
		c.once(at.key("oauth"), "it is for a server with a url")
	} else if err := m.oauth().Check(); err != nil {
		c.once(at.key("oauth"), "%v", err)
	} else if m.OAuth.Issuer == "" && (m.OAuth.ClientSecret != "" || m.OAuth.PrivateKey != "") {
		c.warn(at.key("oauth").key("issuer"), "it is missing, so the MCP server says where the client proves itself: name the authorization server")
	}
}

func (c *check) approval(at Path, a ApprovalConfig) {
	if err := a.build().Check(); err != nil {
		c.once(at, "%v", err)
	}
}

func (c *check) outbound() {
	for i, s := range c.cfg.Outbound.AllowPrivate {
		if err := outbound.Check([]string{s}); err != nil {
			c.once(Path("outbound.allowPrivate").index(i), "%v", err)
		}
	}
}

func (c *check) webhooks() {
	for i, w := range c.cfg.Webhooks {
		at := Path("webhooks").index(i)
		c.secret(at.key("secret"), w.Secret)
		if err := webhook.Check(w.hook()); err != nil {
			c.once(at, "%v", err)
		}
	}
}

func (w WebhookConfig) hook() webhook.Hook {
	return webhook.Hook{URL: w.URL, Secret: w.Secret.Reveal(), Events: w.Events}
}

// mcpSelf begins what lets a token act as itself, at the MCP endpoint alone: mcp:NAME or mcp:*.
const mcpSelf = "mcp:"

// person is the one person that a token speaks for, "" where it is not exactly one.
func (t TokenConfig) person() core.PersonID {
	if len(t.SpeaksFor) != 1 || strings.HasSuffix(t.SpeaksFor[0], ":*") || strings.HasPrefix(t.SpeaksFor[0], mcpSelf) {
		return ""
	}
	return core.PersonID(t.SpeaksFor[0])
}

// itself reports whether an MCP client with the token may act as mcp:NAME.
func (t TokenConfig) itself() bool {
	return slices.Contains(t.SpeaksFor, mcpSelf+t.Name) || slices.Contains(t.SpeaksFor, mcpSelf+"*")
}

// people are those a token speaks for over HTTP and on the web page, where a client is never a person.
func (t TokenConfig) people() (out []string) {
	for _, s := range t.SpeaksFor {
		if !strings.HasPrefix(s, mcpSelf) {
			out = append(out, s)
		}
	}
	return out
}

// platformKeys refuses keys of another platform, and asks for those that one needs.
func (c *check) platformKeys(at Path, ch ChannelConfig) {
	only := func(key, value, platform string) {
		if value != "" && ch.Type != platform {
			c.once(at.key(key), "only a channel of type %s has it", platform)
		}
	}
	only("appToken", ch.AppToken.Reveal(), "slack")
	only("signingSecret", ch.SigningSecret.Reveal(), "slack")
	only("gatewayURL", ch.GatewayURL, "discord")
	if ch.Webhook && ch.Type != "telegram" {
		c.once(at.key("webhook"), "only a channel of type telegram has it")
	}
	if ch.Type == "slack" {
		c.slack(at, ch)
	}
}

// slack tells swapped tokens, the commonest mistake, from the right ones.
func (c *check) slack(at Path, ch ChannelConfig) {
	if t := ch.BotToken.Reveal(); strings.HasPrefix(t, "xapp-") {
		c.once(at.key("botToken"), "this is an app-level token: want the bot token, xoxb-…; the other goes into appToken")
	}
	if t := ch.AppToken.Reveal(); strings.HasPrefix(t, "xoxb-") {
		c.once(at.key("appToken"), "this is a bot token: want the app-level token, xapp-…")
	}
	if ch.AppToken != "" {
		return
	}
	if ch.SigningSecret == "" {
		c.once(at.key("appToken"), "missing: give an app-level token (Socket Mode), or signingSecret with api.listen (events over HTTP)")
	} else if c.cfg.API.Listen == "" {
		c.once(at.key("signingSecret"), "events over HTTP need api.listen, where they arrive")
	}
}
