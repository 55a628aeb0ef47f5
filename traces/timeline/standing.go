package timeline

// leaderData is who led etcd from a time on.
type leaderData struct {
	Time   int64 `json:"time"`
	Member int   `json:"member"`
	Term   int64 `json:"term"`
}

// windowColumns are what the caches held, in order of time for each server.
type windowColumns struct {
	Server      []int   `json:"server"`
	TimeSteps   []int64 `json:"timeSteps"`
	Filling     []int   `json:"filling"`
	SinceSteps  []int   `json:"sinceSteps"`
	NewestSteps []int   `json:"newestSteps"`
}

// standing adds who led and what caches held.
func (b *builder) standing() {
	for _, leader := range b.history.Leaders {
		b.data.Leaders = append(b.data.Leaders, leaderData{Time: leader.Time, Member: b.text(leader.Member), Term: leader.Term})
	}
	columns, time, since, newest := &b.data.Windows, int64(0), 0, 0
	for _, window := range b.history.Windows {
		sinceNow, newestNow := b.versions.rank(window.Since), b.versions.rank(window.Newest)
		columns.Server = append(columns.Server, b.text(window.Server))
		columns.TimeSteps = append(columns.TimeSteps, window.Time-time)
		columns.Filling = append(columns.Filling, window.Filling)
		columns.SinceSteps = append(columns.SinceSteps, sinceNow-since)
		columns.NewestSteps = append(columns.NewestSteps, newestNow-newest)
		time, since, newest = window.Time, sinceNow, newestNow
	}
}
