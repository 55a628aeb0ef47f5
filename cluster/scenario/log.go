package scenario

import (
	"runtime"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/watchsim/watchsim/sim"
)

// etcdLogger returns a logger for the members that writes to a logbook; nil if there is
// none.
func etcdLogger(log *sim.Logbook) *zap.Logger {
	if log == nil {
		return nil
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.TimeKey = "" // the logbook adds the time
	return zap.New(asideCore{zapcore.NewCore(zapcore.NewConsoleEncoder(encoding), zapcore.AddSync(log), zap.InfoLevel)})
}

// asideCore keeps the encoder out of the run: among others it makes maps, whose seeds
// are drawn at random.
type asideCore struct{ zapcore.Core }

// Enabled drops entries of raft's sugared logger:
// they are formatted before a core sees them, and raft's formatting ranges over maps,
// whose order is random.
func (c asideCore) Enabled(level zapcore.Level) (enabled bool) {
	sim.Aside(func() { enabled = c.Core.Enabled(level) && !sugared() })
	return enabled
}

// sugared reports whether a sugared logger is among the callers.
func sugared() bool {
	var callers [10]uintptr
	for _, pc := range callers[:runtime.Callers(1, callers[:])] {
		if f := runtime.FuncForPC(pc); f != nil && strings.HasPrefix(f.Name(), "go.uber.org/zap.(*SugaredLogger)") {
			return true
		}
	}
	return false
}

func (c asideCore) With(fields []zapcore.Field) (with zapcore.Core) {
	sim.Aside(func() { with = asideCore{c.Core.With(fields)} })
	return with
}

func (c asideCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c asideCore) Write(entry zapcore.Entry, fields []zapcore.Field) (err error) {
	sim.Aside(func() { err = c.Core.Write(entry, fields) })
	return err
}
