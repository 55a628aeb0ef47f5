package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// Environment is the world that a workload runs in.
type Environment struct {
	// Began is the zero of recorded times.
	Began time.Time
	// Servers are the names of the API servers, at least one.
	Servers []string
	// Dial connects a client to a server. Calls of the API must return soon after their
	// context is done.
	Dial func(client, server string) target.API
	// Rand returns the random stream with that name. The names are "workload/bursts",
	// "workload/" and the name of a client, and the latter followed by "/scribbles".
	Rand func(name string) *rand.Rand
	// Go runs f in a goroutine of the client's process.
	Go func(client string, f func())
	// NewInformer makes a real client-go informer; it may be nil if the
	// configuration asks for none.
	NewInformer func(api target.API, scope model.Scope, handle target.Handle) target.Informer
}

// Workload is the set of clients of one run. Call Start, Heal, Stop and Fill in this
// order from one goroutine; the methods about consumers may be called from any.
type Workload struct {
	config      Config
	environment Environment
	recorder    *recorder

	alive, working              context.Context
	endAlive, endWorking        context.CancelFunc
	workers, followers, closing group
	consumers                   map[string]*consumer
	informers                   []*informer
	parts                       []*Part    // the steps that clients have taken
	numbers                     []*numbers // of all clients
}

// New prepares a workload without starting it.
func New(config Config, environment Environment) (*Workload, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if len(environment.Servers) == 0 {
		return nil, errors.New("workload: expected at least one server, found none")
	}
	if config.Informers > 0 && environment.NewInformer == nil {
		return nil, fmt.Errorf("workload: %d informers are asked for, but the environment cannot make any", config.Informers)
	}
	w := &Workload{
		config: config, environment: environment,
		recorder:  newRecorder(environment.Began),
		consumers: map[string]*consumer{},
	}
	w.alive, w.endAlive = context.WithCancel(context.Background())
	w.working, w.endWorking = context.WithCancel(w.alive)
	return w, nil
}

// Start starts all clients and returns.
func (w *Workload) Start() {
	active := w.config.Active()
	bursts := drawBursts(w.environment.Rand("workload/bursts"), w.config.Bursts, w.config.writing())
	requesters := w.config.Writers + w.config.Readers
	share := func(index int) int {
		count := w.config.Operations / requesters
		if index < w.config.Operations%requesters {
			count++
		}
		return count
	}
	for _, i := range w.config.present("writer", w.config.Writers) {
		writer := &writer{client: w.newClient("writer", i)}
		schedule := drawSchedule(writer.random, share(i), w.config.writing(), bursts)
		w.start(&w.workers, writer.name, func() { writer.run(schedule) })
	}
	for _, i := range w.config.present("reader", w.config.Readers) {
		reader := &reader{w.newClient("reader", i)}
		schedule := drawSchedule(reader.random, share(w.config.Writers+i), active, bursts)
		w.start(&w.workers, reader.name, func() { reader.run(schedule) })
	}
	for _, i := range w.config.present("reflector", w.config.Reflectors) {
		reflector := &reflector{client: w.newClient("reflector", i)}
		reflector.consumer = w.newConsumer(&reflector.client)
		reflector.drawHabits()
		w.start(&w.followers, reflector.name, func() {
			if reflector.arrive() {
				reflector.run()
			}
		})
	}
	for _, i := range w.config.present("watcher", w.config.Watchers) {
		watcher := w.newWatcher("watcher", i)
		w.consumers[watcher.name] = watcher.consumer
		w.start(&w.followers, watcher.name, watcher.run)
	}
	for _, i := range w.config.present("sleeper", w.config.StalledWatchers) {
		// Nothing changes a stalled watcher's pace, so its consumer is not registered.
		stalled := w.newWatcher("sleeper", i)
		stalled.stalls = true
		w.start(&w.followers, stalled.name, stalled.run)
	}
	for _, i := range w.config.present("informer", w.config.Informers) {
		w.startInformer(w.newClient("informer", i))
	}
	w.startLoaders()
	w.startScript()
}

func (w *Workload) newWatcher(kind string, index int) *watcher {
	watcher := &watcher{client: w.newClient(kind, index)}
	watcher.consumer = newConsumer(watcher.random)
	watcher.mutations = w.newNumbers(watcher.name + "/scribbles")
	watcher.careless = rand.New(watcher.mutations)
	return watcher
}

// startInformer starts an informer of the target on one server, from which it may roam.
func (w *Workload) startInformer(client client) {
	sessions, pace, scope := []*session{client.anyServer()}, drawPace(client.random, false), model.Scope{}
	if w.config.Roaming {
		first := slices.Index(client.servers, sessions[0])
		sessions = slices.Concat(client.servers[first:], client.servers[:first])
	}
	if oneIn(client.random, 2) {
		scope.Namespace = pick(client.random, w.config.Namespaces)
	}
	observer := newObserver(sessions, w.newConsumer(&client), pace)
	observer.delayed = w.config.HandlerDelay > 0
	informer := &informer{
		name: client.name, scope: scope, observer: observer,
		delay: w.config.HandlerDelay, now: w.recorder.now,
	}
	informer.inner = w.environment.NewInformer(observer, scope, informer.handle)
	w.informers = append(w.informers, informer)
	w.start(&w.followers, informer.name, func() {
		if client.arrive() {
			informer.inner.Run(w.alive)
		}
	})
}

