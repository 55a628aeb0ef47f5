package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// writeAtRate updates pods in turn, each write when it is due. A write that is due
// while the one before it has not been acknowledged waits for that.
func writeAtRate(ctx context.Context, w *writer, start time.Time, s settings) ([]write, error) {
	writes := make([]write, s.writes())
	begin := time.Now()
	due := time.NewTimer(0)
	defer due.Stop()
	for i := range writes {
		due.Reset(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(s.Rate))))
		select {
		case <-due.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		sent := time.Since(start)
		revision, err := w.update(ctx, i%s.Pods, i)
		if err != nil {
			return nil, fmt.Errorf("write %d: %w", i, err)
		}
		writes[i] = write{revision: revision, sent: sent, done: time.Since(start)}
	}
	return writes, nil
}

// acknowledgements returns how long each write took, sorted.
func acknowledgements(writes []write) []time.Duration {
	took := make([]time.Duration, len(writes))
	for i, w := range writes {
		took[i] = w.done - w.sent
	}
	slices.Sort(took)
	return took
}
