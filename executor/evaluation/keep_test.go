package evaluation_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/outcome"
)

func TestSecretsAreInNothingThatIsKept(t *testing.T) {
	secret := `sk-"Ünï/code+&<>` + "\\0123456789"
	b := newBench(t, 2, "")
	b.env["TOKEN"], b.env["SHORT"] = secret, "abc"
	b.req.Spec.Runner.Secrets = []string{"TOKEN", "SHORT"}
	b.python("run.sh", `
import base64, urllib.parse
s = os.environ['TOKEN']
forms = [s, urllib.parse.quote(s), urllib.parse.quote(s, safe=''), urllib.parse.quote_plus(s), json.dumps(s), json.dumps(s, ensure_ascii=False),
    base64.b64encode(s.encode()).decode(), base64.urlsafe_b64encode(s.encode()).decode()]
forms += [base64.b64encode((p + ':' + s + ':x').encode()).decode() for p in ('', 'u', 'us')]
text = '\n'.join(forms)
print('x' * 65530 + text)
print(text, file=sys.stderr)
os.mkdir(out + '/logs')
open(out + '/logs/all.txt', 'w').write(text)
open(out + '/' + urllib.parse.quote(s, safe='') + '.txt', 'w').write('named after it')
with open(out + '/outcomes.jsonl', 'w') as f:
    f.write(json.dumps({'task': 'T-1', 'score': 1, 'judges': [{'name': 'j', 'score': 1, 'rationale': 'the key is ' + s}]}) + '\n')
    f.write(json.dumps({'task': 'T-2', 'error': {'class': 'agent', 'message': 'Authorization: Bearer ' + s}}) + '\n')
`)
	m := b.measure()
	assert.Equal(t, map[string]outcome.State{"T-1": outcome.Scored, "T-2": outcome.Agent}, states(m))
	all := b.everything()
	js, err := json.Marshal(secret)
	require.NoError(t, err)
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(js), `"`), `\u00dcn\u00ef`, "code+&<>",
		"0123456789", base64.StdEncoding.EncodeToString([]byte(secret))[:20], base64.StdEncoding.EncodeToString([]byte("u:" + secret))[8:28]} {
		at := strings.Index(all, form)
		assert.Negative(t, at, "%q in %.80q", form, all[max(0, at-40):])
	}
	assert.Contains(t, all, "Authorization: Bearer [redacted:TOKEN]")
	assert.Contains(t, m.LogTail, "[redacted:TOKEN]")
	assert.Contains(t, b.bundle(), "attempt-1/runner/out/[redacted:TOKEN].txt")
}

func TestOnlyOrdinaryFilesAreKept(t *testing.T) {
	b := newBench(t, 1, `cd "$BENCHBATCH_OUT"
printf '{"task":"T-1","score":1,"output":"link","transcript":"../job.json"}\n' > outcomes.jsonl
ln -s /etc/passwd link; ln -s / dir; mkfifo pipe; ln outcomes.jsonl ../work/hard; echo x > first; ln first second
mkdir locked; echo hidden > locked/file; chmod 000 locked/file; chmod 000 locked
printf x > "$(printf 'line\nbreak')"; printf x > 'back\slash'; printf x > "$(printf 'bad\377')"; printf x > "$(printf 'bidi\342\200\256txt')"
mkdir sub; echo ok > "sub/ünï code"`)
	b.req.Spec.Runner.Command = []string{"./run.sh"}
	b.req.Spec.Retry = map[string]int{"harness": 0}
	m := b.measure()
	assert.Equal(t, outcome.Harness, m.Outcomes[0].State, "a hard link is not the runner's own file")
	files := b.bundle()
	names := []string{}
	for name := range files {
		if rest, ok := strings.CutPrefix(name, "attempt-1/runner/out/"); ok {
			names = append(names, rest)
		}
	}
	assert.ElementsMatch(t, []string{"locked/file", "line%0Abreak", "back%5Cslash", "bad%FF", "bidi%E2%80%AEtxt", "sub/ünï code"}, names)
	for _, want := range []string{"link left out: it is a symbolic link", "dir left out: it is a symbolic link", "pipe left out: it is a special file",
		"first left out: it is a hard link", "outcomes.jsonl: it is a hard link", "line%0Abreak: its name was made safe"} {
		assert.Contains(t, files["problems.txt"], want)
	}
}

