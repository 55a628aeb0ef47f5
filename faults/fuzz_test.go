package faults

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse states that whatever text is read as a plan, the parser either names the
// line that is wrong, in one line, or returns a plan that reads back as it is.
func FuzzParse(f *testing.F) {
	f.Add("# watchsim plan v1\nat 5s compaction revision=current\nat 6s etcd-crash member=etcd-0 down=1s\n")
	f.Add("at 1.5s partition-one-way from=etcd-0 to=apiserver-0 for=982ms # a comment\n\n")
	f.Add("# watchsim plan v9\n")
	f.Add("at 5s etcd-crash member=etcd-0 down=-1s")
	f.Add("at 9999999h etcd-crash member= member=x")
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Parse(text)
		if err != nil {
			require.Regexp(t, `^faults: line [0-9]+, column [0-9]+: `, err.Error())
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := Parse(plan.String())
		require.NoError(t, err)
		require.Equal(t, plan.String(), again.String())
	})
}
