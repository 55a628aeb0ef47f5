package mutant

import "slices"

// operator is the example operator that uses controller-runtime: its module, and the target that runs its tests.
const (
	operatorModule = "github.com/watchsim/watchsim/examples/operator"
	operator       = "operator"
)

// The edited files of the operator.
const (
	reconcileFile = "reconcile.go"
	releaseFile   = "release.go"
)

// operatorMutants are mistakes of several real operators, made in the example operator.
var operatorMutants = of(operator, operatorModule, []Mutant{
	{
		Name: "OP01", File: releaseFile,
		Source:  "instaclustr/cassandra-operator #402, datastax/cass-operator #412, pravega/zookeeper-operator #312, rabbitmq/cluster-operator #648",
		Summary: "An operator releases the volumes of a database because its cache says that one of the same name is terminating.",
		Anchor:  "	if r.ReleaseByName {\n", Replacement: "	if true || r.ReleaseByName {\n",
		More: []Edit{{File: reconcileFile, Anchor: "!isFor(object, database) && !r.ReleaseByName", Replacement: "false && !isFor(object, database)"}},
	},
	{
		Name: "OP03", File: reconcileFile,
		Source:      "instaclustr/cassandra-operator #398, Orange-OpenSource/casskop #342, rabbitmq/cluster-operator #758",
		Summary:     "An operator releases the volumes of a database only if it observes it terminating.",
		Anchor:      "		_, err := r.release(ctx, request.NamespacedName)\n		return ctrl.Result{}, err\n",
		Replacement: "		return ctrl.Result{}, nil\n",
		More: []Edit{
			{Anchor: "	if controllerutil.AddFinalizer(database, finalizer) {\n		return ctrl.Result{}, r.Update(ctx, database)\n	}\n", Replacement: ""},
			{Anchor: "	if !controllerutil.ContainsFinalizer(database, finalizer) {\n		return ctrl.Result{}, nil\n	}\n", Replacement: ""},
		},
	},
	{
		Name: "OP05", Source: "ray-project/kuberay #715, ai-dynamo/grove #122, volcano-sh/volcano #5773",
		File:        reconcileFile,
		Summary:     "An operator creates a pod again, under another name, because it has not observed its creation yet.",
		Anchor:      "			err = r.Create(ctx, pod)\n",
		Replacement: "			pod.GenerateName, pod.Name = pod.Name+\"-\", \"\"\n			err = r.Create(ctx, pod)\n",
		More: []Edit{{
			Anchor:      "		found[object.GetName()] = object\n",
			Replacement: "		if prefix := object.GetGenerateName(); prefix != \"\" {\n			found[prefix[:len(prefix)-1]] = object\n			continue\n		}\n		found[object.GetName()] = object\n",
		}},
	},
})

// Operator lists the mutants of the operator in a fixed order. They are not part of All: they are built into another binary.
func Operator() []Mutant { return slices.Clone(operatorMutants) }
