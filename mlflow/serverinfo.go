package mlflow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
)

var versionText = regexp.MustCompile(`^[0-9]+\.[0-9]+[0-9A-Za-z.+-]*$`)

// ServerInfo asks what answers at the address. It is no proof that real calls are allowed: these two routes are open to everyone.
func (c *Client) ServerInfo(ctx context.Context) (ServerInfo, error) {
	var info ServerInfo
	_, err := c.send(ctx, request{route: serverVersion, http: c.json}, func(resp *http.Response) error {
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorAnswer))
		if err != nil {
			return err
		}
		version := bytes.TrimSpace(body)
		if !versionText.Match(version) || len(version) > 40 {
			failure := notJSON(serverVersion, resp, body)
			failure.Message = "the server did not answer with an MLflow version"
			return failure
		}
		info.Version = string(version)
		return nil
	})
	if err != nil {
		return ServerInfo{}, err
	}
	var out struct {
		StoreType  string `json:"store_type"`
		Workspaces bool   `json:"workspaces_enabled"`
	}
	err = c.call(ctx, serverInfo, nil, nil, &out)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound { // before 3.x
		return info, nil
	}
	info.StoreType, info.Workspaces = out.StoreType, out.Workspaces
	return info, err
}
