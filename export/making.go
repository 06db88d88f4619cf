package export

import "fmt"

// making is all outputs of one folder being made, with the summary that they share.
type making struct {
	outputs []Making
	sum     *summarizer
}

// startAll starts every output; dir "" computes contents only.
func startAll(f *Frozen, dir string, outputs []Output) (*making, error) {
	m := &making{sum: newSummarizer(f)}
	m.sum.verdict = newDeciding(f)
	for _, o := range outputs {
		k, err := o.Start(f, dir)
		if err != nil {
			m.abandon()
			name, _ := o.Format()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m.outputs = append(m.outputs, k)
	}
	return m, nil
}

func (m *making) add(e *Evidence) error {
	m.sum.add(e)
	for _, o := range m.outputs {
		if err := o.Add(e); err != nil {
			return err
		}
	}
	return nil
}

func (m *making) finish() (*Summary, []Content, error) {
	s := m.sum.finish()
	var all []Content
	for _, o := range m.outputs {
		c, err := o.Finish(s)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c...)
	}
	return s, all, nil
}

func (m *making) abandon() {
	for _, o := range m.outputs {
		o.Abandon()
	}
}
