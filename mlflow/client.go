package mlflow

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Secret is a password or token: it prints as [secret], however it is printed.
type Secret string

func (Secret) String() string { return "[secret]" }

// GoString keeps a secret out of %#v.
func (Secret) GoString() string { return "[secret]" }

// MarshalText keeps a secret out of JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Config says where the tracking server is and how to talk to it. Only TrackingURI is required; see [FromEnv].
type Config struct {
	TrackingURI string // http(s) address, with a path prefix if there is one, with or without a final slash
	Username    string // basic authentication, where Password is set too; it wins over Token
	Password    Secret
	Token       Secret // bearer token
	Workspace   string // "" unless the server keeps workspaces apart

	CACertFile     string // PEM bundle to trust instead of the system's
	ClientCertFile string // PEM with certificate and key
	InsecureTLS    bool   // certificates are not checked

	Timeout         time.Duration // of one try, answer read; 0 means 120 s
	ArtifactTimeout time.Duration // of one try at an artifact; 0 means no limit but the context's
	MaxRetries      *int          // after server errors that mostly stay; nil means 4; with 0 nothing is ever tried again
	IgnoreRetryWait bool          // Retry-After is not heeded
	NoRedirects     bool          // not even 307 and 308 on the same host are followed

	// Patience is how long one call keeps trying while the server is away (connection refused or lost, 429, 502-504).
	// 0 means 1 min. The first call of a client that finds nobody at the address gives up after about a second all the same.
	Patience   time.Duration
	BackoffMin time.Duration // shortest wait before another try; 0 means 0.5 s
	BackoffMax time.Duration // longest wait that doubling leads to; 0 means 10 s

	Version   string            // of the program, for the User-Agent; "" means "devel"
	Transport http.RoundTripper // nil means one made from the above

	// OnRetry, if not nil, is told of every wait before another try. It may be called from many goroutines.
	OnRetry func(err error, wait time.Duration)
}

// Client talks to one tracking server. It is safe for use by many goroutines.
type Client struct {
	cfg       Config
	base      *url.URL // no userinfo, no final slash
	json      *http.Client
	artifacts *http.Client
	headers   http.Header
	retries   int
	answered  atomic.Bool // whether the server has ever answered
	clock     serverClock

	mu    sync.Mutex
	calls map[string]int
}

// New makes a client. It sends nothing. An empty address is an error of kind ErrNoServer, one that only Python can open
// (file:, sqlite:, databricks: …) of kind ErrUnsupported.
func New(cfg Config) (*Client, error) {
	base, err := parseAddress(&cfg)
	if err != nil {
		return nil, err
	}
	setDefault(&cfg.Timeout, 120*time.Second)
	setDefault(&cfg.Patience, time.Minute)
	setDefault(&cfg.BackoffMin, 500*time.Millisecond)
	setDefault(&cfg.BackoffMax, 10*time.Second)
	transport := cfg.Transport
	if transport == nil {
		if transport, err = newTransport(cfg); err != nil {
			return nil, err
		}
	}
	c := &Client{cfg: cfg, base: base, headers: headers(cfg), retries: 4, calls: map[string]int{}}
	if cfg.MaxRetries != nil {
		c.retries = *cfg.MaxRetries
	}
	c.json = &http.Client{Transport: transport, Timeout: cfg.Timeout, CheckRedirect: c.checkRedirect}
	c.artifacts = &http.Client{Transport: transport, Timeout: cfg.ArtifactTimeout, CheckRedirect: c.checkRedirect}
	return c, nil
}

func setDefault(d *time.Duration, def time.Duration) {
	if *d == 0 {
		*d = def
	}
}

// Address is the tracking server's address, without userinfo and final slash.
func (c *Client) Address() string { return c.base.String() }

// User says who calls, for a message: never a password or token.
func (c *Client) User() string {
	switch {
	case c.cfg.Username != "" && c.cfg.Password != "":
		return fmt.Sprintf("user %q", c.cfg.Username)
	case c.cfg.Token != "":
		return "the user of MLFLOW_TRACKING_TOKEN"
	}
	return "nobody is logged in"
}

// Calls counts the HTTP requests sent so far, tries included, by call: {"runs/search": 2}.
func (c *Client) Calls() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := make(map[string]int, len(c.calls))
	for name, n := range c.calls {
		counts[name] = n
	}
	return counts
}

func (c *Client) count(name string) {
	c.mu.Lock()
	c.calls[name]++
	c.mu.Unlock()
}

func headers(cfg Config) http.Header {
	h := http.Header{}
	version := cfg.Version
	if version == "" {
		version = "devel"
	}
	h.Set("User-Agent", "benchbatch/"+version)
	req := http.Request{Header: h}
	switch {
	case cfg.Username != "" && cfg.Password != "":
		req.SetBasicAuth(cfg.Username, string(cfg.Password))
	case cfg.Token != "":
		h.Set("Authorization", "Bearer "+string(cfg.Token))
	}
	if cfg.Workspace != "" {
		h.Set("X-MLFLOW-WORKSPACE", cfg.Workspace)
	}
	return h
}

// parseAddress checks the tracking address and moves a user and password in it to where they belong.
func parseAddress(cfg *Config) (*url.URL, error) {
	const op = "address"
	if cfg.TrackingURI == "" {
		return nil, &Error{Op: op, Kind: ErrNoServer, Remedy: "set MLFLOW_TRACKING_URI, or start one with: benchbatch server start"}
	}
	u, err := url.Parse(cfg.TrackingURI)
	if err != nil {
		return nil, &Error{Op: op, Kind: ErrUnsupported, Message: "the tracking address can't be read", Remedy: "an address is like http://127.0.0.1:5000"}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		scheme := "a path"
		if u.Scheme != "" {
			scheme = u.Scheme + ":"
		}
		return nil, &Error{Op: op, Kind: ErrUnsupported,
			Message: fmt.Sprintf("the tracking address is %s, which only Python's MLflow can open", scheme),
			Remedy:  "serve it over http: benchbatch server start, or mlflow server --backend-store-uri ...; then set MLFLOW_TRACKING_URI to its address"}
	}
	if u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &Error{Op: op, Kind: ErrUnsupported, Message: "the tracking address needs a host and takes no query or fragment", Remedy: "an address is like http://127.0.0.1:5000/prefix"}
	}
	if u.User != nil {
		cfg.Username = u.User.Username()
		password, _ := u.User.Password()
		cfg.Password = Secret(password)
		u.User = nil
		cfg.TrackingURI = u.String()
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}
