package mlflowtest

import "testing"

// difference is something in which supported versions are known to differ, with the reason why tests accept both.
type difference struct {
	newest, oldest any
	why            string
}

// differences is the whole list: where it says nothing, the suite asks the same of all servers.
var differences = map[string]difference{
	"missing artifact: status":        {404, 500, "2.22 reports every failed download as its own; the client asks for the list of the folder"},
	"server-info: status":             {200, 404, "the route came with 3.x; the client then knows the version only"},
	"full last page: token":           {false, true, "2.22 gives a token whenever a page is full, which leads to an empty page; the client reads it"},
	"IS NULL: status":                 {200, 400, "came with 3.x; the client has no filter for it"},
	"foreign Host header: status":     {403, 200, "3.5 brought protection against DNS rebinding; the client's message says what to allow"},
	"workspace header: status":        {500, 200, "2.22 knows no workspaces and ignores the header; the client's message says to unset it"},
	"cut-off upload: kept":            {false, true, "2.22 stores what arrived; CheckArtifacts compares sizes"},
	"101 equal metrics again: status": {200, 400, "2.22 recognises 100 in one request; the client sends a refused batch again in pieces"},
	"delete-experiment-tag: status":   {200, 404, "came with 3.x; the client says that it is not supported, and the tag is overwritten"},
	"traces: offered":                 {true, false, "traces of this form came with 3.x; the client says that they are not offered, and a batch asks before it starts"},
	"artifact put: body":              {"", "{}", "the client takes both"},
}

// expect is the value of a known difference for a version.
func expect[T any](t testing.TB, version Version, name string) T {
	t.Helper()
	d, known := differences[name]
	if !known {
		t.Fatalf("%q is no known difference", name)
	}
	value := d.newest
	if version == Oldest {
		value = d.oldest
	}
	typed, ok := value.(T)
	if !ok {
		t.Fatalf("%q is a %T", name, value)
	}
	return typed
}
