package export

import (
	"context"
	"errors"

	"github.com/benchbatch/benchbatch/export/stats"
)

// Data is what the verdict of the folder rests on, and its rule. A folder to which
// the rule can't be applied is an error, which may quote foreign text.
func (f *Folder) Data(ctx context.Context) (*stats.Data, stats.Rule, error) {
	x := newDeciding(f.Frozen)
	err := f.Each(ctx, func(e *Evidence) error {
		x.add(e)
		return nil
	})
	if err != nil {
		return nil, stats.Rule{}, err
	}
	if x.v.Refused != "" {
		return nil, stats.Rule{}, errors.New("the decision rule can't be applied: " + x.v.Refused)
	}
	return x.filling.Data(), x.v.Rule, nil
}
