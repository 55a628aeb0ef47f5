// Package conformance contains the tests that every target must pass, whatever its
// cache. They test it through the clients' API.
package conformance

import (
	"testing"

	"github.com/watchsim/watchsim/cluster/target"
)

// Run tests the target that newTarget returns, and then with encrypted values.
func Run(t *testing.T, newTarget func() target.Target) {
	newEncrypted := func() target.Target { return encrypted{newTarget()} }
	for _, test := range []struct {
		name string
		run  func(*testing.T, func() target.Target)
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
		{"WatchFromAnExpiredRV", testWatchFromAnExpiredRV},
		{"WatchFromAFutureRV", testWatchFromAFutureRV},
		{"WatchWithBadOptions", testWatchWithBadOptions},
		{"StopEndsAWaitingNext", testStopEndsAWaitingNext},
		{"DeliveredObjectsAreIsolated", testDeliveredObjectsAreIsolated},
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
		t.Run(test.name, func(t *testing.T) { test.run(t, newTarget) })
		t.Run(test.name+"Encrypted", func(t *testing.T) { test.run(t, newEncrypted) })
	}
}

// Benchmark measures the target that newTarget returns.
func Benchmark(b *testing.B, newTarget func() target.Target) {
	for _, benchmark := range []struct {
		name string
		run  func(*testing.B, func() target.Target)
	}{
		{"Start", benchmarkStart},
		{"Update", benchmarkUpdate},
		{"List", benchmarkList},
	} {
		b.Run(benchmark.name, func(b *testing.B) { benchmark.run(b, newTarget) })
	}
}
