package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
)

// ownCatalogue reads the user's models and cards: the file that a flag names, and
// models.json and cards.tsv in the folder oomdoc of the user's configuration.
func (s *session) ownCatalogue(named string) (*fit.Own, error) {
	own := &fit.Own{}
	if named != "" {
		if err := readCatalogue(own, named); err != nil {
			return nil, err
		}
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return own, nil // a service without a home
	}
	for _, name := range []string{"models.json", "cards.tsv"} {
		file := filepath.Join(folder, "oomdoc", name)
		if !exists(file) {
			continue
		}
		if err := readCatalogue(own, file); err != nil {
			return nil, err
		}
	}
	return own, nil
}

func readCatalogue(own *fit.Own, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return trouble("the catalogue %q cannot be read: %v", shortened(name), err)
	}
	defer f.Close()
	read := func(r io.Reader) error { return own.ReadModels(r) }
	if strings.EqualFold(filepath.Ext(name), ".tsv") {
		read = func(r io.Reader) error { return own.ReadCards(r) }
	}
	if err := read(f); err != nil {
		return trouble("the catalogue %q: %v", shortened(name), err)
	}
	return nil
}
