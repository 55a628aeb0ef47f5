// Package conformance contains the tests that every target must pass, whatever its
// cache. They test it through the clients' API.
package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
)

// Run tests a target, which must have that name, and then with encrypted values.
func Run(t *testing.T, name string, of target.Target) {
	require.Equal(t, name, of.Name())
	require.Equal(t, "/registry/pods/", of.Prefix())
	for _, test := range []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"StopReleasesEverything", testStopReleasesEverything},
		{"BreakWatchInitialisesTheCacheAgain", testBreakWatchInitialisesTheCacheAgain},
		{"ReplacedStorageServesWhatIsNewAndEndsWhatIsOld", testReplacedStorageServesWhatIsNewAndEndsWhatIsOld},
		{"Patches", testPatches},
		{"DeletionsWithFinalizersAndValidation", testDeletionsWithFinalizersAndValidation},
		{"StartFailsWithoutEndpoints", testStartFailsWithoutEndpoints},
		{"WatchFollowsTheSelector", testWatchFollowsTheSelector},
		{"WatchSendsTheInitialStateAndItsEnd", testWatchSendsTheInitialStateAndItsEnd},
		{"WatchGetsABookmarkBeforeItsTimeout", testWatchGetsABookmarkBeforeItsTimeout},
		{"WatchesThatAreRefused", testWatchesThatAreRefused},
		{"StopEndsAWaitingNext", testStopEndsAWaitingNext},
		{"TheCacherCountsItsWatchers", testTheCacherCountsItsWatchers},
		{"TheWindowIsWhatWatchesCanGoOnFrom", testTheWindowIsWhatWatchesCanGoOnFrom},
		{"MutatingConsumers", testMutatingConsumers},
		{"WritesAndReads", testWritesAndReads},
		{"ListsSelectAndPage", testListsSelectAndPage},
		{"RequestsThatAreRefused", testRequestsThatAreRefused},
		{"AnOperationWhoseContextEndsIsUnknown", testAnOperationWhoseContextEndsIsUnknown},
		{"InformerFollowsTheServer", testInformerFollowsTheServer},
		{"InformerRelistsAfterExpiry", testInformerRelistsAfterExpiry},
		{"PointsAreReached", testPointsAreReached},
		{"TheCacheWaitsAtAPoint", testTheCacheWaitsAtAPoint},
		{"AnUpstreamWatchThatEndsIsResumed", testAnUpstreamWatchThatEndsIsResumed},
		{"TheCacheRecoversFromFailedLists", testTheCacheRecoversFromFailedLists},
		{"ValuesThatCannotBeReadAreNotPassedOver", testValuesThatCannotBeReadAreNotPassedOver},
		{"WhatExpiresIsDeleted", testWhatExpiresIsDeleted},
		{"ValuesAreWrittenAgainWithAnotherKey", testValuesAreWrittenAgainWithAnotherKey},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newFixture(t, of)) })
		t.Run(test.name+"Encrypted", func(t *testing.T) { test.run(t, newFixture(t, encrypted{of})) })
	}
}

// Benchmark measures a target.
func Benchmark(b *testing.B, of target.Target) {
	for _, benchmark := range []struct {
		name string
		run  func(*testing.B, *fixture)
	}{
		{"Start", benchmarkStart},
		{"Update", benchmarkUpdate},
		{"List", benchmarkList},
	} {
		b.Run(benchmark.name, func(b *testing.B) { benchmark.run(b, newFixture(b, of)) })
	}
}
