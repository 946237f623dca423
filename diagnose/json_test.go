package diagnose_test

import (
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestSchemaRefuses: a schema that lets everything pass tests nothing.
func TestSchemaRefuses(t *testing.T) {
	schema := strictSchema(t)
	for _, report := range []string{
		`{}`,
		`{"schema":"oomdoc.report.v2","oom":false,"input":{"bytes":0,"lines":0},"incidents":[]}`,
		`{"schema":"oomdoc.report.v1","oom":false,"input":{"bytes":0,"lines":0},"incidents":[],"extra":1}`,
		`{"schema":"oomdoc.report.v1","oom":true,"input":{"bytes":0,"lines":0},"incidents":[{}]}`,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(report))
		require.NoError(t, err)
		assert.Error(t, schema.Validate(v), report)
	}
}

// strictSchema is schema.json read strictly: it lets readers meet fields that it
// does not know, the tests do not.
func strictSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("schema.json")
	require.NoError(t, err)
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	require.NoError(t, err)
	closeObjects(doc)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	schema, err := c.Compile("schema.json")
	require.NoError(t, err)
	return schema
}

// closeObjects forbids unknown properties wherever a schema lists some.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			closeObjects(x)
		}
	case []any:
		for _, x := range v {
			closeObjects(x)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	const minimal = `{"schema":"oomdoc.report.v1","oom":false,"input":{"bytes":0,"lines":0},"incidents":[]}`
	for _, test := range []struct{ name, in, err string }{
		{"fields of a later version", strings.Replace(minimal, "{", `{"later":[1],`, 1), ""},
		{"nothing", "", "it ends too early"},
		{"cut off", minimal[:40], "it ends too early"},
		{"no JSON", "CUDA out of memory", "it is not JSON"},
		{"another JSON", `{"oom":true}`, `its field schema is not "oomdoc.report.v1"`},
		{"another version", `{"schema":"oomdoc.report.v2"}`, "use the oomdoc that wrote it"},
		{"another type", `{"schema":"oomdoc.report.v1","oom":"yes"}`, `its field "oom" holds a string`},
		{"two reports", minimal + minimal, "something follows the report"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := diagnose.Decode(strings.NewReader(test.in))
			if test.err == "" {
				require.NoError(t, err)
				assert.Equal(t, diagnose.Schema, r.Schema)
				return
			}
			require.ErrorContains(t, err, test.err)
			assert.Nil(t, r)
		})
	}
}
