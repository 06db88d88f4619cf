package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An address with a password is refused wherever it stands, and never shown.
func TestPasswordsInAddressesAreRefused(t *testing.T) {
	const remedy = ": an address with a user or password in it: the spec is frozen and shown; take it out, and pass it as a secret: name its variable in runner.secrets or preflight.key"
	for _, c := range []struct{ spec, want string }{
		{with("north/lamp-9b", "https://lamp:hunter2@north.invalid/lamp-9b"), "spec.yaml:3:10: models[0]" + remedy},
		{smallSpec + "preflight: {url: \"https://lamp:hunter2@north.invalid/v1\"}\n", "spec.yaml:5:18: preflight.url" + remedy},
		{smallSpec + "preflight: {url: \"https://hunter2@north.invalid/v1\"}\n", "spec.yaml:5:18: preflight.url" + remedy},
		{smallSpec + "preflight: {url: \"https://${USER}:${PASS}@north.invalid/v1\"}\n", "spec.yaml:5:18: preflight.url" + remedy},
		{smallSpec + "question: is postgres://lamp:hunter2@db/x better?\n", "spec.yaml:5:11: question" + remedy},
		{with("north/lamp-9b", "{id: n, route: n, settings: {base: \"http://lamp:hunter2@h/\"}}"), "spec.yaml:3:45: models[0].settings.base" + remedy},
		{with("grade.sh", "grade.sh, --at=HTTPS://lamp:hunter2@h"), "spec.yaml:4:63: runner.check[1]" + remedy},
	} {
		got := lines(t, small(t, c.spec+"repeat: 3\n", nil), nil)
		assert.Equal(t, []string{c.want}, got, "%s: it stands alone, for others could quote it", c.spec)
	}
	for _, fine := range []string{"lamp@v2", "https://north.invalid/@lamp/9b", "https://north.invalid/x?to=a@b.invalid", "image@sha256:abc", "ssh://git@host/repo"} {
		assert.Empty(t, lines(t, small(t, with("north/lamp-9b", fine), nil), nil), fine)
	}
}

// A spec or panel that holds the value of one of its secrets is refused, and the value shown nowhere.
func TestSecretsInTheTextAreRefused(t *testing.T) {
	const value = "hunter2-and-more"
	env := map[string]string{"LAMP_KEY": value, "JUDGE_KEY": "other\"value", "NORTH_KEY": "third-value", "SHORT": "lamp", "FREE": "lamp-bench"}
	keys := strings.Replace(smallSpec, "runner: {", "runner: {secrets: [LAMP_KEY, SHORT], pass_env: [FREE], ", 1)
	require.Empty(t, lines(t, small(t, keys, nil), env))
	const text = "the text holds the value of the secret "
	for _, c := range []struct {
		spec string
		more map[string]string
		want []string
	}{
		{keys + "question: does " + value + " work?\n# " + value + "\nrepeats: " + value + "\n", nil,
			[]string{"spec.yaml:5: " + text + "LAMP_KEY", "spec.yaml:6: " + text + "LAMP_KEY", "spec.yaml:7: " + text + "LAMP_KEY"}},
		{keys + "question: \"hunter2\\x2dand-more?\"\n", nil, []string{"spec.yaml:5: " + text + "LAMP_KEY"}},
		{keys + "preflight: {url: https://h/third-value, key: NORTH_KEY}\n", nil, []string{"spec.yaml:5: " + text + "NORTH_KEY"}},
		{strings.Replace(keys, "check: [./grade.sh]", "timeout: 1h", 1) + "judge: {command: [./grade.sh, 'other\"value'], secrets: [JUDGE_KEY]}\n", nil,
			[]string{"spec.yaml:5: " + text + "JUDGE_KEY"}},
		{strings.Replace(keys, "lamps.csv", "lamps.jsonl", 1), map[string]string{"lamps.jsonl": "{\"id\":1,\"input\":1}\n{\"id\":2,\"input\":\"" + value + "\",\"x\":1}\n"},
			[]string{"lamps.jsonl:2: the panel holds the value of the secret LAMP_KEY"}},
	} {
		path := small(t, c.spec, c.more)
		got := lines(t, path, env)
		require.Len(t, got, len(c.want), "%s\n%v", c.spec, got)
		for i := range got {
			assert.Equal(t, c.want[i]+"; "+secretRemedy, got[i])
		}
		_, err := Load(path, lookupIn(env))
		var ps Problems
		require.True(t, errors.As(err, &ps))
		for _, p := range ps {
			for _, v := range env {
				if v != "lamp" && v != "lamp-bench" {
					assert.NotContains(t, strings.Join([]string{p.Field, p.Value, p.Message, p.Remedy}, " "), v)
				}
			}
		}
	}
}

// What is hashed is what a program gets, whatever the panel's spelling and order.
func TestTasksAreCanonical(t *testing.T) {
	a := `{"id":"b","input":{"z":1.0,"a":"\u00fc\u003c"},"expected": [ 1e2, true ]}` + "\n" + `{"id":"a","input":"x"}`
	b := `{"id":"a","input":"\u0078"}` + "\n" + `{"expected":[100,true],"input":{"a":"ü<","z":1},"id":"b"}`
	var first *Resolved
	for _, text := range []string{a, b} {
		path := small(t, with("lamps.csv", "p.jsonl"), map[string]string{"p.jsonl": text})
		s, err := Load(path, nil)
		require.NoError(t, err)
		require.Len(t, s.Tasks, 2)
		assert.Equal(t, "a", s.Tasks[0].ID)
		assert.Equal(t, `"x"`, string(s.Tasks[0].Input))
		assert.Equal(t, "{\"a\":\"ü<\",\"z\":1}", string(s.Tasks[1].Input))
		assert.Equal(t, "[100,true]", string(s.Tasks[1].Expected))
		r, err := Resolve(s, nil)
		require.NoError(t, err)
		if first == nil {
			first = r
		}
		assert.Equal(t, resolvedDigests(t, first), resolvedDigests(t, r))
		assert.Equal(t, string(first.PanelFile), string(r.PanelFile))
	}
}
