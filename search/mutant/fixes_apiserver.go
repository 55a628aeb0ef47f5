package mutant

// registryFile has what API servers do with a request for an object.
const registryFile = "pkg/registry/generic/registry/store.go"

// serverFixes are fixes of the findings of API servers in docs/findings.
var serverFixes = of(controlPlane, apiserver, []Mutant{
	{
		Name: "fix-finding-29", File: registryFile,
		Summary:     "kube-apiserver computes the grace period of each version of an object separately.",
		Anchor:      "			lastGraceful = *options.GracePeriodSeconds\n",
		Replacement: "			lastGraceful = *existingAccessor.GetDeletionGracePeriodSeconds()\n",
		More: []Edit{{
			File:        "pkg/registry/rest/delete.go",
			Anchor:      "	if !gracefulStrategy.CheckGracefulDelete(ctx, obj, options) {\n",
			Replacement: "	options = options.DeepCopy()\n	if !gracefulStrategy.CheckGracefulDelete(ctx, obj, options) {\n",
		}},
	},
	{
		Name: "fix-finding-34", File: registryFile,
		Summary: "kube-apiserver commits and reverts what an update of a Service allocates and releases once it knows whether the update has been written.",
		Anchor:  "	err = e.Storage.GuaranteedUpdate(ctx, key, out, ignoreNotFound, storagePreconditions, func(existing runtime.Object, res storage.ResponseMeta) (runtime.Object, *uint64, error) {\n",
		Replacement: `	var finishAttempt FinishFunc = finishNothing
	finish := func(success bool) {
		fn := finishAttempt
		finishAttempt = finishNothing
		fn(ctx, success)
	}
	err = e.Storage.GuaranteedUpdate(ctx, key, out, ignoreNotFound, storagePreconditions, func(existing runtime.Object, res storage.ResponseMeta) (runtime.Object, *uint64, error) {
		finish(false)
`,
		More: []Edit{
			{
				Anchor:      "			fn := finishCreate\n			finishCreate = finishNothing\n			fn(ctx, true)\n",
				Replacement: "			finishAttempt, finishCreate = finishCreate, finishNothing\n",
			},
			{
				Anchor:      "		fn := finishUpdate\n		finishUpdate = finishNothing\n		fn(ctx, true)\n",
				Replacement: "		finishAttempt, finishUpdate = finishUpdate, finishNothing\n",
			},
			{
				Anchor:      "	}, dryrun.IsDryRun(options.DryRun), nil)\n\n	if err != nil {\n		// delete the object\n",
				Replacement: "	}, dryrun.IsDryRun(options.DryRun), nil)\n\n	if err != nil {\n		if storage.IsNotFound(err) || storage.IsInvalidObj(err) {\n			finish(false)\n		}\n",
			},
			{
				Anchor:      "		return nil, false, err\n	}\n\n	if creating {\n		if e.AfterCreate != nil {\n",
				Replacement: "		return nil, false, err\n	}\n	finish(true)\n\n	if creating {\n		if e.AfterCreate != nil {\n",
			},
		},
	},
	{
		Name: "fix-finding-35", File: "pkg/registry/generic/registry/decorated_watcher.go",
		Summary: "kube-apiserver normalises Services and PersistentVolumeClaims in the events of a watch as in the responses to gets and lists.",
		Anchor:  "				d.decorator(recv.Object)\n",
		Replacement: `				if cacheable, isCacheable := recv.Object.(runtime.CacheableObject); isCacheable {
					recv.Object = cacheable.GetObject()
				}
				d.decorator(recv.Object)
`,
	},
	{
		Name: "fix-finding-37", File: registryFile,
		Summary: "kube-apiserver keeps what it has allocated for a Service if it does not know whether the Service has been stored.",
		Anchor:  "	if err := e.Storage.Create(ctx, key, obj, out, ttl, dryrun.IsDryRun(options.DryRun)); err != nil {\n",
		Replacement: `	if err := e.Storage.Create(ctx, key, obj, out, ttl, dryrun.IsDryRun(options.DryRun)); err != nil {
		var etcdErr interface{ Code() grpccodes.Code }
		switch {
		case storage.IsExist(err), storage.IsInternalError(err), errors.Is(err, storage.ErrResourceVersionSetOnCreate):
		case errors.As(err, &etcdErr) && (etcdErr.Code() == grpccodes.InvalidArgument || etcdErr.Code() == grpccodes.ResourceExhausted):
		case strings.Contains(err.Error(), "trying to send message larger than max"):
		default:
			finishCreate = finishNothing
		}
`,
		More: []Edit{{Anchor: "import (\n", Replacement: "import (\n	\"errors\"\n	grpccodes \"google.golang.org/grpc/codes\"\n"}},
	},
	{
		Name: "fix-finding-60", Summary: "An API server asks the storage about a namespace that is terminating by its cache before it refuses a create there.",
		File:        "pkg/admission/plugin/namespace/lifecycle/admission.go",
		Anchor:      "	// refuse to operate on non-existent namespaces\n",
		Replacement: "	if exists && a.GetOperation() == admission.Create && namespace.Status.Phase == v1.NamespaceTerminating {\n		forceLiveLookup = true\n	}\n\n	// refuse to operate on non-existent namespaces\n",
	},
	{
		Name: "fix-finding-70", File: registryFile,
		Summary: "kube-apiserver removes no other object than the one that a DELETE has marked or read.",
		Anchor:  "	// Going further in this function is not useful when we are\n",
		Replacement: `	ownPrecondition := preconditions.UID == nil && preconditions.ResourceVersion == nil
	if ownPrecondition {
		if ignoreNotFound { // it has been marked
			accessor, err = meta.Accessor(lastExisting)
			if err != nil {
				return nil, false, apierrors.NewInternalError(err)
			}
		}
		uid := accessor.GetUID()
		preconditions.UID = &uid
	}

	// Going further in this function is not useful when we are
`,
		More: []Edit{{
			Anchor: "		// Please refer to the place where we set ignoreNotFound for the reason\n",
			Replacement: `		if ownPrecondition && storage.IsInvalidObj(err) {
			err = storage.NewKeyNotFoundError(key, 0)
		}
		// Please refer to the place where we set ignoreNotFound for the reason
`,
		}},
	},
})
