package preflight

import (
	"encoding/json"
	"net/http"
	"strings"
)

const question = "Reply with the word ready."

// dialect is one way of talking to models over HTTP.
type dialect struct {
	called string // "chat completions"
	path   string // usual end of the address
	limit  string // member that bounds the answer's tokens
	// shape is what an answer must have, in words.
	shape string
	body  map[string]any
	auth  func(h http.Header, key string)
	read  func(body []byte) (reply, error)
}

// reply is what is read of an answer.
type reply struct {
	model string // as served
	text  string // what the model said or thought
	acted bool   // it called a tool
	cut   bool   // at the bound on its tokens
	known bool   // the answer has the dialect's shape
}

// alive says that the model did something.
func (r reply) alive() bool { return r.text != "" || r.acted }

func bearer(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }

// dialects by the kind that a spec names.
var dialects = map[string]dialect{
	"openai-chat": {
		called: "chat completions", path: "/v1/chat/completions", limit: "max_tokens", shape: "choices",
		body: map[string]any{"messages": []map[string]string{{"role": "user", "content": question}}},
		auth: bearer, read: readChat,
	},
	"openai-responses": {
		called: "responses", path: "/v1/responses", limit: "max_output_tokens", shape: "output",
		body: map[string]any{"input": question},
		auth: bearer, read: readResponse,
	},
	"anthropic-messages": {
		called: "messages", path: "/v1/messages", limit: "max_tokens", shape: "content",
		body: map[string]any{"messages": []map[string]string{{"role": "user", "content": question}}},
		auth: func(h http.Header, key string) {
			h.Set("X-Api-Key", key)
			h.Set("Anthropic-Version", "2023-06-01")
		},
		read: readMessage,
	},
}

// part is one part of a content; which members it has depends on its type.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
}

// firstText is the first text that is more than white space.
func firstText(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}

func readChat(body []byte) (reply, error) {
	var a struct {
		Model   string `json:"model"`
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content          json.RawMessage   `json:"content"` // text, or parts
				Reasoning        string            `json:"reasoning"`
				ReasoningContent string            `json:"reasoning_content"`
				ToolCalls        []json.RawMessage `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return reply{}, err
	}
	r := reply{model: a.Model, known: len(a.Choices) > 0}
	for _, c := range a.Choices {
		var said string
		var parts []part
		if json.Unmarshal(c.Message.Content, &said) != nil && json.Unmarshal(c.Message.Content, &parts) == nil {
			for _, p := range parts {
				said += p.Text
			}
		}
		r.text = firstText(r.text, said, c.Message.Reasoning, c.Message.ReasoningContent)
		r.acted = r.acted || len(c.Message.ToolCalls) > 0
		r.cut = r.cut || c.FinishReason == "length"
	}
	return r, nil
}

func readMessage(body []byte) (reply, error) {
	var a struct {
		Model      string  `json:"model"`
		Content    *[]part `json:"content"`
		StopReason string  `json:"stop_reason"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return reply{}, err
	}
	r := reply{model: a.Model, known: a.Content != nil, cut: a.StopReason == "max_tokens"}
	if a.Content == nil {
		return r, nil
	}
	for _, p := range *a.Content {
		r.text = firstText(r.text, p.Text, p.Thinking)
		r.acted = r.acted || p.Type == "tool_use"
	}
	return r, nil
}

func readResponse(body []byte) (reply, error) {
	var a struct {
		Model      string `json:"model"`
		Status     string `json:"status"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Output *[]struct {
			Type    string `json:"type"`
			Content []part `json:"content"`
			Summary []part `json:"summary"`
		} `json:"output"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return reply{}, err
	}
	r := reply{model: a.Model, known: a.Output != nil, cut: a.Incomplete.Reason == "max_output_tokens"}
	if a.Output == nil {
		return r, nil
	}
	for _, o := range *a.Output {
		for _, p := range append(o.Content, o.Summary...) {
			r.text = firstText(r.text, p.Text)
		}
		r.acted = r.acted || strings.HasSuffix(o.Type, "_call")
	}
	return r, nil
}
