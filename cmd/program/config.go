package program

import (
	"encoding/json"
	"parley/core/tool"
	"strings"
	"time"
)

// Config is the configuration file. Its shape is config.schema.json, and a test holds the two together;
// config_check.go holds what a schema cannot say.
type Config struct {
	// Schema is for editors and read by nobody here.
	Schema   string                 `json:"$schema,omitempty"`
	Store    StoreConfig            `json:"store"`
	API      APIConfig              `json:"api"`
	Models   map[string]ModelConfig `json:"models"`
	Agents   map[string]AgentConfig `json:"agents"`
	Channels []ChannelConfig        `json:"channels"`
	Outbound OutboundConfig         `json:"outbound"`
	Webhooks []WebhookConfig        `json:"webhooks"`
	Tracing  TracingConfig          `json:"tracing"`

	// dir is where the file stands: relative paths begin there.
	dir string `json:"-"`
	// tools are those in Go that the program brings, by agent.
	tools map[string][]tool.Tool `json:"-"`
	// logins are those to MCP servers.
	logins loginPlace `json:"-"`
	// written are the agents as the file writes them.
	written map[string]any `json:"-"`
	// Warnings are said once at start: what is allowed and probably not meant.
	Warnings []string `json:"-"`
}

// StoreConfig says where everything is kept.
type StoreConfig struct {
	// Path of the file, relative to the configuration file; "" is parley.db beside it.
	Path string `json:"path"`
	// RetentionDays is how long ended runs are kept; 0 is for ever.
	RetentionDays int `json:"retentionDays"`
}

// APIConfig is the HTTP side: webhooks of channels and the health check.
type APIConfig struct {
	Listen    string        `json:"listen"`    // host:port, "" for none
	PublicURL string        `json:"publicURL"` // how the world reaches Listen
	Tokens    []TokenConfig `json:"tokens"`
}

// TokenConfig is one API token. What it leaves out it may not do.
type TokenConfig struct {
	Name      string   `json:"name"`
	Token     Secret   `json:"token"`
	Agents    []string `json:"agents"`
	Channels  []string `json:"channels"` // whose conversations it may write to beside its own
	SpeaksFor []string `json:"speaksFor"`
	Admin     bool     `json:"admin"`
	// MCPMayApprove lets the one person it speaks for approve calls in an MCP client.
	MCPMayApprove bool `json:"mcpMayApprove"`
}

// ModelConfig names a model at a provider.
type ModelConfig struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	APIKey   Secret `json:"apiKey"`
	BaseURL  string `json:"baseURL"` // "" is the provider's own
	// MaxTokens bounds one reply, ContextTokens a request; 0 are the defaults.
	MaxTokens     int `json:"maxTokens"`
	ContextTokens int `json:"contextTokens"`
	// Images says that the model sees pictures that people send.
	Images bool `json:"images"`
	// Script is the text of a script (see core/model/scripted), as in "file:script.json"; "" is the demo's.
	Script string `json:"script"`
}

// AgentConfig defines an agent.
type AgentConfig struct {
	Name         string     `json:"name"` // as people know it; "" is its id
	Model        string     `json:"model"`
	Instructions string     `json:"instructions"`
	Builtins     []string   `json:"builtins"`
	Ask          bool       `json:"ask"`
	Locale       string     `json:"locale"`
	MaxSteps     int        `json:"maxSteps"`  // 0 is the default, 30
	MaxInputs    int        `json:"maxInputs"` // 0 is the default, 20
	Redact       []string   `json:"redact"`
	HumanInput   HumanInput `json:"humanInput"`
	Intake       *Intake    `json:"intake"`
	// Agents are those it may delegate to.
	Agents     []string        `json:"agents"`
	MCPServers []MCPConfig     `json:"mcpServers"`
	OpenAPI    []OpenAPIConfig `json:"openapi"`
}

// MCPConfig is an MCP server whose tools the agent has: at a URL, or a command that is started.
type MCPConfig struct {
	Name     string            `json:"name"`
	URL      string            `json:"url"`
	Headers  map[string]Secret `json:"headers"`
	Command  []string          `json:"command"`
	Env      map[string]Secret `json:"env"`
	OAuth    *OAuthConfig      `json:"oauth"`
	Approval ApprovalConfig    `json:"approval"`
}

// OAuthConfig says how tokens for an MCP server at a URL are had.
type OAuthConfig struct {
	Grant string `json:"grant"` // authorization_code, after parley login, or client_credentials
	// ClientID is the client as registered, or the address of its metadata; "" registers one at login.
	ClientID     string   `json:"clientId"`
	ClientSecret Secret   `json:"clientSecret"`
	PrivateKey   Secret   `json:"privateKey"` // PEM, for private_key_jwt instead of a secret
	KeyID        string   `json:"keyId"`
	Issuer       string   `json:"issuer"` // the only authorization server that is accepted; "" is any
	Scopes       []string `json:"scopes"`
	Redirect     string   `json:"redirect"` // where the browser comes back to; "" is oauth.DefaultRedirect
}

