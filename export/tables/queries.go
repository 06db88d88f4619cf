package tables

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

//go:embed queries/*.sql
var queries embed.FS

// queryFiles are the ready questions by path in the folder, sorted.
func queryFiles() ([]string, error) {
	names, err := fs.Glob(queries, "queries/*.sql")
	slices.Sort(names)
	return names, err
}

// writeQueries copies the ready questions below dir. They are text of the tool
// and not of the batch: the folder's byte digests are all that is checked.
func writeQueries(dir string) error {
	if dir == "" {
		return nil
	}
	names, err := queryFiles()
	if err != nil {
		return err
	}
	for _, n := range names {
		data, err := queries.ReadFile(n)
		if err != nil {
			return err
		}
		if err := writeSynced(filepath.Join(dir, filepath.FromSlash(n)), data); err != nil {
			return err
		}
	}
	return nil
}

func writeSynced(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
