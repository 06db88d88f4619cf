package chaos

import (
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// Proxy stands in front of a server and lets requests go wrong at random, until it is
// calmed.
type Proxy struct {
	URL string

	next  http.Handler
	tally *Tally
	addr  string
	share float64 // of requests that go wrong

	mu     sync.Mutex
	random *rand.Rand
	calm   bool
	server *http.Server
	socket net.Listener
	open   map[net.Conn]bool
}

// kinds are the faults of single requests, each with its weight.
var kinds = []struct {
	name   string
	weight int
	upload bool // of uploads alone
	act    mlflowtest.Act
}{
	{"429", 2, false, mlflowtest.Answer(http.StatusTooManyRequests, `{"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "slow down"}`)},
	{"429 with Retry-After", 2, false, mlflowtest.Answer(http.StatusTooManyRequests, "slow down", "Retry-After", "1")},
	{"500", 2, false, mlflowtest.Fail(http.StatusInternalServerError, "INTERNAL_ERROR", "database is locked")},
	{"500 after the deed", 1, false, mlflowtest.Afterwards(mlflowtest.Fail(http.StatusInternalServerError, "INTERNAL_ERROR", "the answer could not be made"))},
	{"503", 2, false, mlflowtest.Answer(http.StatusServiceUnavailable, "no backend")},
	{"503 with Retry-After", 2, false, mlflowtest.Answer(http.StatusServiceUnavailable, "no backend", "Retry-After", "1")},
	{"lost answer", 3, false, mlflowtest.LoseAnswer},
	{"dropped request", 2, false, mlflowtest.Drop},
	{"slow answer", 2, false, mlflowtest.Slow(1500 * time.Millisecond)},
	{"cut upload", 12, true, mlflowtest.CutUpload},
}

// NewProxy listens on loopback. share is the part of requests that go wrong, 0 to 1.
func NewProxy(server string, share float64, seed uint64, tally *Tally) (*Proxy, error) {
	next, err := mlflowtest.Forward(server)
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		next: next, addr: "127.0.0.1:0", share: share, tally: tally, random: rand.New(rand.NewPCG(seed, 1)), open: map[net.Conn]bool{},
	}
	return p, p.listen()
}

func (p *Proxy) listen() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.addr = l.Addr().String()
	p.URL, p.socket = "http://"+p.addr, l
	p.server = &http.Server{Handler: p, ConnState: p.watch, ErrorLog: log.New(io.Discard, "", 0)}
	go func(s *http.Server) { _ = s.Serve(l) }(p.server)
	return nil
}

func (p *Proxy) watch(c net.Conn, s http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == http.StateClosed || s == http.StateHijacked {
		delete(p.open, c)
	} else {
		p.open[c] = true
	}
}

// ServeHTTP passes a request on, or lets it go wrong.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if act := p.draw(r); act != nil {
		act(w, r, p.next)
		return
	}
	p.next.ServeHTTP(w, r)
}

func (p *Proxy) draw(r *http.Request) mlflowtest.Act {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calm || p.random.Float64() >= p.share {
		return nil
	}
	upload := r.Method == http.MethodPut && strings.Contains(r.URL.Path, "mlflow-artifacts") && r.ContentLength > 1
	sum := 0
	for _, k := range kinds {
		if upload || !k.upload {
			sum += k.weight
		}
	}
	n := p.random.IntN(sum)
	for _, k := range kinds {
		if k.upload && !upload {
			continue
		}
		if n -= k.weight; n < 0 {
			p.tally.Add(k.name)
			return k.act
		}
	}
	return nil
}

// Refuse cuts all connections, and refuses new ones for a while. It counts where there
// was one to cut.
func (p *Proxy) Refuse(d time.Duration) error {
	p.mu.Lock()
	if len(p.open) > 0 && !p.calm {
		p.tally.Add("refused connections")
	}
	p.mu.Unlock()
	if err := p.Close(); err != nil {
		return err
	}
	time.Sleep(d)
	return p.listen()
}

// Calm ends all faults.
func (p *Proxy) Calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calm = true
}

// Close ends the proxy, and cuts its connections.
func (p *Proxy) Close() error {
	_ = p.socket.Close() // the server may not know of it yet
	if err := p.server.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