// Heal ends the working phase once faults have healed. It waits for the requests in
// flight, lets all consumers catch up, floods the servers with writes if the
// configuration says so, and makes a few last writes through every server. Its error
// says which of them failed; the run continues regardless.
func (w *Workload) Heal() error {
	w.endWorking()
	w.workers.wait(maxStop)
	for _, name := range w.config.Consumers() {
		if consumer := w.consumers[name]; consumer != nil {
			consumer.heal()
		}
	}
	if _, ok := w.config.part(FinalWriter); !ok {
		return nil
	}
	final := &finalWriter{writer: writer{client: w.client(FinalWriter)}}
	final.began = time.Now()
	var err error
	w.start(&w.closing, final.name, func() {
		final.flood()
		err = final.finish()
	})
	if !w.closing.wait(w.config.maxFlood() + 2*maxLastWrites + maxStop) {
		return errors.New("workload: a last request did not return after its context was done")
	}
	return err
}

// Converge waits until every informer has seen the last known change of its scope, its handler was
// told its contents, and none waits to retry, but no longer than an informer's backoff may take:
// client-go waits for up to 30 s, doubled by jitter, and once more if the server's first response
// requires a relist. Call it after Heal.
func (w *Workload) Converge() {
	for waited := time.Duration(0); waited < maxConverge; waited += convergePause {
		behind := false
		for _, informer := range w.informers {
			_, _, same := informer.told()
			behind = behind || !same || informer.busy() || informer.observer.waits() || informer.inner.LastSyncRV() < w.recorder.lastChange(informer.scope.Namespace)
		}
		if !behind {
			// What the reflector has seen must still reach the store.
			time.Sleep(convergeSettle)
			return
		}
		time.Sleep(convergePause)
	}
}

// Stop ends the recording and then all clients. Streams that are open at this moment
// are recorded as open. Its error says how many clients did not end.
func (w *Workload) Stop() error {
	var contents []model.Informer
	for _, informer := range w.informers {
		contents = append(contents, informer.results()...)
	}
	w.recorder.freeze(contents)
	w.endAlive()
	var left int64
	for _, group := range []*group{&w.workers, &w.followers, &w.closing} {
		if !group.wait(maxStop) {
			left += group.left.Load()
		}
	}
	if left > 0 {
		return fmt.Errorf("workload: %d clients did not end within %v of being cancelled", left, maxStop)
	}
	return nil
}

// Fill copies the recording into history: operations, streams, informers. Call it after Stop.
func (w *Workload) Fill(history *model.History) { w.recorder.fill(history) }

// SlowConsumer makes a client take delay for each event until HealConsumer.
func (w *Workload) SlowConsumer(client string, delay time.Duration) error {
	return w.changeConsumer(client, func(c *consumer) { c.force(pace{name: Slow, delay: delay}) })
}

// StallConsumer makes a client stop reading its stream until HealConsumer.
func (w *Workload) StallConsumer(client string) error {
	return w.changeConsumer(client, func(c *consumer) { c.force(pace{name: Stalled}) })
}

// HealConsumer restores a client's own pace.
func (w *Workload) HealConsumer(client string) error {
	return w.changeConsumer(client, (*consumer).release)
}

func (w *Workload) changeConsumer(client string, change func(*consumer)) error {
	consumer := w.consumers[client]
	if consumer == nil {
		return fmt.Errorf("workload: expected one of the consumers %v, found %q", w.config.Consumers(), client)
	}
	change(consumer)
	return nil
}

// UnderWay returns the newest RV in any response, and, by server, what clients are
// waiting for. The world must be paused.
func (w *Workload) UnderWay() (newest int64, waiting map[string]UnderWay) {
	return w.recorder.underWay()
}

// Redraw replaces the random streams of all clients with others of the same names. The
// world must be paused.
func (w *Workload) Redraw(random func(name string) *rand.Rand) {
	w.environment.Rand = random
	for _, n := range w.numbers {
		n.seek(0)
	}
}

// newNumbers returns the numbers of a client, by name.
func (w *Workload) newNumbers(name string) *numbers {
	n := newNumbers(func() *rand.Rand { return w.environment.Rand("workload/" + name) })
	w.numbers = append(w.numbers, n)
	return n
}

func (w *Workload) newClient(kind string, index int) client { return w.client(clientName(kind, index)) }

func (w *Workload) client(name string) client {
	numbers := w.newNumbers(name)
	taken := &Part{Client: name}
	w.parts = append(w.parts, taken)
	c := client{
		name: name, random: rand.New(numbers), numbers: numbers, taken: taken,
		catalog: catalog{w.config}, knowledge: newKnowledge(w.config.Remember), began: w.environment.Began,
		alive: w.alive, working: w.working,
	}
	c.part, _ = w.config.part(name)
	for _, server := range w.environment.Servers {
		c.servers = append(c.servers, &session{
			client: name, server: server, api: w.environment.Dial(name, server),
			recorder: w.recorder, timeout: w.config.OperationTimeout,
		})
	}
	return c
}

func (w *Workload) newConsumer(client *client) *consumer {
	consumer := newConsumer(client.random)
	w.consumers[client.name] = consumer
	return consumer
}

func (w *Workload) start(group *group, client string, f func()) {
	ended := group.add()
	w.environment.Go(client, func() {
		defer ended()
		f()
	})
}

// group waits for clients to end, up to a limit.
type group struct {
	running sync.WaitGroup
	left    atomic.Int64
}

// add counts one more client and returns the function to call when it ends.
func (g *group) add() (ended func()) {
	g.running.Add(1)
	g.left.Add(1)
	return func() {
		g.left.Add(-1)
		g.running.Done()
	}
}

// wait reports whether all clients ended within most.
func (g *group) wait(most time.Duration) bool {
	all := make(chan struct{})
	go func() {
		g.running.Wait()
		close(all)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-all:
		return true
	case <-timer.C:
		return false
	}
}
