package mlflow

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// dialTimeout leaves room for three tries at an address where nobody answers within five seconds.
const dialTimeout = 3 * time.Second

func newTransport(cfg Config) (http.RoundTripper, error) {
	tlsConfig, err := tlsConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       tlsConfig,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: cfg.Timeout,
	}, nil
}

func tlsConfig(cfg Config) (*tls.Config, error) {
	const op = "settings"
	conf := &tls.Config{InsecureSkipVerify: cfg.InsecureTLS, MinVersion: tls.VersionTLS12}
	if cfg.InsecureTLS && cfg.CACertFile != "" {
		return nil, invalid(op, "certificates can't be both unchecked (MLFLOW_TRACKING_INSECURE_TLS) and checked against a file (MLFLOW_TRACKING_SERVER_CERT_PATH)")
	}
	if cfg.CACertFile != "" {
		pem, err := os.ReadFile(cfg.CACertFile)
		if err != nil {
			return nil, invalid(op, "the certificates to trust (MLFLOW_TRACKING_SERVER_CERT_PATH): %v", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, invalid(op, "%s holds no PEM certificate (MLFLOW_TRACKING_SERVER_CERT_PATH)", cfg.CACertFile)
		}
	}
	if cfg.ClientCertFile != "" {
		cert, err := tls.LoadX509KeyPair(cfg.ClientCertFile, cfg.ClientCertFile)
		if err != nil {
			return nil, invalid(op, "the client certificate with its key (MLFLOW_TRACKING_CLIENT_CERT_PATH): %v", err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return conf, nil
}

// redirected is a redirect that was not followed.
type redirected struct {
	status int
	to     *url.URL // without userinfo and query
}

func (r *redirected) Error() string { return fmt.Sprintf("redirected to %s", r.to) }

// checkRedirect follows a redirect only where method and body are kept and the credentials stay with the host they were meant for.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	from, status := via[len(via)-1].URL, req.Response.StatusCode
	kept := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	sameHost := strings.EqualFold(from.Hostname(), req.URL.Hostname())
	weaker := from.Scheme == "https" && req.URL.Scheme != "https"
	if kept && sameHost && !weaker && len(via) < 5 && !c.cfg.NoRedirects {
		return nil
	}
	return &redirected{status: status, to: cleanURL(req.URL)}
}

// cleanURL is a URL without what may be secret.
func cleanURL(u *url.URL) *url.URL {
	clean := *u
	clean.User, clean.RawQuery, clean.Fragment, clean.RawFragment = nil, "", "", ""
	return &clean
}
