package simrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestPlacesInARun(t *testing.T) {
	history := &model.History{
		End: 100,
		Truth: model.Truth{Revision: 3, Changes: []model.Change{
			{RV: 2, Object: model.Object{Name: "a", Value: "v", RV: 2}}, {RV: 3, Object: model.Object{Name: "a", Value: "w", RV: 3}},
		}},
		Operations: []model.Operation{
			{ID: 1, Kind: model.Create, Call: 10, Return: 20, Object: &model.Object{Name: "a", Value: "v"}, ResultRV: 2},
			{ID: 2, Kind: model.Get, Call: 25, Return: model.Pending},
		},
		Streams: []model.Stream{{ID: 3, Call: 30, Return: 31, Events: []model.Event{{Time: 40, RV: 2, Type: model.Added}, {Time: 50, RV: 3, Type: model.Modified}}}},
	}
	for text, want := range map[string]where{
		"1.5s": {at: 1500 * time.Millisecond}, "decision=812": {decision: 812},
		"rv=2": {at: 20}, "rv=3": {at: 50}, "operation=1": {at: 20}, "operation=2": {at: 25},
		"stream=3": {at: 30}, "event=3/1": {at: 40}, "event=3/2": {at: 50},
	} {
		found, err := parseWhere(text, func() (*model.History, error) { return history, nil })
		require.NoError(t, err, text)
		require.Equal(t, want, found, text)
	}
	for text, says := range map[string]string{
		"":            "expected a simulated time such as 12.5s, or rv=32",
		"12":          `found "12"`,
		"-1s":         `found "-1s"`,
		"rv=x":        `found "rv=x"`,
		"rv=2/1":      `found "rv=2/1"`,
		"event=3":     `found "event=3"`,
		"event=3/0":   `found "event=3/0"`,
		"gate=3":      `found "gate=3"`,
		"rv=9":        `expected something that the history has, found nothing for "rv=9"`,
		"operation=7": "expected something that the history has",
		"stream=7":    "expected something that the history has",
		"event=3/3":   "expected something that the history has",
	} {
		_, err := parseWhere(text, func() (*model.History, error) { return history, nil })
		require.ErrorIs(t, err, errWhere, text)
		require.ErrorContains(t, err, says, text)
	}
}
