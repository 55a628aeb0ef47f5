package mutant

// fixes are fixes of the findings in docs/findings. If a failure of released code disappears with
// one of them, that finding explains it.
var fixes = append(findings, together("fix-etcd-client", "etcd's client and the store that uses it have the fixes of findings 2, 5 and 6, some of which are in one function.",
	findings[1], findings[4], findings[5]))

// together returns a control with the edits of several controls.
func together(name, summary string, controls ...Mutant) Mutant {
	all := controls[0]
	all.Name, all.Summary, all.Hunt, all.Equivalent = name, summary, in("any"), ""
	for i, c := range controls {
		all.Equivalent += ", " + c.Equivalent
		if i > 0 {
			all.More = append(all.More, Edit{Module: c.Module, File: c.File, Anchor: c.Anchor, Replacement: c.Replacement})
			all.More = append(all.More, c.More...)
		}
	}
	all.Equivalent = all.Equivalent[2:]
	return all
}

// findings fix one finding each, in the order of their numbers.
var findings = of("", "", []Mutant{
	{
		Name: "fix-finding-1", Module: etcdServer, File: watchableStoreFile, Hunt: in("reinit"),
		Summary:     "etcd answers a progress request to each watch under its own ID, instead of to all watches of the client.",
		Anchor:      "		w.send(WatchResponse{WatchID: responseWatchID, Revision: rev})\n		return true\n",
		Replacement: "		w.send(WatchResponse{WatchID: w.id, Revision: rev})\n",
	},
	{
		Name: "fix-finding-2", Module: etcdClient, File: clientWatchFile, Hunt: in("pair"),
		Summary:     "etcd's client forgets a watch once etcd has confirmed its cancellation, instead of when its goroutine has ended.",
		Anchor:      "					// signal to stream goroutine to update closingc\n",
		Replacement: "					delete(w.substreams, pbresp.WatchId)\n					ws.id = InvalidWatchID // or it cancels that ID on a later stream\n",
	},
	{
		Name: "fix-finding-3", Module: apiserver, File: etcd3Watcher, Hunt: in("storm"),
		Summary:     "Kubernetes' etcd3 store answers a watch with 410 Gone if etcd has compacted the state before its next event, instead of with an internal error.",
		Anchor:      "			parsedEvent, err := parseEvent(e)\n			if err != nil {\n",
		Replacement: "			parsedEvent, err := parseEvent(e)\n			if err != nil {\n				err = apierrors.NewResourceExpired(err.Error())\n",
	},
	{
		Name: "fix-finding-4", Module: grpcGo, File: "internal/transport/http2_client.go", Hunt: in("any"),
		Summary: "gRPC's client considers a connection alive if its last read time has changed, instead of if it is later by the wall clock.",
		Anchor:  "			if lastRead > prevNano {\n", Replacement: "			if lastRead != prevNano {\n",
	},
	{
		Name: "fix-finding-5", Module: etcdClient, File: "kv.go", Hunt: in("any"),
		Summary:     "etcd's client stops delivering a streamed range when its caller's context is done, instead of waiting forever, and Kubernetes cancels that context.",
		Anchor:      "				if !errors.Is(err, io.EOF) {\n					respCh <- RangeStreamResponse{closeErr: ContextError(ctx, err)}\n				}\n				return\n			}\n			respCh <- RangeStreamResponse{RangeResponse: resp.RangeResponse}\n",
		Replacement: "				if !errors.Is(err, io.EOF) {\n					select {\n					case respCh <- RangeStreamResponse{closeErr: ContextError(ctx, err)}:\n					case <-ctx.Done():\n					}\n				}\n				return\n			}\n			select {\n			case respCh <- RangeStreamResponse{RangeResponse: resp.RangeResponse}:\n			case <-ctx.Done():\n				return\n			}\n",
		More: []Edit{
			{Module: apiserver, File: etcd3Store, Anchor: "	stream, streamErr := s.client.KV.GetStream(", Replacement: "	ctx, cancel := context.WithCancel(ctx)\n	stream, streamErr := s.client.KV.GetStream("},
			{Module: apiserver, File: etcd3Store, Anchor: "		defer func() {\n			metrics.RecordEtcdRequest(\"listStream\"", Replacement: "		defer cancel()\n		defer func() {\n			metrics.RecordEtcdRequest(\"listStream\""},
		},
	},
	{
		Name: "fix-finding-6", Module: etcdClient, File: clientWatchFile, Hunt: in("any"),
		Summary:     "If its caller has closed a watch before etcd has created it, etcd's client cancels it at once, instead of at its next event.",
		Anchor:      "				// response to head of queue creation\n",
		Replacement: "				if len(w.resuming) == 0 || w.resuming[0] == nil {\n					cancelSet[pbresp.WatchId] = struct{}{}\n					_ = wc.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: pbresp.WatchId}}})\n				}\n",
	},
	{
		Name: "fix-finding-7", Module: etcdServer, File: watchServerFile, Hunt: in("any"),
		Summary:     "etcd records that a watch wants previous values before the watch can get events, instead of afterwards.",
		Anchor:      "			id, err := sws.watchStream.Watch(ctx, ",
		Replacement: "			sws.mu.Lock() // or sendLoop does not see what is noted below\n			id, err := sws.watchStream.Watch(ctx, ",
		More: []Edit{
			{Anchor: "			if err == nil {\n				sws.mu.Lock()\n				if creq.ProgressNotify {\n", Replacement: "			if err == nil {\n				if creq.ProgressNotify {\n"},
			{Anchor: "					sws.fragment[id] = true\n				}\n				sws.mu.Unlock()\n			} else {\n				id = clientv3.InvalidWatchID\n			}\n", Replacement: "					sws.fragment[id] = true\n				}\n			} else {\n				id = clientv3.InvalidWatchID\n			}\n			sws.mu.Unlock()\n"},
		},
	},
	{
		Name: "fix-finding-8", Module: apiserver, File: watcherFile, Hunt: in("any"),
		Summary:     "A stopped watch of Kubernetes' cache is not drained later, when the dispatcher forgets it, too.",
		Anchor:      "	c.drainInputBuffer = drain\n",
		Replacement: "	c.abandoned = c.abandoned || !drain\n	c.drainInputBuffer = drain && !c.abandoned\n",
		More:        []Edit{{Anchor: "	drainInputBuffer bool\n", Replacement: "	drainInputBuffer bool\n	abandoned        bool // nobody reads any more\n"}},
	},
	{
		Name: "fix-finding-24", Module: clientGo, File: reflectorFile, Hunt: in("any"),
		Summary:     "A reflector backs off before it resumes a watch that ended with an internal error.",
		Anchor:      "				case apierrors.IsInternalError(err) && retry.ShouldRetry():\n",
		Replacement: "				case apierrors.IsInternalError(err) && retry.ShouldRetry():\n					select {\n					case <-stopCh:\n						return nil\n					case <-r.clock.After(r.delayHandler()):\n					}\n",
	},
})