func TestPathsOfAnOutcomeLieInTheBundle(t *testing.T) {
	b := newBench(t, 1, `cd "$BENCHBATCH_OUT"; mkdir a; echo x > a/b
printf '{"task":"T-1","score":1,"output":"./a//b","transcript":"../../etc/passwd"}\n' > outcomes.jsonl`)
	m := b.measure()
	assert.Equal(t, "attempt-1/runner/out/a/b", m.Outcomes[0].Output)
	assert.Empty(t, m.Outcomes[0].Transcript)
	assert.Contains(t, strings.Join(m.Problems, "\n"), `transcript "../../etc/passwd"`)
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	b := newBench(t, 1, `head -c 3000000 /dev/zero
cd "$BENCHBATCH_OUT"; head -c 400000 /dev/zero > big; for i in 1 2 3 4 5 6 7 8; do echo $i > small-$i; done
d=deep; for i in $(seq 40); do mkdir "$d"; cd "$d"; done; echo x > bottom
printf '{"task":"T-1","score":1}\n' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.req.MaxOutput, b.req.MaxBundle, b.req.MaxFiles = 100_000, 300_000, 8
	m := b.measure()
	assert.Equal(t, outcome.Scored, m.Outcomes[0].State)
	files := b.bundle()
	total := 0
	for name, content := range files {
		if strings.HasPrefix(name, "attempt-1/") {
			total += len(content)
		}
	}
	assert.LessOrEqual(t, total, 300_000)
	problems := files["problems.txt"]
	for _, want := range []string{"big was cut from 400000 to", "largest number of files", "too deep", "output beyond 100000 bytes was dropped"} {
		assert.Contains(t, problems, want)
	}
}

func TestEscapedSecretsAreInNothingThatIsKept(t *testing.T) {
	b := newBench(t, 3, `cat > "$BENCHBATCH_OUT/outcomes.jsonl" <<'X'
{"task":"T-1","error":{"class":"provider","message":"401 bad key sk-abc\/def\u003dghi012345 A: sk-abc\u002fdef\u003Dghi012345"}}
{"task":"T-2","score":1,"judges":[{"name":"j","score":1,"rationale":"sk-abc\/def=ghi012345"}],"flags":[{"audit":"a","evidence":"sk\u002dabc/def=ghi012345"}],"served":{"model":"sk-abc\/def=ghi012345"}}
{"task":"T-3","error":{"class":"sk-abc\/def=ghi012345"}}
X
echo '{"body":"{\"key\":\"sk-abc\\\/def\\u003dghi012345\"}"}' >&2
`)
	b.env["KEY"] = "sk-abc/def=ghi012345"
	b.req.Spec.Runner.Secrets = []string{"KEY"}
	m := b.measure()
	all := b.everything() + m.Reason + m.LogTail + strings.Join(m.Problems, "\n") + asJSON(t, m.Outcomes) + asJSON(t, m.Attempts)
	assert.NotContains(t, all, "ghi012345")
	assert.Equal(t, "401 bad key [redacted:KEY] A: [redacted:KEY]", m.Outcomes[0].Error.Message)
	assert.Equal(t, "[redacted:KEY]", m.Outcomes[1].Judges[0].Rationale)
	assert.Contains(t, m.LogTail, `{\"key\":\"[redacted:KEY]\"}`)
}

// The launcher cuts a log at its limit, wherever that is.
func TestALogThatWasCutEndsWithNoPartOfASecret(t *testing.T) {
	b := newBench(t, 1, `head -c 99985 /dev/zero | tr '\0' x; printf 'sk-0123456789-abcdefghij%0200000d' 7; sleep 0.2
printf '{"task":"T-1","score":1}\n' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.env["KEY"] = "sk-0123456789-abcdefghij"
	b.req.Spec.Runner.Secrets = []string{"KEY"}
	b.req.MaxOutput = 100_000
	m := b.measure()
	files := b.bundle()
	assert.Contains(t, files["problems.txt"], "was dropped")
	assert.Greater(t, len(files["attempt-1/runner/stdout.log"]), 90_000)
	assert.NotContains(t, files["attempt-1/runner/stdout.log"]+m.LogTail, "sk-0")
}