// OpenAPIConfig is a REST API whose operations the agent has.
type OpenAPIConfig struct {
	Name string `json:"name"`
	// Spec is the document: a file relative to the configuration, or an address.
	Spec     string            `json:"spec"`
	BaseURL  string            `json:"baseURL"` // "" is the document's own
	Headers  map[string]Secret `json:"headers"`
	Approval ApprovalConfig    `json:"approval"`
}

// ApprovalConfig says which calls of a source a person must approve.
type ApprovalConfig struct {
	Default    string            `json:"default"` // never, always or destructive
	Tools      map[string]string `json:"tools"`
	Methods    []string          `json:"methods"`
	Responders string            `json:"responders"`
}

// WebhookConfig is an address that is told of inputs.
type WebhookConfig struct {
	URL string `json:"url"`
	// Secret is whsec_…; several, separated by spaces, while a key rotates.
	Secret Secret   `json:"secret"`
	Events []string `json:"events"` // none is all
}

// TracingConfig says where spans go.
type TracingConfig struct {
	// Endpoint is a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; "" is none.
	Endpoint string            `json:"endpoint"`
	Headers  map[string]Secret `json:"headers"`
}

// traces is the address that takes spans.
func (t TracingConfig) traces() string { return strings.TrimSuffix(t.Endpoint, "/") + "/v1/traces" }

// OutboundConfig says what requests of tools may reach beside the public network.
type OutboundConfig struct {
	AllowPrivate []string `json:"allowPrivate"`
}

// HumanInput says who may answer and how long the agent waits.
type HumanInput struct {
	Expires      Expiry   `json:"expiresInSeconds"`
	Approvers    []string `json:"approvers"`
	Responders   string   `json:"responders"`
	OnExpire     string   `json:"onExpire"`
	SupersededBy string   `json:"supersededBy"`
	NearMiss     string   `json:"nearMiss"`
	Shared       string   `json:"shared"`
	Notify       []string `json:"notify"`
}

// Expiry tells an absent number of seconds from null, which is for ever.
type Expiry struct {
	Set     bool
	Never   bool
	Seconds int64
}

// UnmarshalJSON reads a number of seconds or null. What is neither has been reported by the schema.
func (e *Expiry) UnmarshalJSON(b []byte) error {
	*e = Expiry{Set: true, Never: string(b) == "null"}
	if !e.Never && json.Unmarshal(b, &e.Seconds) != nil {
		*e = Expiry{}
	}
	return nil
}

// MarshalJSON is the inverse of UnmarshalJSON.
func (e Expiry) MarshalJSON() ([]byte, error) {
	if e.Never {
		return []byte("null"), nil
	}
	return json.Marshal(int64(e.Duration() / time.Second))
}

const defaultExpiry = 7 * 24 * time.Hour

// Duration is how long an input waits; 0 is for ever.
func (e Expiry) Duration() time.Duration {
	switch {
	case e.Never:
		return 0
	case !e.Set:
		return defaultExpiry
	default:
		return time.Duration(e.Seconds) * time.Second
	}
}

// Intake are the author's questions, asked before the first model call.
type Intake struct {
	Preamble  string           `json:"preamble"`
	Questions []IntakeQuestion `json:"questions"`
	When      string           `json:"when"` // thread-start (the default) or every-turn
}

// IntakeQuestion is one of them.
type IntakeQuestion struct {
	ID       string         `json:"id"`
	Prompt   string         `json:"prompt"`
	Options  []IntakeOption `json:"options"`
	Multi    bool           `json:"multi"`
	FreeText bool           `json:"freeText"`
	// Defaults are values of options or one free text. nil: none; empty: none of these.
	Defaults []string `json:"defaults"`
}

// IntakeOption is one choice.
type IntakeOption struct {
	Value string `json:"value"` // "" is the label
	Label string `json:"label"`
}

// ChannelConfig is one surface where people speak to an agent.
type ChannelConfig struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Agent    string `json:"agent"`
	BotToken Secret `json:"botToken"`
	// AppToken opens Slack's Socket Mode; without it Slack's events arrive at api.publicURL/channels/NAME, proven
	// by SigningSecret.
	AppToken      Secret       `json:"appToken"`
	SigningSecret Secret       `json:"signingSecret"`
	GatewayURL    string       `json:"gatewayURL"` // of Discord; "" is asked for
	APIURL        string       `json:"apiURL"`     // "" is the platform's own
	Webhook       bool         `json:"webhook"`    // at api.publicURL/channels/NAME, instead of polling
	Access        AccessConfig `json:"access"`
	Limits        LimitsConfig `json:"limits"`
	// Streaming shows replies while the model writes them, by editing one message.
	Streaming bool `json:"streaming"`
}

// AccessConfig says who may speak. It is closed unless it names people or is public.
type AccessConfig struct {
	Allow  []string `json:"allow"`
	Public bool     `json:"public"`
}

// LimitsConfig bounds what one person can send.
type LimitsConfig struct {
	// PerSenderPerMinute delays messages beyond it; 0 is no limit.
	PerSenderPerMinute int `json:"perSenderPerMinute"`
}
