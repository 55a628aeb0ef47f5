package timeline

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience is how long anything in the browser may take.
const patience = 60 * time.Second

// tab is a page that is open in a real browser, and what it did there.
type tab struct {
	t       *testing.T
	context context.Context
	page    string // the address without a fragment, if it is one of [shown]

	mu       sync.Mutex
	requests []string
	console  []string
}

// executable is the path of a Chromium, or "".
func executable() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// lacking skips a test on a machine that lacks something, and says how to get it.
func lacking(t *testing.T, missing string) {
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// open shows an address in a tab of its own, and waits for the first frame. One
// that leads nowhere shows all, rather than the violation that a page opens on.
func open(t *testing.T, address string) *tab {
	if !strings.Contains(address, "#") {
		address += "#axis=time"
	}
	tab := blank(t)
	tab.visit(address)
	return tab
}

// shown opens a page at a fragment of its address, which may be empty, and demands at the
// end of the test that it stayed quiet.
func shown(t *testing.T, page Page, fragment string) *tab {
	path, _ := saved(t, page)
	tab := open(t, "file://"+path+fragment)
	tab.page = "file://" + path
	t.Cleanup(tab.quiet)
	return tab
}

// starts is how often a browser that crashes while it starts is started again:
// Chromium does so now and then on a machine that is short of everything.
const starts = 3

// started is the one browser of all tests, with a tab open that keeps it running.
var started = sync.OnceValues(func() (browser context.Context, err error) {
	for range starts {
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(executable()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1500, 950),
			chromedp.WSURLReadTimeout(patience), chromedp.Flag("disable-background-networking", true))
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		browser, _ = chromedp.NewContext(allocator)
		if err = chromedp.Do(browser); err == nil {
			stopBrowser = stop
			return browser, nil
		}
		stop()
	}
	return nil, err
})

// stopBrowser ends the browser of all tests, if one was started.
var stopBrowser = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopBrowser()
	os.Exit(code)
}

// blank opens an empty tab, whose storage no other test sees.
func blank(t *testing.T) *tab {
	if executable() == "" {
		lacking(t, "expected Chromium to look at the page with, found none; `apt-get install chromium` installs it")
	}
	browser, err := started()
	require.NoError(t, err)
	tab := &tab{t: t}
	of, leave := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(tab.note))
	t.Cleanup(leave)
	tab.context = of
	call(tab, network.Enable, network.EnableParams{})
	call(tab, cdplog.Enable, cdp.Empty{})
	return tab
}

// call calls a method of the browser's protocol.
func call[Params, Result any](tab *tab, method cdp.Command[Params, Result], params Params) (result Result) {
	tab.t.Helper()
	tab.run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) (err error) {
		result, err = cdp.Call(ctx, target, method, params)
		return err
	}))
	return result
}

// note keeps requests, and all that the console says.
func (tab *tab) note(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		tab.requests = append(tab.requests, event.Request.URL)
	case *runtime.EventConsoleAPICalled:
		tab.console = append(tab.console, string(event.Type))
	case *runtime.EventExceptionThrown:
		tab.console = append(tab.console, event.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		if !strings.Contains(event.Entry.Text, "getImageData") { // which the tests call, and not the page
			tab.console = append(tab.console, event.Entry.Text)
		}
	case *page.EventJavascriptDialogOpening:
		tab.console = append(tab.console, "dialog: "+event.Message)
	}
}

func (tab *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(tab.context, actions...) }()
	select {
	case err := <-done:
		require.NoError(tab.t, err)
	case <-time.After(patience):
		require.FailNow(tab.t, "the browser does not answer", strings.Join(tab.console, "\n"))
	}
}

// visit opens an address in the tab, also one that differs from the page's own in its
// fragment alone: the page that is there has to be gone first, or it would be ready at once.
func (tab *tab) visit(address string) {
	tab.t.Helper()
	tab.run(chromedp.Navigate("about:blank"))
	tab.until(`document.documentElement.dataset.ready === undefined`)
	tab.run(chromedp.Navigate(address))
	tab.until(`document.documentElement.dataset.ready !== undefined`)
}

// until waits for something to become true in the page.
func (tab *tab) until(expression string) {
	tab.t.Helper()
	require.Eventually(tab.t, func() bool { return evaluated[bool](tab, expression) }, patience, 20*time.Millisecond, expression)
}

// evaluated is the value of an expression in the page, or of what it promises.
func evaluated[T any](tab *tab, expression string) T {
	tab.t.Helper()
	limited, cancel := context.WithTimeout(tab.context, patience)
	defer cancel()
	value, err := chromedp.Run(limited, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(tab.t, err, expression)
	return value
}

func (tab *tab) text(expression string) string {
	tab.t.Helper()
	return evaluated[string](tab, expression)
}

func (tab *tab) number(expression string) float64 {
	tab.t.Helper()
	return evaluated[float64](tab, expression)
}

// keys types on whatever has the focus, click clicks on what a selector finds.
func (tab *tab) keys(keys string) { tab.t.Helper(); tab.run(chromedp.KeyEvent(keys)) }
func (tab *tab) click(selector string) {
	tab.t.Helper()
	tab.run(chromedp.Click(chromedp.CSS(selector)))
}

// find puts something into the field for searches.
func (tab *tab) find(text string) {
	tab.t.Helper()
	tab.number(`(() => { const field = document.getElementById("search"); field.value = ""; field.focus(); return 0; })()`)
	tab.keys(text)
}

// onLanes gives the lanes the focus.
func (tab *tab) onLanes() {
	tab.t.Helper()
	tab.number(`(document.getElementById("canvas").focus(), 0)`)
}

// quiet demands that the page asked for nothing but itself, and that the console
// stayed empty.
func (tab *tab) quiet() {
	tab.t.Helper()
	tab.mu.Lock()
	defer tab.mu.Unlock()
	for _, request := range tab.requests {
		require.True(tab.t, request == "about:blank" || strings.HasPrefix(request, "file:") && strings.Contains(request, File), request)
	}
	require.NotEmpty(tab.t, tab.requests)
	require.Empty(tab.t, tab.console)
}
