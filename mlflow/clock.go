package mlflow

import (
	"net/http"
	"sync"
	"time"
)

// serverClock is what the latest answer said of the server's time.
type serverClock struct {
	mu   sync.Mutex
	date time.Time // from the header; zero: none was seen
	at   time.Time // when it came, by this machine's monotonic clock
}

func (s *serverClock) note(h http.Header) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date, s.at = date.UTC(), time.Now()
}

// ServerTime is the time by the server's clock (UTC): the header Date of its latest answer, and what has passed since. It is up to a
// second behind, and does not depend on what this machine's clock shows. False means that the server has told no time yet.
func (c *Client) ServerTime() (time.Time, bool) {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	if c.clock.date.IsZero() {
		return time.Time{}, false
	}
	return c.clock.date.Add(time.Since(c.clock.at)), true
}
