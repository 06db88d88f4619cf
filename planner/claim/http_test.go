package claim_test

import (
	"net/http"
	"time"
)

// dateless answers without the server's time.
type dateless struct{ http.ResponseWriter }

func (d dateless) WriteHeader(status int) {
	d.Header()["Date"] = nil
	d.ResponseWriter.WriteHeader(status)
}

// shifted answers with another time than the server's.
type shifted struct {
	http.ResponseWriter
	by time.Duration
}

func (s shifted) WriteHeader(status int) {
	date, err := http.ParseTime(s.Header().Get("Date"))
	if err != nil {
		panic(err)
	}
	s.Header().Set("Date", date.Add(s.by).Format(http.TimeFormat))
	s.ResponseWriter.WriteHeader(status)
}
