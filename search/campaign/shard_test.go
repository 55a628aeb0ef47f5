package campaign_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/campaign"
)

func TestShardIsChosenByFlagsAndEnvironment(t *testing.T) {
	for name, row := range map[string]struct {
		shard, index string
		shards       int
		chosen       string
		refused      string
	}{
		"nothing said":                  {chosen: "1/1"},
		"named":                         {shard: "3/16", chosen: "3/16"},
		"the last":                      {shard: "16/16", chosen: "16/16"},
		"first pod":                     {shards: 16, index: "0", chosen: "1/16"},
		"last pod":                      {shards: 16, index: "15", chosen: "16/16"},
		"named as the pod":              {shard: "3/16", index: "2", chosen: "3/16"},
		"counted from 0":                {shard: "0/16", refused: "expected one of 1/16 to 16/16, counting from 1"},
		"beyond the last":               {shard: "17/16", refused: `found "17/16"`},
		"none of none":                  {shard: "1/0", refused: "expected 1 to 100000 shards"},
		"too many":                      {shard: "1/100001", refused: "expected 1 to 100000 shards"},
		"no number of shards":           {shard: "3", refused: "such as 3/16"},
		"no number at all":              {shard: "a/b", refused: "such as 3/16"},
		"negative":                      {shard: "-1/4", refused: "counting from 1"},
		"both flags":                    {shard: "1/2", shards: 2, refused: "found both"},
		"negative number":               {shards: -2, refused: "found -2"},
		"too great a number":            {shards: 100_001, index: "0", refused: "found 100001"},
		"number outside of Kubernetes":  {shards: 4, refused: "such as --shard 1/4"},
		"pod without a number":          {index: "2", refused: "expected their number in --shards"},
		"pod beyond the last":           {shards: 4, index: "4", refused: "expected 0 to 3 for 4 shards"},
		"pod that is no number":         {shards: 4, index: "two", refused: `found "two"`},
		"every pod named as the same":   {shard: "3/16", index: "7", refused: "give --shards 16 instead"},
		"pod named as it counts itself": {shard: "2/16", index: "2", refused: "give --shards 16 instead"},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := campaign.ChooseShard(row.shard, row.shards, row.index)
			if row.refused != "" {
				require.ErrorIs(t, err, campaign.ErrShard)
				require.ErrorContains(t, err, row.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.chosen, chosen.String())
		})
	}
}

// Every seed is in one shard, and no shard has more than one seed more than
// another.
func TestShardsDivideARange(t *testing.T) {
	for _, seeds := range []struct{ first, last uint64 }{{1, 1}, {0, 9}, {5, 104}, {7, 30}, {math.MaxUint64 - 20, math.MaxUint64}} {
		for _, count := range []int{1, 2, 3, 7, 16, 40} {
			var total, least, most uint64
			least = math.MaxUint64
			owners := map[uint64]int{}
			for index := 1; index <= count; index++ {
				shard := campaign.Shard{Index: index, Count: count}
				size := uint64(0)
				for i := range seeds.last - seeds.first + 1 {
					if shard.Owns(seeds.first, seeds.first+i) {
						owners[seeds.first+i]++
						size++
					}
				}
				require.Equal(t, size, shard.Size(seeds.first, seeds.last), "%v of %v", shard, seeds)
				total, least, most = total+size, min(least, size), max(most, size)
			}
			require.Equal(t, seeds.last-seeds.first+1, total)
			require.Len(t, owners, int(total))
			require.LessOrEqual(t, most-least, uint64(1))
		}
	}
}

func TestNamesOfResultsSortAsShards(t *testing.T) {
	require.Equal(t, "shard-003-of-100.jsonl", campaign.Shard{Index: 3, Count: 100}.FileName())
	require.Less(t, campaign.Shard{Index: 9, Count: 16}.FileName(), campaign.Shard{Index: 10, Count: 16}.FileName())
}
